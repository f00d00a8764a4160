"""torch.compile, torch.export, gradients, autocast and the drop-ins."""

import warnings

import torch
import torch._dynamo
import warpmill as wm
import warpmill.torch as drop_in
from harness import error, expect, microseconds, random, row
from torch.nn.functional import gelu, layer_norm, scaled_dot_product_attention as sdpa


def _block(product, attention):
    """A transformer block: attention and two layers, with residuals."""

    def forward(x, qkv, out, up, bias, down):
        batch, length, width = x.shape
        parts = product(layer_norm(x, (width,)), qkv.T, None, None)
        q, k, v = parts.view(batch, length, 3, width // 64, 64).permute(2, 0, 3, 1, 4)
        x = x + product(attention(q, k, v).transpose(1, 2).reshape(batch, length, width), out.T, None, None)
        return x + product(product(layer_norm(x, (width,)), up.T, bias, "gelu_tanh"), down.T, None, None)

    return forward


def _torch_product(a, b, bias, activation):
    result = a @ b if bias is None else a @ b + bias
    return gelu(result, approximate="tanh") if activation else result


OURS = _block(lambda a, b, bias, activation: wm.matmul(a, b, bias=bias, activation=activation),
              lambda q, k, v: wm.attention(q, k, v, causal=True))
THEIRS = _block(_torch_product, lambda q, k, v: sdpa(q, k, v, is_causal=True))


def _compiled_block(batch, length, width):
    arguments = [random(batch, length, width)] + [random(*shape) * 0.05 for shape in
                                                  ((3 * width, width), (width, width), (4 * width, width), (4 * width,),
                                                   (width, 4 * width))]
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    expected, eager = THEIRS(*arguments), OURS(*arguments)
    ours, theirs = torch.compile(OURS, fullgraph=True), torch.compile(THEIRS)
    result = ours(*arguments)
    breaks = sum(torch._dynamo.utils.counters["graph_break"].values())
    expect(breaks == 0 and error(result, expected) < 1e-2 and error(result, eager) < 1e-2,
           f"transformer block {batch}x{length}x{width}, no graph break",
           f"off {error(result, expected):.1e} of torch's, {error(result, eager):.1e} of eager")
    theirs(*arguments)
    times = [microseconds(lambda call=call: call(*arguments)) for call in (ours, theirs, OURS, THEIRS)]
    row("  us: compiled ours, torch; eager ours, torch", " ".join(f"{each:.1f}" for each in times))
    graphs = [torch.compile(OURS, fullgraph=True, mode="reduce-overhead"), torch.compile(THEIRS, mode="reduce-overhead")]
    times = [microseconds(lambda call=call: call(*arguments)) for call in graphs]
    row("  us with CUDA graphs: ours, torch", " ".join(f"{each:.1f}" for each in times))


class _Module(torch.nn.Module):
    def forward(self, q):
        return wm.attention(q, q, q, causal=True)


def compile():
    with torch.no_grad():
        for shape in ((2, 256, 512), (8, 1024, 1024)):
            _compiled_block(*shape)
        torch._dynamo.reset()
        q = random(2, 4, 128, 64)
        expected = sdpa(q, q, q, is_causal=True)
        whole = torch.compile(lambda q: drop_in.scaled_dot_product_attention(q, q, q, is_causal=True), fullgraph=True)
        expect(error(whole(q), expected) < 1e-2, "the drop-in is compiled whole")
        document, scale = torch.arange(128, device="cuda", dtype=torch.int32) // 40, torch.full((1,), 0.5, device="cuda")
        narrow = q.to(torch.float8_e4m3fn)
        for name, call, operand in (
                ("an expression", lambda q: wm.attention(q, q, q, mask="document[q] == document[k]",
                                                         arrays={"document": document}), q),
                ("e4m3 with scales", lambda q: wm.attention(q, q, q, q_descale=scale, out_dtype=torch.float16), narrow)):
            torch._dynamo.reset()
            result, eager = torch.compile(call, fullgraph=True)(operand), call(operand)
            expect(result.dtype == eager.dtype and bool((result == eager).all()), f"{name} is compiled whole")
        exported = torch.export.export(_Module(), (q,))
        expect("warpmill.attention" in str(exported.graph) and error(exported.module()(q), expected) < 1e-2,
               "torch.export keeps the operator")


def _flash(q, k, v, **options):
    """flash_attn's results by torch's operators."""
    return drop_in._by_torch(q, k, v, None, options.get("causal", False), options.get("window_size", (-1, -1)),
                             options.get("softcap", 0.0), 0.0, options.get("alibi_slopes"))


def _flash_functions():
    q, k, v = (random(2, 200, 4, 64) for _ in range(3))
    slopes = torch.tensor([0.5, 0.25, 0.1, 0.0], device="cuda")
    for options in ({}, {"causal": True}, {"causal": True, "window_size": (30, 0)},
                    {"window_size": (17, 5), "softcap": 20.0}, {"causal": True, "alibi_slopes": slopes},
                    {"softcap": 20.0, "alibi_slopes": torch.stack([slopes, 2 * slopes])}):
        out, lse, _ = drop_in.flash_attn_func(q, k, v, return_attn_probs=True, **options)
        expected, sums = _flash(q, k, v, **options)
        words = {name: tuple(each.shape) if isinstance(each, torch.Tensor) else each for name, each in options.items()}
        expect(out.shape == q.shape and error(out, expected) < 1e-2 and error(lse, sums) < 1e-2,
               f"flash_attn_func {words}", f"off {error(out, expected):.1e}, lse {error(lse, sums):.1e}")
    few = q[:, :60]
    expect(error(drop_in.flash_attn_func(few, k, v, causal=True), _flash(few, k, v, causal=True)[0]) < 1e-2,
           "60 queries of 200 keys, causal from the ends")
    lengths = torch.tensor([5, 64, 131, 1, 77])
    starts = torch.cat([torch.zeros(1), lengths.cumsum(0)]).int().cuda()
    q, k, v = (random(int(lengths.sum()), heads, 128) for heads in (4, 2, 2))
    for causal in (False, True):
        out, lse, _ = drop_in.flash_attn_varlen_func(q, k, v, starts, starts, 131, 131, causal=causal,
                                                     return_attn_probs=True)
        places = starts.tolist()
        parts = [_flash(q[i:j], k[i:j], v[i:j], causal=causal) for i, j in zip(places, places[1:])]
        expected, sums = torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts], -1)
        expect(error(out, expected) < 1e-2 and error(lse, sums) < 1e-2, f"flash_attn_varlen_func causal={causal}",
               f"off {error(out, expected):.1e}")


