"""Numba: kernels in Python, with shared memory, atomics, streams, and its own reduction, optimised at link time."""

import numpy
from numba import cuda, float32


@cuda.jit
def add(x, y, z):
    i = cuda.grid(1)
    if i < z.size:
        z[i] = x[i] + y[i]


@cuda.jit
def reverse(x):
    shared = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    shared[t] = x[t]
    cuda.syncthreads()
    x[t] = shared[255 - t]


@cuda.jit
def histogram(values, counts):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i] % 16, 1)


@cuda.reduce
def total(a, b):
    return a + b


x = numpy.arange(1000, dtype=numpy.float32)
z = numpy.zeros_like(x)
add[8, 128](x, 2 * x, z)
numpy.testing.assert_array_equal(z, 3 * x)

row = numpy.arange(256, dtype=numpy.float32)
reverse[1, 256](row)
numpy.testing.assert_array_equal(row, numpy.arange(255, -1, -1))

stream = cuda.stream()
with stream.auto_synchronize():
    device_x = cuda.to_device(x, stream=stream)
    device_z = cuda.device_array_like(x, stream=stream)
    add[8, 128, stream](device_x, device_x, device_z)
    twice = device_z.copy_to_host(stream=stream)
numpy.testing.assert_array_equal(twice, 2 * x)

counts = numpy.zeros(16, numpy.int32)
histogram[32, 128](numpy.arange(4096, dtype=numpy.int32), counts)
assert (counts == 256).all()
assert total(numpy.arange(10000, dtype=numpy.float64)) == 49995000
