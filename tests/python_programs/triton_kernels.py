"""Triton's kernels with torch's tensors, by Triton's own driver: a softmax, and a product of tiles."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, i < columns, -float("inf"))
    weights = tl.exp(values - tl.max(values, 0))
    tl.store(y + row * columns + i, weights / tl.sum(weights, 0), i < columns)


@triton.jit
def multiply(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, k, K):
        left = tl.load(a + (row + rows)[:, None] * k + (step + inner)[None, :])
        right = tl.load(b + (step + inner)[:, None] * n + (column + columns)[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + (row + rows)[:, None] * n + (column + columns)[None, :], total)


torch.manual_seed(1)
x = torch.randn(20, 300)
y = torch.zeros(20, 300).cuda()
softmax[(20,)](x.cuda(), y, 300, BLOCK=512)
torch.testing.assert_close(y.cpu(), torch.softmax(x, 1))

m, n, k = 256, 128, 192
a, b = torch.randn(m, k).to(torch.float16), torch.randn(k, n).to(torch.float16)
c = torch.zeros(m, n).cuda()
multiply[(m // 128, n // 64)](a.cuda(), b.cuda(), c, n, k, M=128, N=64, K=64)
torch.testing.assert_close(c.cpu(), a.float() @ b.float(), rtol=1e-3, atol=1e-3)


@triton.jit
def width(x, BLOCK: tl.constexpr):
    tl.store(x, BLOCK)


widths = torch.zeros(1, dtype=torch.int32).cuda()
for block in (128, 512):
    width.warmup(torch.int32, BLOCK=block, grid=(1,))  # variants of one name, the second compiled last
for block in (128, 512):
    width[(1,)](widths, BLOCK=block)
    assert int(widths.cpu()) == block
