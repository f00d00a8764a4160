"""torch: operators that torch.compile and torch.export keep whole, autocast, gradients of products, and drop-ins for
scaled_dot_product_attention, flash_attn_func and flash_attn_varlen_func.

    import warpmill.torch
    warpmill.torch.scaled_dot_product_attention(q, k, v, is_causal=True)

The operators are torch.ops.warpmill.matmul and torch.ops.warpmill.attention; matmul() and attention() of the package take
them by themselves where torch traces, where gradients are wanted and under autocast.
"""

from __future__ import annotations

import warnings
from typing import Any, Dict, Optional, Sequence, Set, Tuple

import torch
from torch import Tensor

from . import _attention, _dtypes, _fast, _matmul
from ._attention import sides

_PLAIN = (Tensor, torch.nn.Parameter)
_ACTIVATIONS = {
    "relu": torch.nn.functional.relu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "gelu_erf": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
}


def _current_stream(index: int) -> int:
    return torch.cuda.current_stream(index).cuda_stream


_fast.use_torch(Tensor, torch.nn.Parameter, torch.is_grad_enabled, torch.is_autocast_enabled,
                getattr(torch._C, "_cuda_getCurrentRawStream", _current_stream), torch.empty_like, torch.bfloat16,
                torch.float16, torch.float32, "cuda:")
_matmul.torch_is_compiling = torch.compiler.is_compiling


def _wants_gradients(*tensors: Optional[Tensor]) -> bool:
    return torch.is_grad_enabled() and any(isinstance(each, Tensor) and each.requires_grad for each in tensors)


def needs_operator(*tensors: Optional[Tensor]) -> bool:
    """Whether torch must see what happens: it traces, wants gradients, or casts."""
    return (torch.is_autocast_enabled() or _wants_gradients(*tensors)
            or any(isinstance(each, Tensor) and type(each) not in _PLAIN for each in tensors))


def _cast(tensor: Tensor) -> Tensor:
    """As autocast has it."""
    if torch.is_autocast_enabled() and tensor.dtype in (torch.float32, torch.bfloat16, torch.float16):
        return tensor.to(torch.get_autocast_dtype("cuda"))
    return tensor


def _refuse_by_hand(plan: Optional[str], stream: Any) -> None:
    for name, given in (("plan", plan), ("stream", stream)):
        if given is not None:
            raise NotImplementedError(
                f"a {name} by hand is for plain calls, not where torch traces, casts or wants gradients")


# -- products ------------------------------------------------------------------------------------------------------

torch.library.define(
    "warpmill::matmul",
    "(Tensor a, Tensor b, Tensor? bias=None, str? activation=None, ScalarType? out_dtype=None, Tensor? scale_a=None, "
    "Tensor? scale_b=None, Tensor? c=None, float alpha=1.0, float beta=1.0, Tensor? out_scale=None, bool promote=False, "
    "bool align=True) -> Tensor")


def rows_quickly(a: Tensor, b: Tensor, bias: Optional[Tensor], activation: Optional[str]) -> Any:
    """The quick way for a batch of rows and one matrix; NotImplemented where it does not lead there."""
    if b.dim() != 2 or a.dim() < 2 or not (a.dim() == 2 or a.is_contiguous()):
        return NotImplemented
    result = _fast.matmul(a.flatten(0, -2) if a.dim() > 2 else a, b, bias, activation, None)
    return result if result is NotImplemented else result.view(*a.shape[:-1], b.shape[-1])


@torch.library.impl("warpmill::matmul", "CUDA")
def _matmul_on_cuda(a: Tensor, b: Tensor, bias: Optional[Tensor] = None, activation: Optional[str] = None,
                    out_dtype: Optional[torch.dtype] = None, scale_a: Optional[Tensor] = None,
                    scale_b: Optional[Tensor] = None, c: Optional[Tensor] = None, alpha: float = 1.0, beta: float = 1.0,
                    out_scale: Optional[Tensor] = None, promote: bool = False, align: bool = True) -> Tensor:
    if (out_dtype is None and scale_a is None and scale_b is None and c is None and out_scale is None and alpha == 1.0
            and align):
        if activation is None or activation in _ACTIVATIONS:
            result = rows_quickly(a, b, bias, activation)
            if result is not NotImplemented:
                return result
    return _matmul.multiply(a, b, bias, activation, None, out_dtype, scale_a, scale_b, c, alpha, beta, out_scale,
                            promote, align, None, None, None)