def dropins():
    q, k, v = (random(2, 4, 200, 64) for _ in range(3))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for options in ({}, {"is_causal": True}, {"scale": 0.1}):
            expect(error(drop_in.scaled_dot_product_attention(q, k, v, **options), sdpa(q, k, v, **options)) < 1e-2
                   and not said, f"scaled_dot_product_attention {options}")
        ours, theirs = q.clone().requires_grad_(), q.clone().requires_grad_()
        for _ in range(2):
            drop_in.scaled_dot_product_attention(ours, k, v).sum().backward()
        sdpa(theirs, k, v).sum().backward()
        expect(len(said) == 1 and error(ours.grad, 2 * theirs.grad) < 1e-2, "with gradients by torch, one warning",
               said[0].message if said else "")
        mask = torch.ones(200, 200, device="cuda", dtype=torch.bool).tril()
        masked = drop_in.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        expect(len(said) == 2 and error(masked, sdpa(q, k, v, attn_mask=mask)) < 1e-2, "with a mask by torch",
               said[-1].message)
    _flash_functions()


def autograd():
    for dtype, bound in ((torch.float32, 3e-3), (torch.bfloat16, 2e-2)):
        tensors = random(3, 40, 64, dtype=dtype), random(96, 64, dtype=dtype), random(96, dtype=dtype)
        ours, theirs = ([each.clone().requires_grad_() for each in tensors] for _ in range(2))
        gradient = random(3, 40, 96, dtype=dtype)
        result = wm.matmul(ours[0], ours[1].T, bias=ours[2], activation="gelu_tanh")
        result.backward(gradient)
        x, w, bias = (each.double() for each in theirs)
        expected = gelu(x @ w.T + bias, approximate="tanh")
        expected.backward(gradient.double())
        errors = [error(one.grad, other.grad) for one, other in zip(ours, theirs)]
        expect(max(errors) < bound and error(result, expected) < bound, f"gradients of x, w and bias in {dtype}",
               " ".join(f"{each:.1e}" for each in errors))
    x, w = (torch.randn(*shape, device="cuda", requires_grad=True) for shape in ((32, 64), (64, 48)))
    with torch.autocast("cuda", dtype=torch.bfloat16):
        product = wm.matmul(x, w)
        with torch.no_grad():
            attended = wm.attention(*(torch.randn(1, 2, 64, 64, device="cuda"),) * 3)
    product.sum().backward()
    expect(product.dtype == attended.dtype == torch.bfloat16 and x.grad.dtype == torch.float32
           and error(x.grad, torch.ones(32, 48, device="cuda") @ w.T) < 2e-2, "autocast; gradients in float32")
    x.grad = None
    torch.compile(lambda x, w: wm.matmul(x, w, activation="relu").sum(), fullgraph=True)(x, w).backward()
    ours, x.grad = x.grad, None
    torch.relu(x @ w).sum().backward()
    expect(error(ours, x.grad) < 2e-2, "gradients of a compiled function")
