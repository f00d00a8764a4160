"""Right results, from the caller's memory, on the caller's stream."""

import sys
import threading

import torch
import warpmill as wm
from harness import error, expect, random, row
from torch.nn.functional import gelu, scaled_dot_product_attention as sdpa
from warpmill._arrays import operand


def _as_tf32(x):
    """Rounded to ten bits of mantissa, as doubles."""
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32).double()


def _products():
    torch.backends.cuda.matmul.allow_tf32 = True
    for m, n, k in [(128, 128, 128), (512, 1024, 256), (333, 257, 129), (1, 4096, 4096), (64, 8, 7)]:
        for dtype in (torch.bfloat16, torch.float16, torch.float32):
            a, b, bias = random(m, k, dtype=dtype), random(n, k, dtype=dtype), random(n, dtype=dtype)
            exact = a.double() @ b.double().T
            ours, theirs = error(wm.matmul(a, b.T), exact), error(a @ b.T, exact)
            fused = wm.matmul(a, b.T, bias=bias, activation="gelu_tanh")
            off = error(fused, gelu(exact + bias.double(), approximate="tanh"))
            # Of f32 torch multiplies some (one row) without tf32; ours are held to what rounding the operands to it costs.
            least = error(_as_tf32(a) @ _as_tf32(b).T, exact) if dtype == torch.float32 else 0
            expect(fused.dtype == dtype and off < 6e-3 and ours < 1.3 * max(theirs, least) + 1e-6,
                   f"matmul {m}x{n}x{k} {dtype}",
                   f"off {ours:.2e}, torch {theirs:.2e}, fused {off:.2e}")


def _small_types():
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        a, b = torch.randn(256, 384, device="cuda").to(dtype), torch.randn(512, 384, device="cuda").to(torch.float8_e4m3fn)
        rows, columns = torch.rand(256, 1, device="cuda") + 0.5, torch.rand(1, 512, device="cuda") + 0.5
        exact = (a.double() @ b.double().T) * rows * columns
        ours = error(wm.matmul(a, b.T, scale_a=rows, scale_b=columns, out_dtype=torch.bfloat16), exact)
        theirs = error(torch._scaled_mm(a, b.T, scale_a=rows, scale_b=columns, out_dtype=torch.bfloat16), exact)
        expect(ours < 4e-3, f"{dtype} times e4m3 with scales", f"off {ours:.2e}, torch {theirs:.2e}")
    a, b = (torch.randint(-9, 9, (size, 128), device="cuda", dtype=torch.int8) for size in (64, 32))
    expect(torch.equal(wm.matmul(a, b.T).cpu(), a.cpu().int() @ b.cpu().int().T), "int8 is exact")


def _shapes():
    a, b = random(2, 3, 64, 32), random(3, 32, 48)
    for x, y in ((a, b), (a.transpose(0, 1), b[:, None]), (a, b[0]), (a[0, 0], b[0, :, 0]), (a[0, 0, 0], b[0])):
        result = wm.matmul(x, y)
        expect(result.shape == (x @ y).shape and error(result, x @ y) < 1e-2,
               f"{tuple(x.shape)} times {tuple(y.shape)}")
    out = torch.full((64, 48), 7.0, device="cuda")
    expect(wm.matmul(a[0, 0], b[0], out=out) is out and error(out, a[0, 0] @ b[0]) < 1e-2, "out= of another type")