@torch.library.register_fake("warpmill::matmul")
def _matmul_shape(a: Tensor, b: Tensor, bias: Any = None, activation: Any = None, out_dtype: Any = None,
                  scale_a: Any = None, scale_b: Any = None, c: Any = None, alpha: float = 1.0, beta: float = 1.0,
                  out_scale: Any = None, promote: bool = False, align: bool = True) -> Tensor:
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"the shapes do not fit: a is {tuple(a.shape)} and b is {tuple(b.shape)}; a's columns are as "
                         "many as b's rows")
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    usual = {torch.float8_e4m3fn: torch.bfloat16, torch.float8_e5m2: torch.bfloat16, torch.int8: torch.int32}
    return a.new_empty((*batch, a.shape[-2], b.shape[-1]), dtype=out_dtype or usual.get(a.dtype, a.dtype))


def _remember_product(ctx: Any, inputs: Tuple[Any, ...], output: Tensor) -> None:
    a, b, bias = inputs[:3]
    ctx.save_for_backward(a, b)
    ctx.bias_like = None if bias is None else (bias.shape, bias.dtype)


def _product_backward(context: Any, gradient: Tensor) -> Tuple[Optional[Tensor], ...]:
    a, b = context.saved_tensors
    gradient = gradient.to(a.dtype)
    of_a = of_b = of_bias = None
    if context.needs_input_grad[0]:
        of_a = torch.ops.warpmill.matmul(gradient, b.transpose(-2, -1)).sum_to_size(a.shape)
    if context.needs_input_grad[1]:
        rows, columns = a, gradient
        if b.dim() == 2 and a.dim() > 2:
            rows, columns = a.reshape(-1, a.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
        of_b = torch.ops.warpmill.matmul(rows.transpose(-2, -1), columns).sum_to_size(b.shape)
    if context.bias_like is not None and context.needs_input_grad[2]:
        shape, dtype = context.bias_like
        of_bias = gradient.sum(dim=tuple(range(gradient.dim() - 1)), dtype=torch.float32).to(dtype).reshape(shape)
    return (of_a, of_b, of_bias) + (None,) * 10


torch.library.register_autograd("warpmill::matmul", _product_backward, setup_context=_remember_product)


def matmul_operator(a: Tensor, b: Tensor, bias: Optional[Tensor], activation: Optional[str], out: Optional[Tensor],
                    out_dtype: Optional[torch.dtype], scale_a: Optional[Tensor], scale_b: Optional[Tensor],
                    c: Optional[Tensor], alpha: float, beta: float, out_scale: Optional[Tensor], promote: bool,
                    align: bool, plan: Optional[str], stream: Any) -> Tensor:
    """matmul() by way of torch's dispatcher."""
    _refuse_by_hand(plan, stream)
    if out is not None and out_dtype is None:
        out_dtype = out.dtype
    after = None
    if _wants_gradients(a, b, bias, c, scale_a, scale_b, out_scale):
        if scale_a is not None or scale_b is not None or c is not None or out_scale is not None or alpha != 1.0:
            raise NotImplementedError("a product with scales, alpha or c has no gradients; put them around a plain one")
        if activation is not None:  # by torch, which knows its gradient
            if activation not in _ACTIVATIONS:
                raise NotImplementedError(f"the activation {activation!r} has no gradient; there are "
                                          f"{', '.join(_ACTIVATIONS)}")
            after, activation = _ACTIVATIONS[activation], None
    a, b = _cast(a), _cast(b)
    row, column = a.dim() == 1, b.dim() == 1
    result = torch.ops.warpmill.matmul(a[None] if row else a, b[:, None] if column else b, bias, activation, out_dtype,
                                       scale_a, scale_b, c, alpha, beta, out_scale, promote, align)
    result = result.squeeze(-2) if row else result
    result = result.squeeze(-1) if column else result
    result = result if after is None else after(result)
    return result if out is None else out.copy_(result)


# -- attention -----------------------------------------------------------------------------------------------------

torch.library.define(
    "warpmill::attention",
    "(Tensor q, Tensor k, Tensor v, *, bool causal=False, int? left=None, int? right=None, float softcap=0.0, "
    "float? scale=None, Tensor? cu_seqlens_q=None, Tensor? cu_seqlens_k=None, bool lse=False, bool ends=False, "
    "int max_seqlen_q=0, int max_seqlen_k=0, Tensor? alibi_slopes=None, Tensor? sinks=None, Tensor? key_lengths=None, "
    "str score='', str mask='', str skip='', str whole='', Tensor[]? arrays=None, str[]? array_names=None, "
    "ScalarType? out_dtype=None, Tensor? q_descale=None, Tensor? k_descale=None, Tensor? v_descale=None, "
    "Tensor? out_scale=None) -> (Tensor, Tensor)")


def _place_of_result(q: Tensor, v: Tensor, dtype: Optional[torch.dtype]) -> Tensor:
    if dtype is None:
        dtype = torch.bfloat16 if q.dtype == torch.float8_e4m3fn else q.dtype
    if q.shape[-1] == v.shape[-1]:
        return torch.empty_like(q, dtype=dtype)
    return q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=dtype)


