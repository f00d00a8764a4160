"""warpmill.triton with Gluon: products by TMA and tensor cores, whole and with one line wrong."""

import logging
import unittest

import ml_dtypes
import numpy as np
import triton.experimental.gluon.language as gl
import warpmill.triton as virtual
from triton.experimental import gluon
from triton.experimental.gluon.language.nvidia.blackwell import (TensorMemoryLayout, allocate_tensor_memory, tcgen05_commit,
                                                                 tcgen05_mma)
from triton.experimental.gluon.language.nvidia.hopper import (fence_async_shared, mbarrier, tma, warpgroup_mma,
                                                              warpgroup_mma_wait)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

ROWS, COLUMNS, DEPTH, STAGES = 128, 64, 64, 3
logging.getLogger("warpmill").setLevel(logging.ERROR)


@gluon.jit
def load(a, b, a_tiles, b_tiles, full, empty, steps, STAGES: gl.constexpr, BUG: gl.constexpr):
    for step in range(steps):
        stage = step % STAGES
        if BUG != "no wait for an empty stage":
            mbarrier.wait(empty.index(stage), (step // STAGES + 1) % 2)
        bytes: gl.constexpr = a.nbytes_per_cta + b.nbytes_per_cta
        mbarrier.expect(full.index(stage), bytes - 64 if BUG == "too few bytes expected" else bytes)
        tma.async_load(a, [0, step * a.block_type.shape[1]], full.index(stage), a_tiles.index(stage))
        tma.async_load(b, [step * b.block_type.shape[0], 0], full.index(stage), b_tiles.index(stage))


@gluon.jit
def multiply_hopper(c, c_tile, a_tiles, b_tiles, full, empty, steps, STAGES: gl.constexpr, BUG: gl.constexpr):
    layout: gl.constexpr = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16])
    sums = gl.zeros(c.block_type.shape, gl.float32, layout)
    for step in range(steps):
        stage = step % STAGES
        mbarrier.wait(full.index(stage), 0 if BUG == "phase that stays" else step // STAGES % 2)
        sums = warpgroup_mma(a_tiles.index(stage), b_tiles.index(stage), sums, is_async=True)
        sums = warpgroup_mma_wait(0, deps=(sums,))
        mbarrier.arrive(empty.index(stage), count=1)
    c_tile.store(sums.to(gl.float16))
    fence_async_shared()
    tma.async_store(c, [0, 0], c_tile)
    tma.store_wait(0)


@gluon.jit
def product_hopper(a, b, c, steps, STAGES: gl.constexpr, BUG: gl.constexpr):
    a_tiles = gl.allocate_shared_memory(gl.float16, [STAGES] + a.block_type.shape, a.layout)
    b_tiles = gl.allocate_shared_memory(gl.float16, [STAGES] + b.block_type.shape, b.layout)
    c_tile = gl.allocate_shared_memory(gl.float16, c.block_type.shape, c.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    fence_async_shared()
    gl.warp_specialize([(multiply_hopper, (c, c_tile, a_tiles, b_tiles, full, empty, steps, STAGES, BUG)),
                        (load, (a, b, a_tiles, b_tiles, full, empty, steps, STAGES, BUG))], [1], [24])


@gluon.jit
def product_blackwell(a, b, c, steps, STAGES: gl.constexpr, BUG: gl.constexpr):
    a_tile = gl.allocate_shared_memory(gl.bfloat16, a.block_type.shape, a.layout)
    b_tile = gl.allocate_shared_memory(gl.bfloat16, b.block_type.shape, b.layout)
    c_tile = gl.allocate_shared_memory(gl.bfloat16, c.block_type.shape, c.layout)
    tile: gl.constexpr = TensorMemoryLayout([128, 64], col_stride=1)
    sums = allocate_tensor_memory(gl.float32, c.block_type.shape, tile)
    loaded = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(loaded, count=1)
    mbarrier.init(done, count=1)
    fence_async_shared()
    for step in range(steps):
        mbarrier.expect(loaded, a.nbytes_per_cta + b.nbytes_per_cta)
        tma.async_load(a, [0, step * a.block_type.shape[1]], loaded, a_tile)
        tma.async_load(b, [step * b.block_type.shape[0], 0], loaded, b_tile)
        mbarrier.wait(loaded, step % 2)
        tcgen05_mma(a_tile, b_tile, sums, use_acc=step > 0)
        tcgen05_commit(done)
        if BUG != "sums read too early" or step < steps - 1:
            mbarrier.wait(done, step % 2)
    c_tile.store(sums.load().to(gl.bfloat16))
    fence_async_shared()
    tma.async_store(c, [0, 0], c_tile)
    tma.store_wait(0)


def descriptor(array, box, element):
    layout = gl.NVMMASharedLayout.get_default_for(box, element)
    return TensorDescriptor.from_tensor(virtual.pointer(array), box, layout)


class Products(unittest.TestCase):
    def run_it(self, kernel, device, dtype, element, bug):
        virtual.use(device, judge=True, modes=("friendly", "random", "adversarial"), seeds=2)
        steps, numbers = 7, np.random.default_rng(1)
        a = numbers.standard_normal((ROWS, steps * DEPTH)).astype(dtype)
        b = numbers.standard_normal((steps * DEPTH, COLUMNS)).astype(dtype)
        c = np.full((ROWS, COLUMNS), np.nan, dtype)
        kernel[(1,)](descriptor(a, [ROWS, DEPTH], element), descriptor(b, [DEPTH, COLUMNS], element),
                     descriptor(c, [ROWS, COLUMNS], element), steps, STAGES, bug)
        np.testing.assert_allclose(c.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64), atol=0.3)

    def test_hopper(self):
        self.run_it(product_hopper, "virtual:sm_90a", np.float16, gl.float16, "")
        for bug, finding in (("no wait for an empty stage", "overwritten-in-use"), ("too few bytes expected", "wrong-byte-count"),
                             ("phase that stays", "deadlock")):
            with self.subTest(bug), self.assertRaisesRegex(virtual.Flawed, rf"error\[{finding}\](.|\n)*test_gluon\.py:\d+"):
                self.run_it(product_hopper, "virtual:sm_90a", np.float16, gl.float16, bug)

    def test_blackwell(self):
        self.run_it(product_blackwell, "virtual:sm_100a", ml_dtypes.bfloat16, gl.bfloat16, "")
        with self.assertRaisesRegex(virtual.Flawed, r"error\[.*tensor"):
            self.run_it(product_blackwell, "virtual:sm_100a", ml_dtypes.bfloat16, gl.bfloat16, "sums read too early")


if __name__ == "__main__":
    unittest.main()
