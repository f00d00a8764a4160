/* The C ABI: the whole library for C99 and for everything that can call C. It is what the shared library exports. */
#ifndef WARPMILL_H
#define WARPMILL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WM_API __attribute__((visibility("default")))

/* Every function that can fail returns a code, and what went wrong in words is wm_error_text(), which belongs to the
   calling thread. Results come through pointers and are not touched where a call fails.

   A struct carries its size first, so that it can grow: wm_gemm_request product = {.size = sizeof product, ...}. What
   is left zero is left out. A library that is older than its caller refuses fields that it does not know.

   Lists of sizes have the outermost dimension first. Handles may be used by many threads, and freed by one; freeing
   NULL does nothing. Texts in results belong to the handle that they were asked of. Those of wm_device_at, wm_gemm,
   wm_attention, wm_tensor_map_describe, wm_compiler_info_of and wm_cache_info_of belong to the calling thread until
   its next call here; wm_error_text() until its next failure. */

/* -- errors, version, log ------------------------------------------------------------------------------------- */

typedef enum wm_status {
  WM_OK = 0,
  WM_INVALID_ARGUMENT, /* the request itself is wrong */
  WM_UNSUPPORTED,      /* a right request that this device, compiler or build cannot serve */
  WM_NOT_FOUND,        /* a file, device, kernel, library that is not there */
  WM_OUT_OF_MEMORY,
  WM_COMPILE,   /* the kernel's source or PTX was refused */
  WM_LAUNCH,    /* the launch was refused */
  WM_EXECUTION, /* the kernel ran and failed */
  WM_STOPPED,   /* the caller asked for its end */
  WM_IO,
  WM_INTERNAL /* a bug here */
} wm_status;

WM_API const char* wm_error_text(void);            /* of this thread's last failure */
WM_API const char* wm_status_name(wm_status code); /* "invalid argument" */
WM_API const char* wm_version(void);               /* "0.1.0", of the library that was loaded */

typedef enum wm_log_severity { WM_LOG_NOTE = 0, WM_LOG_WARNING } wm_log_severity;
/* Called by any thread that has something to tell, several at once perhaps. */
typedef void (*wm_log_function)(void* user, wm_log_severity severity, const char* text);
WM_API wm_status wm_set_log(wm_log_function function, void* user); /* NULL: nobody is told */

/* -- devices, streams, memory --------------------------------------------------------------------------------- */

typedef struct wm_device wm_device;
typedef struct wm_stream wm_stream;
typedef struct wm_buffer wm_buffer;

typedef struct wm_device_info {
  size_t size;
  const char* id;   /* what wm_device_open takes */
  const char* name; /* "NVIDIA H200" */
  const char* arch; /* "sm_90a" */
  int32_t is_virtual;
  int32_t multiprocessors;
  uint64_t memory_bytes, l2_bytes, shared_bytes_per_block;
} wm_device_info;

/* "cuda:0", "virtual" (sm_90a), "virtual:sm_80", "virtual:sm_90a:sms=4"; NULL: the first GPU, else the virtual one.
   Opening a device twice gives the same device. */
WM_API wm_status wm_device_open(const char* id, wm_device** device);
WM_API void wm_device_close(wm_device* device);
WM_API wm_status wm_device_info_of(const wm_device* device, wm_device_info* info);
WM_API wm_status wm_device_synchronize(const wm_device* device);
/* The devices there are, GPUs first. */
WM_API wm_status wm_device_count(size_t* count);
WM_API wm_status wm_device_at(size_t index, wm_device_info* info);

WM_API wm_status wm_stream_create(const wm_device* device, wm_stream** stream);
/* The caller's own CUstream or cudaStream_t, which stays the caller's; NULL is the default stream. */
WM_API wm_status wm_stream_wrap(const wm_device* device, void* native, wm_stream** stream);
WM_API void wm_stream_free(wm_stream* stream);
WM_API void* wm_stream_native(const wm_stream* stream);
WM_API wm_status wm_stream_synchronize(const wm_stream* stream);
/* Addresses are device addresses. A download has written its destination only after wm_stream_synchronize(). */
WM_API wm_status wm_stream_upload(const wm_stream* stream, uint64_t destination, const void* source, size_t bytes);
WM_API wm_status wm_stream_download(const wm_stream* stream, void* destination, uint64_t source, size_t bytes);
WM_API wm_status wm_stream_copy(const wm_stream* stream, uint64_t destination, uint64_t source, size_t bytes);
WM_API wm_status wm_stream_fill(const wm_stream* stream, uint64_t destination, unsigned char value, size_t bytes);

