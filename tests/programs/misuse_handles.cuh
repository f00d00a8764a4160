// Misuses of devices, streams, events and pools.
#pragma once

#include "misuse.cuh"

inline cudaEvent_t new_event(unsigned flags = cudaEventDefault) {
  cudaEvent_t event;
  good(cudaEventCreateWithFlags(&event, flags));
  return event;
}

inline cudaStream_t new_stream() {
  cudaStream_t stream;
  good(cudaStreamCreate(&stream));
  return stream;
}

inline std::vector<Misuse> handle_misuses() {
  return {
      {"device_too_high", [] { return cudaSetDevice(99); }},
      {"device_negative", [] { return cudaSetDevice(-1); }},
      {"properties_of_no_device",
       [] {
         cudaDeviceProp properties;
         return cudaGetDeviceProperties(&properties, 99);
       }},
      {"attribute_of_no_device",
       [] {
         int value;
         return cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99);
       }},
      {"attribute_that_is_none",
       [] {
         int value;
         return cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0);
       }},
      {"limit_that_is_none", [] { return cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1024); }},
      {"peer_with_itself", [] { return cudaDeviceEnablePeerAccess(0, 0); }},
      {"peer_with_no_device", [] { return cudaDeviceEnablePeerAccess(99, 0); }},
      {"stream_of_wrong_flags",
       [] {
         cudaStream_t stream;
         return cudaStreamCreateWithFlags(&stream, 0x40);
       }},
      {"stream_to_null", [] { return cudaStreamCreate(nullptr); }},
      {"stream_null_destroyed", [] { return cudaStreamDestroy(nullptr); }},
      {"stream_destroyed_then_used",
       [] {
         cudaStream_t stream = new_stream();
         good(cudaStreamDestroy(stream));
         return cudaStreamQuery(stream);
       }},
      {"stream_destroyed_twice",
       [] {
         cudaStream_t stream = new_stream();
         good(cudaStreamDestroy(stream));
         return cudaStreamDestroy(stream);
       }},
      {"event_null", [] { return cudaEventRecord(nullptr); }},
      {"event_null_waited_for", [] { return cudaStreamWaitEvent(nullptr, nullptr, 0); }},
      {"event_of_wrong_flags",
       [] {
         cudaEvent_t event;
         return cudaEventCreateWithFlags(&event, 0x40);
       }},
      {"event_destroyed_then_recorded",
       [] {
         cudaEvent_t event = new_event();
         good(cudaEventDestroy(event));
         return cudaEventRecord(event);
       }},
      {"event_destroyed_twice",
       [] {
         cudaEvent_t event = new_event();
         good(cudaEventDestroy(event));
         return cudaEventDestroy(event);
       }},
      {"event_not_recorded_waited_for", [] { return cudaStreamWaitEvent(new_stream(), new_event(), 0); }},
      {"event_not_recorded_synchronised", [] { return cudaEventSynchronize(new_event()); }},
      {"event_not_recorded_queried", [] { return cudaEventQuery(new_event()); }},
      {"elapsed_not_recorded",
       [] {
         float time;
         return cudaEventElapsedTime(&time, new_event(), new_event());
       }},
      {"elapsed_end_not_recorded",
       [] {
         float time;
         cudaEvent_t start = new_event();
         good(cudaEventRecord(start));
         good(cudaEventSynchronize(start));
         return cudaEventElapsedTime(&time, start, new_event());
       }},
      {"elapsed_without_timing",
       [] {
         float time;
         cudaEvent_t start = new_event(cudaEventDisableTiming), end = new_event(cudaEventDisableTiming);
         good(cudaEventRecord(start));
         good(cudaEventRecord(end));
         good(cudaDeviceSynchronize());
         return cudaEventElapsedTime(&time, start, end);
       }},
      {"elapsed_to_null",
       [] {
         cudaEvent_t event = new_event();
         good(cudaEventRecord(event));
         return cudaEventElapsedTime(nullptr, event, event);
       }},
      {"host_function_null", [] { return cudaLaunchHostFunc(nullptr, nullptr, nullptr); }},
      {"pool_of_no_device",
       [] {
         cudaMemPool_t pool;
         return cudaDeviceGetDefaultMemPool(&pool, 99);
       }},
      {"pool_attribute_that_is_none",
       [] {
         cudaMemPool_t pool;
         unsigned long long value;
         good(cudaDeviceGetDefaultMemPool(&pool, 0));
         return cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(99), &value);
       }},
      {"pool_default_destroyed",
       [] {
         cudaMemPool_t pool;
         good(cudaDeviceGetDefaultMemPool(&pool, 0));
         return cudaMemPoolDestroy(pool);
       }},
  };
}