def _attentions():
    cases = [(2, 4, 4, 256, 256, 64, False), (2, 8, 2, 333, 333, 128, True), (1, 4, 4, 128, 640, 128, False),
             (1, 2, 2, 200, 200, 256, True)]
    for dtype in (torch.bfloat16, torch.float16):
        for batch, heads, shared, queries, keys, dim, causal in cases:
            q = random(batch, heads, queries, dim, dtype=dtype)
            k, v = (random(batch, shared, keys, dim, dtype=dtype) for _ in range(2))
            long_way, _ = wm.attention(q, k, v, causal=causal, return_lse=True)
            k_all, v_all = (each.repeat_interleave(heads // shared, 1) for each in (k, v))
            exact = sdpa(q.double(), k_all.double(), v_all.double(), is_causal=causal)
            ours, theirs = error(long_way, exact), error(sdpa(q, k_all, v_all, is_causal=causal), exact)
            expect(ours < 1.3 * theirs + 1e-4 and torch.equal(long_way, wm.attention(q, k, v, causal=causal)),
                   f"attention {batch}x{heads}/{shared}x{queries}/{keys}x{dim} {dtype}{' causal' if causal else ''}",
                   f"off {ours:.2e}, torch {theirs:.2e}")


def right():
    row("machine", f"torch {torch.__version__}, {torch.cuda.get_device_name()}, Python {sys.version.split()[0]}")
    torch.manual_seed(0)
    _products()
    _small_types()
    _shapes()
    _attentions()


def zero_copy():
    base = random(256, 256)
    for tensor in (base, base.T, base[3:130, 8:], base[:, ::2]):
        seen = operand(tensor, "x")
        expect((seen.address, seen.shape, seen.strides) == (tensor.data_ptr(), tuple(tensor.shape), tensor.stride()),
               f"{tuple(tensor.shape)} with strides {tensor.stride()}", "the pointer is equal")
    a = random(4096, 4096)
    out = torch.empty_like(a)
    for b in (a, a.T):
        wm.matmul(a, b, out=out)
    torch.cuda.synchronize()
    before, free = torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0]
    torch.cuda.reset_peak_memory_stats()
    for b in (a, a.T):
        wm.matmul(a, b, out=out)
    torch.cuda.synchronize()
    grown, taken = torch.cuda.max_memory_allocated() - before, free - torch.cuda.mem_get_info()[0]
    expect(grown == 0 and taken <= 2 << 20, "a call with out= allocates nothing", f"torch {grown} B, device {taken} B")
    result = wm.matmul(a, a)
    expect(torch.cuda.max_memory_allocated() - before == result.numel() * 2, "one without allocates its result alone")


def stream():
    """The operand is written after a long wait, on a side stream: a call on any other stream reads what was before."""
    a, w = torch.zeros(256, 256, device="cuda", dtype=torch.bfloat16), torch.eye(256, device="cuda", dtype=torch.bfloat16)
    q = torch.zeros(1, 2, 128, 64, device="cuda", dtype=torch.bfloat16)
    side = torch.cuda.Stream()

    def late(call, written):
        call()  # compiled
        written.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(200_000_000)
            written.fill_(1)
            result = call()
        torch.cuda.default_stream().synchronize()
        side.synchronize()
        return result.float().mean().item()

    expect(late(lambda: wm.matmul(a, w), a) == 1, "matmul, the quick way, is on the current stream")
    expect(late(lambda: wm.matmul(a, w, alpha=2.0), a) == 2, "matmul, the long way")
    expect(late(lambda: wm.attention(q, q, q), q) == 1, "attention, the quick way")
    expect(late(lambda: wm.attention(q, q, q, scale=0.3), q) == 1, "attention, the long way")
    expect(late(lambda: wm.matmul(a, w, stream=torch.cuda.default_stream()), a) == 0,
           "and on the wrong stream, which stream= can name, it reads zeros")


def graph():
    a, b, q = random(512, 512), random(512, 512), random(2, 4, 256, 64)

    def step():
        return wm.matmul(a, b, activation="relu"), wm.attention(q, q, q, causal=True)

    step()
    torch.cuda.synchronize()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        product, attended = step()
    a.copy_(torch.randn_like(a))
    q.copy_(torch.randn_like(q))
    captured.replay()
    torch.cuda.synchronize()
    expect(error(product, torch.relu(a @ b)) < 1e-2 and error(attended, sdpa(q, q, q, is_causal=True)) < 1e-2,
           "captured, and replayed with other values")


def threads():
    wrong = []

    def work(seed, streams):
        dice = torch.Generator(device="cuda").manual_seed(seed)
        for i in range(150):
            with torch.cuda.stream(streams[i % len(streams)]):
                m = 64 * (1 + (i * 7 + seed) % 6)
                a, b, q = (torch.randn(*shape, device="cuda", generator=dice).bfloat16()
                           for shape in ((m, 192), (192, 320), (1, 2, m, 64)))
                product, attended = wm.matmul(a, b), wm.attention(q, q, q, causal=True)
                if error(product, a @ b) > 1e-2 or error(attended, sdpa(q, q, q, is_causal=True)) > 1e-2:
                    wrong.append((seed, i))

    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    workers = [threading.Thread(target=work, args=(seed, streams[seed:seed + 1] or streams)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    expect(not wrong, "four threads on two streams, 600 products and as many attentions", wrong[:3])


class CuPyLike:
    """What CuPy shows of an array, and no more."""

    def __init__(self, tensor, stream=1):
        self._tensor, self._stream = tensor, stream

    @property
    def __cuda_array_interface__(self):
        return {**self._tensor.__cuda_array_interface__, "version": 3, "stream": self._stream}


class JaxLike:
    """What JAX shows of an array, and no more."""

    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack__(self, stream=None):
        self.asked_for = stream
        return self._tensor.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()


def protocols():
    a, b = random(64, 96, dtype=torch.float32), random(96, 32, dtype=torch.float32)
    expect(error(torch.from_dlpack(wm.matmul(CuPyLike(a), CuPyLike(b))), a @ b) < 2e-3,
           "__cuda_array_interface__ in, DLPack out")
    expect(error(torch.as_tensor(wm.matmul(CuPyLike(a), CuPyLike(b)), device="cuda"), a @ b) < 2e-3, "and out by it")
    x, y = JaxLike(a.bfloat16()), JaxLike(b.bfloat16())
    result = wm.matmul(x, y)
    taken = torch.from_dlpack(result)
    expect(error(taken, a @ b) < 2e-2 and taken.dtype == torch.bfloat16 and x.asked_for == 1
           and taken.data_ptr() == result.buffer.address, "DLPack in and out, pointers equal")
    out = torch.zeros(64, 32, device="cuda")
    wm.matmul(CuPyLike(a), CuPyLike(b), out=CuPyLike(out))
    torch.cuda.synchronize()
    expect(error(out, a @ b) < 2e-3, "into another library's memory")
    late, side = torch.zeros(64, 96, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        late.fill_(1)
    result = wm.matmul(CuPyLike(late, side.cuda_stream), CuPyLike(b, side.cuda_stream))
    expect(error(torch.from_dlpack(result), torch.ones_like(a) @ b) < 2e-3, "on the stream that the interface names")


def kernel():
    source = """#include "warpmill/ptx/tma.cuh"
extern "C" __global__ void axpy(float* y, const float* x, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""
    axpy = wm.Kernel(source, "axpy")
    x, y = random(1000, dtype=torch.float32), random(1000, dtype=torch.float32)
    expected = y + 2.5 * x
    axpy[4, 256](y, x, 2.5, 1000)
    expect(torch.allclose(y, expected), "a kernel of one's own", f"{axpy.on('cuda:0').registers} registers")
    there = x.cpu().numpy()
    here = there * 0
    axpy[4, 256](here, there, 2.0, 1000)
    expect(bool((here == 2 * there).all()), "the same on the virtual GPU")
    best = wm.plan("matmul", 4096, 4096, 4096)[0]
    expect(best.taken and best.tuned, "the plan that is known for this chip", best.text)
    expect(len(wm.TensorMap(random(64, 64), box=(8, 64), swizzle="128B").bytes) == 128, "a tensor map of the driver's")
