// Errors on their way to the program.
#include "cudart/failure.hpp"

#include <cstdio>
#include <exception>
#include <mutex>
#include <new>
#include <set>
#include <string>

#include "warpmill/error.hpp"

namespace wm::cudart {

void fail(cudaError_t status) { throw Failure{status}; }

void fail(cudaError_t status, std::string_view why) {
  tell(why);
  throw Failure{status};
}

void tell(std::string_view why) {
  const std::string line = "warpmill: " + std::string(why) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void tell_once(const std::string& why) {
  static std::mutex mutex;
  static auto* const told = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (told->insert(why).second) tell(why);
}

cudaError_t status_of(const Error& error) {
  switch (error.code()) {
    case ErrorCode::out_of_memory: return cudaErrorMemoryAllocation;
    case ErrorCode::invalid_argument: return cudaErrorInvalidValue;
    case ErrorCode::not_found: return cudaErrorSymbolNotFound;
    case ErrorCode::unsupported: return cudaErrorNotSupported;
    case ErrorCode::compile: return cudaErrorInvalidPtx;
    case ErrorCode::launch: return cudaErrorInvalidConfiguration;
    case ErrorCode::execution: return cudaErrorLaunchFailure;
    default: return cudaErrorUnknown;
  }
}

cudaError_t status_of_exception() noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return failure.status;
  } catch (const Error& error) {
    const cudaError_t status = status_of(error);
    if (status != cudaErrorMemoryAllocation) tell(error.what());
    return status;
  } catch (const std::bad_alloc&) {
    return cudaErrorMemoryAllocation;
  } catch (const std::exception& error) {
    tell(error.what());
    return cudaErrorUnknown;
  } catch (...) {  // of a program's own function
    return cudaErrorUnknown;
  }
}

}  // namespace wm::cudart
