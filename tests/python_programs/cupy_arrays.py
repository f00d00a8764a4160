"""CuPy: its own kernels for element-wise work and sums, and a caller's, in CUDA C++."""

import cupy
import numpy

x = cupy.arange(1000, dtype=cupy.float32)
assert float((x * 2 + 1).sum()) == 1e6
matrix = cupy.arange(12.0).reshape(3, 4)
numpy.testing.assert_array_equal(cupy.asnumpy(matrix.T.copy().sum(axis=0)), [6, 22, 38])
assert int(cupy.argmax(matrix)) == 11

square = cupy.RawKernel(
    r"""
extern "C" __global__ void square(const float* from, float* to, int count) {
  __shared__ float tile[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < count ? from[i] : 0;
  __syncthreads();
  if (i < count) to[i] = tile[threadIdx.x] * tile[threadIdx.x];
}""",
    "square",
    options=("-lineinfo",),
)
squares = cupy.zeros_like(x)
square((8,), (128,), (x, squares, numpy.int32(1000)))
numpy.testing.assert_array_equal(cupy.asnumpy(squares), numpy.arange(1000, dtype=numpy.float32) ** 2)

distance = cupy.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "distance")
assert float(distance(matrix, 2 * matrix).sum()) == 506
