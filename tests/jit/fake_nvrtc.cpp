// A library that looks like NVRTC and has the version FAKE_NVRTC_VERSION names ("12 4").
#include <cstdio>
#include <cstdlib>

extern "C" {
int nvrtcVersion(int* major, int* minor) {
  const char* version = std::getenv("FAKE_NVRTC_VERSION");
  return version && std::sscanf(version, "%d %d", major, minor) == 2 ? 0 : 1;
}
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return 0;
}
int nvrtcGetSupportedArchs(int* architectures) {
  *architectures = 90;
  return 0;
}
int nvrtcCreateProgram() { return 1; }
int nvrtcDestroyProgram() { return 1; }
int nvrtcAddNameExpression() { return 1; }
int nvrtcCompileProgram() { return 1; }
int nvrtcGetLoweredName() { return 1; }
int nvrtcGetProgramLogSize() { return 1; }
int nvrtcGetProgramLog() { return 1; }
int nvrtcGetPTXSize() { return 1; }
int nvrtcGetPTX() { return 1; }
int nvrtcGetCUBINSize() { return 1; }
int nvrtcGetCUBIN() { return 1; }
const char* nvrtcGetErrorString() { return "this is no NVRTC"; }
}