@torch.library.impl("warpmill::attention", "CUDA")
def _attention_on_cuda(q: Tensor, k: Tensor, v: Tensor, *, causal: bool = False, left: Optional[int] = None,
                       right: Optional[int] = None, softcap: float = 0.0, scale: Optional[float] = None,
                       cu_seqlens_q: Optional[Tensor] = None, cu_seqlens_k: Optional[Tensor] = None, lse: bool = False,
                       ends: bool = False, max_seqlen_q: int = 0, max_seqlen_k: int = 0,
                       alibi_slopes: Optional[Tensor] = None, sinks: Optional[Tensor] = None,
                       key_lengths: Optional[Tensor] = None, score: str = "", mask: str = "", skip: str = "",
                       whole: str = "", arrays: Optional[Sequence[Tensor]] = None,
                       array_names: Optional[Sequence[str]] = None, out_dtype: Optional[torch.dtype] = None,
                       **scales: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    none = q.new_empty((0,), dtype=torch.float32)
    if (left is None and right is None and not softcap and scale is None and cu_seqlens_q is None and not lse and not ends
            and alibi_slopes is None and sinks is None and key_lengths is None and not (score or mask or skip or whole)
            and out_dtype is None and not any(each is not None for each in scales.values())):
        result = _fast.attention(q, k, v, causal)
        if result is not NotImplemented:
            return result, none
    result = _attention.attend(q, k, v, causal, (left, right), softcap, scale, cu_seqlens_q, cu_seqlens_k, lse,
                               _place_of_result(q, v, out_dtype), "ends" if ends else "beginnings", max_seqlen_q,
                               max_seqlen_k, alibi_slopes, sinks, key_lengths,
                               {"score": score, "mask": mask, "skip": skip, "whole": whole},
                               dict(zip(array_names or (), arrays or ())), scales, out_dtype, None, None, None)
    return result if lse else (result, none)


@torch.library.register_fake("warpmill::attention")
def _attention_shape(q: Tensor, k: Tensor, v: Tensor, *, lse: bool = False, out_dtype: Optional[torch.dtype] = None,
                     **others: Any) -> Tuple[Tensor, Tensor]:
    return _place_of_result(q, v, out_dtype), q.new_empty(q.shape[:-1] if lse else (0,), dtype=torch.float32)


def attention_operator(q: Tensor, k: Tensor, v: Tensor, causal: bool, window: Any, softcap: Optional[float],
                       scale: Optional[float], cu_seqlens_q: Optional[Tensor], cu_seqlens_k: Optional[Tensor],
                       return_lse: bool, out: Optional[Tensor], align: str, max_seqlen_q: int, max_seqlen_k: int,
                       alibi_slopes: Optional[Tensor], sinks: Optional[Tensor], key_lengths: Optional[Tensor],
                       expressions: Dict[str, str], arrays: Dict[str, Tensor], scales: Dict[str, Optional[Tensor]],
                       out_dtype: Any, plan: Optional[str], stream: Any) -> Any:
    """attention() by way of torch's dispatcher."""
    _refuse_by_hand(plan, stream)
    if _wants_gradients(q, k, v, alibi_slopes, sinks, *arrays.values(), *scales.values()):
        raise NotImplementedError("attention has no backward pass; call it under torch.no_grad(), or take "
                                  "warpmill.torch.scaled_dot_product_attention, which falls back to torch's")
    if out_dtype is not None and not isinstance(out_dtype, torch.dtype):
        out_dtype = getattr(torch, _dtypes.required(out_dtype, "out_dtype"))
    elif out_dtype is None and out is not None and q.dtype == torch.float8_e4m3fn:
        out_dtype = out.dtype
    left, right = sides(False, window)
    result, lse = torch.ops.warpmill.attention(
        _cast(q), _cast(k), _cast(v), causal=causal, left=left, right=right, softcap=softcap or 0.0, scale=scale,
        cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k, lse=return_lse, ends=align == "ends",
        max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k, alibi_slopes=alibi_slopes, sinks=sinks,
        key_lengths=key_lengths, arrays=list(arrays.values()), array_names=list(arrays), out_dtype=out_dtype,
        **expressions, **scales)
    result = result if out is None else out.copy_(result)
    return (result, lse) if return_lse else result


# -- drop-ins ------------------------------------------------------------------------------------------------------

_warned: Set[str] = set()


def _why_not(q: Tensor, k: Tensor, v: Tensor, dropout: float, slopes: Optional[Tensor] = None) -> Optional[str]:
    """Why Warpmill does not serve this attention; None where it does."""
    if _wants_gradients(q, k, v, slopes):
        return "gradients are wanted, and there is no backward pass yet"
    if dropout:
        return "there is no dropout"
    if q.device.type != "cuda" or torch.cuda.get_device_capability(q.device) != (9, 0):
        return "the kernel is for Hopper (sm_90a)"
    if q.dtype not in (torch.bfloat16, torch.float16) or k.dtype != q.dtype or v.dtype != q.dtype:
        return "q, k and v are not all bf16 or all f16"
    for name, each in (("q", q), ("k", k), ("v", v)):
        if each.shape[-1] % 8 or not 8 <= each.shape[-1] <= 256:
            return f"a head dim of {each.shape[-1]} is no multiple of 8 up to 256"
        if each.stride(-1) != 1 or any(step % 8 for step in each.stride()[:-1]):
            return f"{name}'s strides {tuple(each.stride())} are no multiples of 16 bytes with contiguous heads"
    return None


def _say_fallback(function: str, why: str) -> None:
    if function + why not in _warned and not torch.compiler.is_compiling():
        _warned.add(function + why)
        warnings.warn(f"warpmill.torch.{function} falls back to torch: {why}", stacklevel=3)


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor] = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: Optional[float] = None,
                                 enable_gqa: bool = False) -> Tensor:
    """torch.nn.functional.scaled_dot_product_attention, by Warpmill where it can, else by torch with one warning."""
    why = "there is no attn_mask" if attn_mask is not None else _why_not(query, key, value, dropout_p)
    if why is None and query.dim() != 4:
        why = f"q has {query.dim()} dimensions and not 4"
    if why is None and query.shape[-3] != key.shape[-3] and not enable_gqa:
        why = "heads differ and enable_gqa is not set"
    if why is None:
        return _attention.attention(query, key, value, causal=is_causal, scale=scale)
    _say_fallback("scaled_dot_product_attention", why)
    return torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal,
                                                            scale=scale, enable_gqa=enable_gqa)


