"""What calls cost, that they leak nothing, and what is refused."""

import gc
import os

import torch
import warpmill as wm
from harness import expect, host_microseconds, in_turns, random, row
from torch.nn.functional import scaled_dot_product_attention as sdpa
from warpmill import _library


def overhead():
    torch.set_grad_enabled(False)
    a, b = random(128, 128), random(128, 128)
    q, k, v = (random(1, 4, 128, 64) for _ in range(3))
    for name, ours, theirs in (
            ("matmul 128x128x128 bf16", lambda: wm.matmul(a, b), lambda: torch.matmul(a, b)),
            ("attention 1x4x128x64 bf16", lambda: wm.attention(q, k, v), lambda: sdpa(q, k, v)),
            ("the same, causal", lambda: wm.attention(q, k, v, causal=True), lambda: sdpa(q, k, v, is_causal=True))):
        (one, one_least), (other, other_least) = in_turns(ours, theirs)
        expect(one <= 1.5 * other, f"host, {name}", f"{one:.2f} us (least {one_least:.2f}), torch {other:.2f} "
               f"(least {other_least:.2f}): {one / other:.2f} times")
    out = torch.empty_like(a)
    for name, call in (("torch's new_empty alone", lambda: a.new_empty((128, 128))),
                       ("matmul with out=", lambda: wm.matmul(a, b, out=out)),
                       ("matmul the long way", lambda: wm.matmul(a, b, alpha=2.0))):
        row(f"  {name}", f"{min(host_microseconds(call, 500)):.2f} us")


def leaks():
    a, q, side = random(128, 128), random(1, 2, 64, 64), torch.cuda.Stream()

    def once(i):
        wm.matmul(a, a)
        wm.matmul(a, a, bias=a[0], alpha=2.0)
        wm.attention(q, q, q)
        wm.attention(q, q, q, return_lse=True)
        if i % 10 == 0:
            with torch.cuda.stream(side):
                wm.matmul(a, a)
            try:
                wm.matmul(a, a[:3])
            except ValueError:
                pass
            wm.matmul(a.clone().requires_grad_(), a).sum().backward()
            torch.from_dlpack(wm.DeviceArray((4,), "float32", wm.device("cuda:0")))

    def measured(times):
        for i in range(times):
            once(i)
        torch.cuda.synchronize()
        gc.collect()
        with open("/proc/self/statm") as file:
            resident = int(file.read().split()[1]) * 4096
        return torch.cuda.mem_get_info()[0], torch.cuda.memory_allocated(), resident

    before = measured(1500)
    after = measured(10000)
    device, allocated, host = before[0] - after[0], after[1] - before[1], after[2] - before[2]
    expect(device <= 4 << 20 and allocated <= 0 and host <= 8 << 20, "10,000 rounds of four calls and more",
           f"device {device} B, torch {allocated} B, host {host / 2**20:.2f} MiB")


def _without_storage(tensor):
    tensor = tensor.clone()
    tensor.untyped_storage().resize_(0)
    return tensor


def refusals():
    a, q = random(8, 8), random(1, 1, 8, 64)
    wide = random(1, 1, 8, 84)
    library = os.path.join(os.path.dirname(_library.__file__), "libwarpmill.so.0.1")
    for name, kind, call in (
            ("f64", ValueError, lambda: wm.matmul(a.double(), a.double())),
            ("complex", TypeError, lambda: wm.matmul(a.to(torch.complex64), a.to(torch.complex64))),
            ("types that differ", ValueError, lambda: wm.matmul(a, a.half())),
            ("on the CPU", ValueError, lambda: wm.matmul(a.cpu(), a.cpu())),
            ("CPU and GPU", ValueError, lambda: wm.matmul(a, a.cpu())),
            ("numpy and GPU", ValueError, lambda: wm.matmul(a, a.float().cpu().numpy())),
            ("shapes", ValueError, lambda: wm.matmul(a, a[:3])),
            ("bias", ValueError, lambda: wm.matmul(a, a, bias=a[0, :3].clone())),
            ("meta, without storage", ValueError, lambda: wm.matmul(a.to("meta"), a.to("meta"))),
            ("storage that was freed", ValueError, lambda: wm.matmul(_without_storage(a), a)),
            ("sparse", TypeError, lambda: wm.matmul(a.float().to_sparse(), a.float().to_sparse())),
            ("attention in f32", ValueError, lambda: wm.attention(q.float(), q.float(), q.float())),
            ("a head dim of 84", ValueError, lambda: wm.attention(wide, wide, wide)),
            ("three dimensions", ValueError, lambda: wm.attention(q[0], q[0], q[0])),
            ("attention with gradients", NotImplementedError, lambda: wm.attention(q.clone().requires_grad_(), q, q)),
            ("out of f64", ValueError, lambda: wm.matmul(a, a, out=torch.empty(8, 8, device="cuda").double())),
            ("an activation", ValueError, lambda: wm.matmul(a, a, activation="x; y")),
            ("a list", TypeError, lambda: wm.matmul([1], a)),
            ("another version", ImportError, lambda: _library.open_library(library, "9.9.9"))):
        try:
            call()
            expect(False, f"refused: {name}", "nothing was raised")
        except Exception as raised:
            expect(isinstance(raised, kind) and len(str(raised)) > 20, f"refused: {name}",
                   f"{type(raised).__name__}: {str(raised).splitlines()[0]}")
    expect(wm.matmul(a, a).isfinite().all().item(), "the device works on")