WM_API wm_status wm_buffer_create(const wm_device* device, size_t bytes, wm_buffer** buffer);
WM_API void wm_buffer_free(wm_buffer* buffer);
WM_API uint64_t wm_buffer_address(const wm_buffer* buffer);
WM_API size_t wm_buffer_bytes(const wm_buffer* buffer);
/* Blocking, after all work given to the device before. */
WM_API wm_status wm_buffer_upload(wm_buffer* buffer, size_t offset, const void* source, size_t bytes);
WM_API wm_status wm_buffer_download(const wm_buffer* buffer, size_t offset, void* destination, size_t bytes);
/* What reports of the virtual GPU call it. */
WM_API wm_status wm_buffer_name(wm_buffer* buffer, const char* name);

/* The caller's own memory on the host becomes a virtual device's too, under its own address, until it is unmapped:
   kernels read and write it where it lies, and the caller leaves it alone while one runs; unmapping waits for them.
   With read_only it is never written: a kernel that tries fails. What reports call it may be NULL. */
WM_API wm_status wm_memory_map(const wm_device* device, void* memory, size_t bytes, int32_t read_only,
                               const char* name);
WM_API wm_status wm_memory_unmap(const wm_device* device, const void* memory);

typedef enum wm_dtype {
  WM_U8 = 0,
  WM_I8,
  WM_U16,
  WM_I16,
  WM_U32,
  WM_I32,
  WM_U64,
  WM_I64,
  WM_F16,
  WM_BF16,
  WM_F32,
  WM_TF32,
  WM_F64,
  WM_E4M3,
  WM_E5M2
} wm_dtype;

/* Elements in device memory, of whoever owns it; on the device of the stream that the view is used with. */
typedef struct wm_view {
  size_t size;
  uint64_t address;
  wm_dtype dtype;
  uint32_t rank;
  const int64_t* shape;
  const int64_t* strides; /* in elements; NULL: dense */
} wm_view;

/* -- kernels of the caller's own ------------------------------------------------------------------------------ */

typedef struct wm_program wm_program;
typedef struct wm_module wm_module;
typedef struct wm_kernel wm_kernel;

typedef struct wm_compile_request {
  size_t size;
  const char* name;            /* shown in errors and reports: "copy.cu" */
  const char* source;          /* CUDA C++, which may include Warpmill's headers */
  const char* arch;            /* "sm_90a" */
  const char* const* defines;  /* "NAME" or "NAME=VALUE", ended by NULL, as all three lists */
  const char* const* includes; /* folders */
  const char* const* names;    /* of template kernels: "scale<4>" */
  int32_t line_table;          /* PTX that knows its source lines, for the virtual GPU; there is no cubin then */
} wm_compile_request;

WM_API wm_status wm_compile(const wm_compile_request* request, wm_program** program);
WM_API void wm_program_free(wm_program* program);
WM_API const char* wm_program_ptx(const wm_program* program);
WM_API const void* wm_program_cubin(const wm_program* program, size_t* bytes); /* NULL where there is none */
WM_API const char* wm_program_log(const wm_program* program);                  /* the compiler's warnings */
/* What costs speed, a line each: spills, stack frames, wgmma that the compiler serialised. */
WM_API const char* wm_program_lost_speed(const wm_program* program);

WM_API wm_status wm_module_load(const wm_device* device, const wm_program* program, wm_module** module);
WM_API wm_status wm_module_load_ptx(const wm_device* device, const char* ptx, const char* name, wm_module** module);
WM_API wm_status wm_module_load_cubin(const wm_device* device, const void* cubin, size_t bytes, const char* name,
                                      wm_module** module);
WM_API void wm_module_free(wm_module* module);
/* An entry's name, or one of wm_compile_request's names. A kernel outlives its module's handle. */
WM_API wm_status wm_module_kernel(const wm_module* module, const char* entry, wm_kernel** kernel);
WM_API void wm_kernel_free(wm_kernel* kernel);

typedef enum wm_kind { WM_ANY = 0, WM_INTEGER, WM_FLOATING, WM_POINTER, WM_STRUCT } wm_kind;

typedef struct wm_kernel_info {
  size_t size;
  const char* name;
  int32_t registers; /* a thread; 0 where the device does not know */
  int32_t max_threads;
  uint64_t static_shared_bytes, local_bytes;
  size_t parameters;
} wm_kernel_info;
WM_API wm_status wm_kernel_info_of(const wm_kernel* kernel, wm_kernel_info* info);

typedef struct wm_parameter {
  size_t size;
  size_t offset, bytes;
  wm_kind kind; /* WM_ANY where only a cubin was given */
} wm_parameter;
WM_API wm_status wm_kernel_parameter(const wm_kernel* kernel, size_t index, wm_parameter* parameter);

