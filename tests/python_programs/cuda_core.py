"""cuda.core: a template compiled by NVRTC into machine code, memory of the device's pool and of the host."""

import numpy
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions, launch

device = Device()
device.set_current()
stream = device.create_stream()
source = "template <class T> __global__ void twice(const T* x, T* y, size_t n) {" \
         "  const size_t i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }"
arch = "sm_" + "".join(map(str, device.compute_capability))
program = Program(source, code_type="c++", options=ProgramOptions(std="c++17", arch=arch, lineinfo=True))
kernel = program.compile("cubin", name_expressions=("twice<float>",)).get_kernel("twice<float>")

pinned = LegacyPinnedMemoryResource()
x, y = pinned.allocate(4000), pinned.allocate(4000)
host_x, host_y = (numpy.from_dlpack(buffer).view(numpy.float32) for buffer in (x, y))
host_x[:] = numpy.arange(1000)
host_y[:] = 0
between = device.memory_resource.allocate(4000, stream=stream)
between.copy_from(x, stream=stream)
launch(stream, LaunchConfig(grid=8, block=128), kernel, between, y, numpy.uint64(1000))
stream.sync()
numpy.testing.assert_array_equal(host_y, 2 * host_x)
