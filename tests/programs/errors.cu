// Codes and their names and texts; which call forgets an error, which keeps it.
#include "report.cuh"

__global__ void nothing() {}

void table() {
  const cudaError_t codes[] = {cudaSuccess,
                               cudaErrorInvalidValue,
                               cudaErrorMemoryAllocation,
                               cudaErrorInitializationError,
                               cudaErrorInvalidConfiguration,
                               cudaErrorInvalidPitchValue,
                               cudaErrorInvalidSymbol,
                               cudaErrorInvalidMemcpyDirection,
                               cudaErrorMissingConfiguration,
                               cudaErrorInvalidDeviceFunction,
                               cudaErrorNoDevice,
                               cudaErrorInvalidDevice,
                               cudaErrorInvalidKernelImage,
                               cudaErrorNoKernelImageForDevice,
                               cudaErrorInvalidPtx,
                               cudaErrorUnsupportedLimit,
                               cudaErrorPeerAccessUnsupported,
                               cudaErrorInvalidResourceHandle,
                               cudaErrorIllegalState,
                               cudaErrorSymbolNotFound,
                               cudaErrorNotReady,
                               cudaErrorIllegalAddress,
                               cudaErrorLaunchOutOfResources,
                               cudaErrorLaunchTimeout,
                               cudaErrorAssert,
                               cudaErrorHostMemoryAlreadyRegistered,
                               cudaErrorHardwareStackError,
                               cudaErrorIllegalInstruction,
                               cudaErrorMisalignedAddress,
                               cudaErrorInvalidAddressSpace,
                               cudaErrorInvalidPc,
                               cudaErrorLaunchFailure,
                               cudaErrorCooperativeLaunchTooLarge,
                               cudaErrorNotPermitted,
                               cudaErrorNotSupported,
                               cudaErrorStreamCaptureUnsupported,
                               cudaErrorStreamCaptureInvalidated,
                               cudaErrorStreamCaptureUnmatched,
                               cudaErrorStreamCaptureUnjoined,
                               cudaErrorStreamCaptureIsolation,
                               cudaErrorStreamCaptureImplicit,
                               cudaErrorCapturedEvent,
                               cudaErrorStreamCaptureWrongThread,
                               cudaErrorGraphExecUpdateFailure,
                               cudaErrorInvalidClusterSize,
                               cudaErrorUnknown,
                               static_cast<cudaError_t>(12345)};
  for (const cudaError_t code : codes)
    std::printf("%d %s: %s\n", static_cast<int>(code), cudaGetErrorName(code), cudaGetErrorString(code));
}

// Calls that fail without harm: the code stays until cudaGetLastError takes it.
void remembered() {
  say("at first", cudaGetLastError());
  say("wrong device", cudaSetDevice(1000));
  say("peek", cudaPeekAtLastError());
  say("a call that succeeds", cudaDeviceSynchronize());
  say("peek again", cudaPeekAtLastError());
  say("last", cudaGetLastError());
  say("last again", cudaGetLastError());

  nothing<<<1, 5000>>>();
  say("launch of 5000 threads, peek", cudaPeekAtLastError());
  say("no pointer", cudaMalloc(static_cast<void**>(nullptr), 4));
  say("the later one counts", cudaGetLastError());
  nothing<<<1, 1>>>();
  say("a good launch", cudaGetLastError());

  void* memory = nullptr;
  say("too much memory", cudaMalloc(&memory, std::size_t{1} << 46));
  std::printf("no memory: %d\n", memory == nullptr);
  say("last", cudaGetLastError());

  cudaEvent_t unrecorded;
  good(cudaEventCreate(&unrecorded));
  float time = 0;
  say("elapsed between what was not recorded", cudaEventElapsedTime(&time, unrecorded, unrecorded));
  say("last", cudaGetLastError());
  good(cudaEventDestroy(unrecorded));

  cudaPointerAttributes attributes;
  int local = 0;
  say("attributes of a local variable", cudaPointerGetAttributes(&attributes, &local));
  say("free of nothing", cudaFree(nullptr));
  say("free of nothing on the host", cudaFreeHost(nullptr));
  say("no bytes", cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDeviceToHost));
  say("nothing left", cudaGetLastError());
}

int main() {
  table();
  remembered();
}