typedef struct wm_launch_config {
  size_t size;
  uint32_t grid[3], block[3];
  uint32_t cluster[3]; /* zeros: none */
  uint32_t shared_bytes;
  int32_t programmatic_dependent;
} wm_launch_config;

/* An argument as the kernel gets it. */
typedef struct wm_argument {
  const void* data;
  size_t bytes;
  wm_kind kind;
} wm_argument;
/* Everything that can be known wrong is refused before, in words. On the virtual GPU it returns when the kernel ended.
 */
WM_API wm_status wm_launch(const wm_stream* stream, const wm_kernel* kernel, const wm_launch_config* config,
                           const wm_argument* arguments, size_t count);

/* What the copy engine needs to know of a tensor; docs/tensor-maps.md has the rules and the names. */
typedef struct wm_tensor_map_request {
  size_t size;
  const char* element; /* "bf16", "f32", "u8", ... */
  uint64_t address;
  uint32_t rank;
  const int64_t* dims;
  const int64_t* strides;         /* in BYTES, of all dimensions but the innermost */
  const int64_t* element_strides; /* NULL: all 1 */
  const int64_t* box;             /* NULL: an im2col map */
  const char* interleave;         /* NULL for each of these: none, or zeros */
  const char* swizzle;            /* "128B" */
  const char* l2_promotion;
  const char* fill;
  const int64_t *lower_corner, *upper_corner; /* of an im2col map, rank - 2 each */
  int64_t channels_per_pixel, pixels_per_column;
} wm_tensor_map_request;

/* 128 bytes, for a kernel's `const __grid_constant__ wm::TensorMap`, or device memory at a multiple of 128. */
WM_API wm_status wm_tensor_map_make(const wm_device* device, const wm_tensor_map_request* request,
                                    unsigned char map[128]);
/* The map in words, with the refusal where there is one; any request, legal or not. */
WM_API wm_status wm_tensor_map_describe(const wm_device* device, const wm_tensor_map_request* request,
                                        const char** text);

/* -- products and attention ----------------------------------------------------------------------------------- */

/* d = activation(alpha row_scale column_scale (a b) + beta c + row_bias + column_bias) d_scale; docs/gemm.md. */
typedef struct wm_gemm_request {
  size_t size;
  const wm_view *a, *b, *d; /* m x k, k x n, m x n, or with a batch in front of all three */
  const wm_view* c;
  const wm_view *row_scale, *column_scale, *row_bias, *column_bias;
  const wm_view* amax; /* set to the largest magnitude before d_scale */
  const wm_view* d_scale;
  const float *alpha, *beta;                             /* NULL: 1 and 0 */
  const char* activation;                                /* "relu", "gelu_tanh", "gelu_erf", "silu" */
  const char* expression;                                /* instead: C++ of a float x, "x * sigmoid(1.702f * x)" */
  const uint64_t *batch_a, *batch_b, *batch_c, *batch_d; /* addresses of matrices that lie anywhere; batch_d: all */
  size_t batch;                                          /* how many */
  int32_t promote;                                       /* 8-bit floats: sums in full precision */
  const char* plan;                                      /* "128x256 s4 c2x1"; NULL: the library's own choice */
  /* Operands that the copy engine cannot read where they lie are not copied first: threads bring them. */
  int32_t no_align;
} wm_gemm_request;

/* What ran. */
typedef struct wm_launched {
  size_t size;
  const char* plan;
  const char* path; /* who brought and stored the operands of a product */
  uint32_t blocks;
  int32_t tuned; /* the plan was measured for this shape, not estimated */
} wm_launched;

/* Puts the product into the stream. `launched` may be NULL. */
WM_API wm_status wm_gemm(const wm_stream* stream, const wm_gemm_request* request, wm_launched* launched);

/* out = softmax(scale q k^T) v; docs/attention.md. */
typedef struct wm_attention_request {
  size_t size;
  const wm_view *q, *k, *v, *out; /* batch x heads x length x dim; with offsets there is no batch dimension */
  const wm_view* lse;             /* f32, batch x heads x queries */
  const float* scale;             /* NULL: 1 / sqrt(dim) */
  const int64_t *left, *right;    /* keys seen to each side of the opposite one; NULL: all. Causal: right is 0 */
  int32_t from_beginnings;        /* which key is opposite: counted from the first ones; else from the last ones */
  float softcap;
  const wm_view *query_offsets, *key_offsets; /* i32: sequence i has the positions offsets[i] to offsets[i + 1] - 1 */
  int64_t longest_queries, longest_keys;      /* 0: not known */
  const char* plan;
  const wm_view *alibi_slopes, *sinks; /* f32, one for each head of q */
  /* C++ expressions of the caller's own and the arrays that they read, by name (AttentionExpressions in attention.hpp)
   */
  const char *score, *mask, *skip, *whole;
  const char* const* array_names;
  const wm_view* const* arrays;
  size_t array_count;
  const wm_view* key_lengths; /* i32, one for each batch: so many of its keys count */
  /* Where q, k and v are e4m3: what their numbers are multiplied with, f32, one number or one for each batch and head
   * of k; and out, one number, on its way to e4m3. NULL: 1 */
  const wm_view *q_descale, *k_descale, *v_descale, *out_scale;
} wm_attention_request;
WM_API wm_status wm_attention(const wm_stream* stream, const wm_attention_request* request, wm_launched* launched);