def _alibi(slopes: Optional[Tensor], batch: int, heads: int) -> Dict[str, Any]:
    """What attention() takes for flash_attn's slopes, one for each head or for each batch (or sequence) and head."""
    if slopes is None:
        return {}
    if slopes.dtype != torch.float32 or tuple(slopes.shape) not in ((heads,), (batch, heads)):
        raise ValueError(f"alibi_slopes hold {slopes.dtype} of shape {tuple(slopes.shape)}; they are float32 of shape "
                         f"({heads},) or ({batch}, {heads})")
    if slopes.dim() == 2 and (batch == 1 or slopes.stride(0) == 0):  # the same for all
        slopes = slopes[0]
    if slopes.dim() == 1:
        return {"alibi_slopes": slopes.contiguous()}
    return {"score": f"score - slopes[batch * {heads} + head] * abs(q + keys - queries - k)",
            "arrays": {"slopes": slopes.contiguous()}}


def _by_torch(q: Tensor, k: Tensor, v: Tensor, scale: Optional[float], causal: bool, window: Tuple[int, int],
              softcap: float, dropout: float, slopes: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    """flash_attn's arithmetic in torch's operators, for BSHD; the slow way, with gradients."""
    q, k, v = (each.transpose(-3, -2) for each in (q, k, v))
    times = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(times, dim=-3), v.repeat_interleave(times, dim=-3)
    scores = (q.float() @ k.float().transpose(-2, -1)) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    queries, keys = q.shape[-2], k.shape[-2]
    opposite = torch.arange(queries, device=q.device)[:, None] + keys - queries
    at, (left, right) = torch.arange(keys, device=q.device)[None], sides(causal, window)
    if slopes is not None:
        scores = scores - slopes[..., None, None] * (opposite - at).abs()
    hidden = torch.zeros((queries, keys), dtype=torch.bool, device=q.device)
    if left is not None:
        hidden = hidden | (at < opposite - left)
    if right is not None:
        hidden = hidden | (at > opposite + right)
    scores = scores.masked_fill(hidden, float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    weights = torch.nn.functional.dropout(weights, dropout) if dropout else weights
    return (weights @ v.float()).to(q.dtype).transpose(-3, -2), torch.logsumexp(scores, dim=-1)


def flash_attn_func(q: Tensor, k: Tensor, v: Tensor, dropout_p: float = 0.0, softmax_scale: Optional[float] = None,
                    causal: bool = False, window_size: Tuple[int, int] = (-1, -1), softcap: float = 0.0,
                    alibi_slopes: Any = None, deterministic: bool = False, return_attn_probs: bool = False) -> Any:
    """flash_attn.flash_attn_func for [batch, positions, heads, dim], by Warpmill where it can, else by torch with one
    warning. alibi_slopes: float32[heads] or [batch, heads]. return_attn_probs gives (out, lse, None)."""
    alibi = _alibi(alibi_slopes, q.shape[0], q.shape[-2])
    why = _why_not(q, k, v, dropout_p, alibi_slopes)
    if why is None:
        out, lse = _attention.attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), causal=causal,
                                        window=window_size, softcap=softcap or None, scale=softmax_scale,
                                        return_lse=True, align="ends", **alibi)
        out = out.transpose(1, 2)
    else:
        _say_fallback("flash_attn_func", why)
        out, lse = _by_torch(q, k, v, softmax_scale, causal, window_size, softcap, dropout_p, alibi_slopes)
    return (out, lse, None) if return_attn_probs else out


