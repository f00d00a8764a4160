"""QuACK's kernels (CuTe DSL): norm, softmax, loss, and a product by the tensor cores of the chip."""

import torch
from quack.cross_entropy import cross_entropy_fwd
from quack.gemm_interface import gemm
from quack.rmsnorm import rmsnorm_fwd
from quack.softmax import softmax_fwd


def first(result):
    return result[0] if isinstance(result, tuple) else result


torch.manual_seed(1)
x = torch.randn(32, 512)
torch.testing.assert_close(softmax_fwd(x.cuda()).cpu(), torch.softmax(x, 1))
target = torch.randint(0, 512, (32,))
torch.testing.assert_close(first(cross_entropy_fwd(x.cuda(), target.cuda())).cpu(),
                           torch.nn.functional.cross_entropy(x, target, reduction="none"))
w = torch.randn(512)
narrow = x.to(torch.bfloat16)
torch.testing.assert_close(first(rmsnorm_fwd(narrow.cuda(), w.cuda())).cpu().float(),
                           torch.nn.functional.rms_norm(narrow.float(), (512,), w, 1e-6), rtol=1e-2, atol=1e-2)

a, b = torch.randn(300, 192).to(torch.bfloat16), torch.randn(256, 192).to(torch.bfloat16)
torch.testing.assert_close(gemm(a.cuda(), b.cuda().T, tuned=False).cpu().float(), a.float() @ b.float().T, rtol=1e-2,
                           atol=1e-1)