/* How plans are ranked for a request on a device: the one that is taken first. Addresses of views only say what is
   aligned. */
typedef struct wm_plans wm_plans;
typedef struct wm_plan {
  size_t size;
  const char* text;
  int32_t taken, tuned;
  int32_t shared_bytes, registers; /* of a block */
  int64_t tiles;
  double seconds; /* estimated */
} wm_plan;
WM_API wm_status wm_plans_gemm(const wm_stream* stream, const wm_gemm_request* request, wm_plans** plans);
WM_API wm_status wm_plans_attention(const wm_stream* stream, const wm_attention_request* request, wm_plans** plans);
WM_API void wm_plans_free(wm_plans* plans);
WM_API size_t wm_plans_count(const wm_plans* plans);
WM_API wm_status wm_plans_at(const wm_plans* plans, size_t index, wm_plan* plan);

/* -- the judge ------------------------------------------------------------------------------------------------ */

typedef struct wm_report wm_report;

typedef struct wm_check_request {
  size_t size;
  int32_t friendly, random, adversarial; /* the modes; none of them: all three */
  uint32_t seeds;                        /* of random and adversarial; 0: 3 */
  uint64_t max_instructions;             /* of one run; 0: no limit */
  int32_t strict;                        /* warnings are errors */
} wm_check_request;

/* One run: it brings memory into its first state and launches on the device. Anything but WM_OK ends the check. */
typedef wm_status (*wm_check_run)(void* user);
/* Calls `run` once for each mode and seed, with the judge watching the device's last launch of each; one that launches
   nothing on the device is refused. A device does one check at a time (a second is WM_UNSUPPORTED), and is used by
   nobody else meanwhile. */
WM_API wm_status wm_check(const wm_device* device, const wm_check_request* request, wm_check_run run, void* user,
                          wm_report** report);
WM_API void wm_report_free(wm_report* report);

typedef struct wm_report_info {
  size_t size;
  size_t findings; /* errors first */
  size_t errors;
  uint64_t runs;
  uint64_t instructions, accesses, copies, products, barriers;
} wm_report_info;
WM_API wm_status wm_report_info_of(const wm_report* report, wm_report_info* info);

/* An error is what data shows, or what PTX forbids; a warning what PTX demands and released code omits everywhere;
   advice what costs time. */
typedef enum wm_severity { WM_ERROR = 0, WM_WARNING, WM_ADVICE } wm_severity;

typedef struct wm_finding {
  size_t size;
  const char* name; /* "missing-proxy-fence" */
  wm_severity severity;
  const char *message, *help;
  const char* text; /* as `warpmill check` prints it */
  uint64_t count;   /* how often it was seen */
  size_t places;
} wm_finding;
WM_API wm_status wm_report_finding(const wm_report* report, size_t index, wm_finding* finding);

/* An instruction that a finding is about, and who executed it. */
typedef struct wm_place {
  size_t size;
  const char* file;
  uint32_t line;
  const char* instruction;
  uint32_t block[3];
  uint32_t warp;
  const char* role;
  const char* what; /* "reads shared 0x400 to 0x5ff" */
} wm_place;
WM_API wm_status wm_report_place(const wm_report* report, size_t finding, size_t index, wm_place* place);

/* -- the compiler and its cache ------------------------------------------------------------------------------- */

typedef struct wm_compiler_info {
  size_t size;
  int32_t found;
  const char *path, *version;
  const char* problem; /* where not found: what was tried, and how to get it */
} wm_compiler_info;
WM_API wm_status wm_compiler_info_of(wm_compiler_info* info);

typedef struct wm_cache_info {
  size_t size;
  const char* folder;
  const char* problem; /* why it is not in use; empty where it is */
  uint64_t entries, bytes;
} wm_cache_info;
WM_API wm_status wm_cache_info_of(wm_cache_info* info);
WM_API wm_status wm_cache_clear(size_t* removed);

#ifdef __cplusplus
}
#endif

#endif