def flash_attn_varlen_func(q: Tensor, k: Tensor, v: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor,
                           max_seqlen_q: int, max_seqlen_k: int, dropout_p: float = 0.0,
                           softmax_scale: Optional[float] = None, causal: bool = False,
                           window_size: Tuple[int, int] = (-1, -1), softcap: float = 0.0, alibi_slopes: Any = None,
                           deterministic: bool = False, return_attn_probs: bool = False, block_table: Any = None) -> Any:
    """flash_attn.flash_attn_varlen_func for [positions, heads, dim], by Warpmill where it can, else by torch with one
    warning. alibi_slopes: float32[heads] or [sequences, heads]. return_attn_probs gives (out, lse, None)."""
    if block_table is not None:
        raise NotImplementedError("flash_attn_varlen_func: there are no block tables here")
    alibi = _alibi(alibi_slopes, cu_seqlens_q.shape[0] - 1, q.shape[-2])
    why = _why_not(q, k, v, dropout_p, alibi_slopes)
    if why is None:
        out, lse = _attention.attention(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1), causal=causal,
                                        window=window_size, softcap=softcap or None, scale=softmax_scale,
                                        cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k, return_lse=True,
                                        align="ends", max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k,
                                        **alibi)
        out = out.transpose(0, 1)
    else:
        _say_fallback("flash_attn_varlen_func", why)
        starts_q, starts_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
        slopes = [None] * (len(starts_q) - 1) if alibi_slopes is None else alibi_slopes.expand(len(starts_q) - 1, -1)
        parts = [_by_torch(q[q0:q1], k[k0:k1], v[k0:k1], softmax_scale, causal, window_size, softcap, dropout_p, each)
                 for q0, q1, k0, k1, each in zip(starts_q, starts_q[1:], starts_k, starts_k[1:], slopes)]
        out, lse = torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts], dim=-1)
    return (out, lse, None) if return_attn_probs else out
