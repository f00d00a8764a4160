"""CuTe DSL: a kernel of layouts and tensors, a sum of each row by shuffles, on torch's tensors; variants of one kernel."""

import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def sum_rows(x: cute.Tensor, sums: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    total = cutlass.Float32(0)
    for column in range(lane, cute.size(x, mode=[1]), 32):
        total += x[row, column]
    for distance in (16, 8, 4, 2, 1):
        total += cute.arch.shuffle_sync_bfly(total, offset=distance)
    if lane == 0:
        sums[row] = total


@cute.jit
def launch(x: cute.Tensor, sums: cute.Tensor):
    sum_rows(x, sums).launch(grid=[cute.size(x, mode=[0]), 1, 1], block=[32, 1, 1])


x = torch.arange(40 * 100, dtype=torch.float32).reshape(40, 100) % 17
sums = torch.zeros(40).cuda()
launch(from_dlpack(x.cuda()), from_dlpack(sums))
torch.testing.assert_close(sums.cpu(), x.sum(1), rtol=0, atol=0)


class Fill:
    """Variants of a kernel, which all have one name."""

    def __init__(self, value):
        self.value = value

    @cute.jit
    def __call__(self, x: cute.Tensor):
        self.kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, x: cute.Tensor):
        lane, _, _ = cute.arch.thread_idx()
        x[lane] = cutlass.Float32(self.value)


filled = torch.zeros(32).cuda()
variants = [cute.compile(Fill(value), from_dlpack(filled)) for value in (11, 22)]
for value, fill in zip((11, 22), variants):
    fill(from_dlpack(filled))
    assert (filled.cpu() == value).all(), (value, filled.cpu())
