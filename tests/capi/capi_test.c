/* The C ABI from C99: every part of it on the virtual GPU, its refusals in words, structs that grow. */
#include <stdio.h>
#include <string.h>
#include <warpmill/warpmill.h>

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  printf("FAILED: %s (the last error: %s)\n", what, wm_error_text());
}
static void expect_refusal(wm_status status, wm_status code, const char* words, const char* what) {
  expect(status == code && strstr(wm_error_text(), words) != NULL, what);
}

static wm_device* device;
static wm_stream* stream;

/* Structs of a newer caller, which knows a field that this library does not. */
struct newer_request {
  wm_gemm_request known;
  int64_t new_field;
};
struct newer_info {
  wm_device_info known;
  int64_t new_field;
};

static void devices_and_memory(void) {
  wm_device_info info = {.size = sizeof info};
  expect(wm_device_info_of(device, &info) == WM_OK && strcmp(info.id, "virtual:sm_90a:sms=4") == 0 &&
             strcmp(info.arch, "sm_90a") == 0 && info.is_virtual && info.multiprocessors == 4,
         "a device says what it is");
  size_t count = 0;
  expect(wm_device_count(&count) == WM_OK && count > 0, "there are devices");
  wm_device_info other_info = {.size = sizeof other_info};
  expect(wm_device_at(0, &other_info) == WM_OK && strcmp(info.id, "virtual:sm_90a:sms=4") == 0 &&
             strcmp(info.arch, "sm_90a") == 0 && info.name[0] != '\0',
         "an open device's texts outlast other calls");
  wm_device_info again = {.size = sizeof again};
  expect(wm_device_info_of(device, &again) == WM_OK && again.id == info.id && again.name == info.name &&
             again.arch == info.arch,
         "they are the device's own");
  struct newer_info newer;
  memset(&newer, 0xff, sizeof newer);
  newer.known.size = sizeof newer;
  expect(wm_device_info_of(device, &newer.known) == WM_OK && newer.new_field == 0,
         "what this library does not know is zero for a newer caller");
  newer.known.size = (size_t)-1;
  expect_refusal(wm_device_info_of(device, &newer.known), WM_INVALID_ARGUMENT, "set its size", "a size of no struct");
  expect(wm_device_at(0, &info) == WM_OK && info.name[0] != '\0', "a listed device has a name");
  expect_refusal(wm_device_at(count, &info), WM_NOT_FOUND, "none of index", "an index past the last device");
  wm_device* other = NULL;
  expect_refusal(wm_device_open("tpu:0", &other), WM_INVALID_ARGUMENT, "'tpu:0' is no device id", "a foreign device");
  expect(other == NULL, "a call that fails leaves its result alone");
  expect_refusal(wm_stream_create(NULL, &stream), WM_INVALID_ARGUMENT, "device is NULL", "a stream of no device");

  wm_buffer* buffer = NULL;
  const char there[] = "0123456789";
  char back[sizeof there] = "";
  expect(wm_buffer_create(device, sizeof there, &buffer) == WM_OK && wm_buffer_bytes(buffer) == sizeof there &&
             wm_buffer_upload(buffer, 0, there, sizeof there) == WM_OK &&
             wm_stream_fill(stream, wm_buffer_address(buffer), 'x', 2) == WM_OK &&
             wm_stream_copy(stream, wm_buffer_address(buffer) + 8, wm_buffer_address(buffer), 2) == WM_OK &&
             wm_buffer_download(buffer, 0, back, sizeof back) == WM_OK && strcmp(back, "xx234567xx") == 0,
         "bytes go to the device and come back");
  expect_refusal(wm_buffer_upload(buffer, 8, there, sizeof there), WM_INVALID_ARGUMENT, "", "past a buffer's end");
  wm_buffer_free(buffer);
  wm_buffer_free(NULL);
}

static const char scale_source[] =
    "template <int times> __global__ void scale(float* x, float factor) { x[threadIdx.x] *= factor * times; }\n"
    "extern \"C\" __global__ void racing(float* x) { x[0] = threadIdx.x; }\n";

static wm_kernel* kernel_of(const char* name, int32_t line_table) {
  const char* const names[] = {"scale<3>", NULL};
  const wm_compile_request request = {.size = sizeof request,
                                      .name = "scale.cu",
                                      .source = scale_source,
                                      .arch = "sm_90a",
                                      .names = names,
                                      .line_table = line_table};
  wm_program* program = NULL;
  wm_module* module = NULL;
  wm_kernel* kernel = NULL;
  expect(wm_compile(&request, &program) == WM_OK && strstr(wm_program_ptx(program), ".entry") != NULL,
         "a source becomes PTX");
  size_t bytes = 1;
  expect((wm_program_cubin(program, &bytes) == NULL) == (line_table != 0) && (bytes == 0) == (line_table != 0),
         "there is a cubin unless lines were asked for");
  expect(wm_module_load(device, program, &module) == WM_OK && wm_module_kernel(module, name, &kernel) == WM_OK,
         "a program is loaded");
  wm_kernel* none = NULL;
  expect_refusal(wm_module_kernel(module, "missing", &none), WM_NOT_FOUND, "racing", "an entry that is not there");
  wm_program_free(program);
  wm_module_free(module);
  return kernel;
}

static void kernels_of_the_callers_own(void) {
  wm_kernel* kernel = kernel_of("scale<3>", 0);
  wm_kernel_info info = {.size = sizeof info};
  wm_parameter parameter = {.size = sizeof parameter};
  expect(wm_kernel_info_of(kernel, &info) == WM_OK && info.parameters == 2, "a kernel says its parameters");
  expect(wm_kernel_parameter(kernel, 1, &parameter) == WM_OK && parameter.bytes == 4 && parameter.kind == WM_FLOATING,
         "a parameter has a kind");
  float values[32];
  for (int i = 0; i < 32; ++i) values[i] = (float)i;
  wm_buffer* buffer = NULL;
  wm_buffer_create(device, sizeof values, &buffer);
  wm_buffer_upload(buffer, 0, values, sizeof values);
  const uint64_t address = wm_buffer_address(buffer);
  const float factor = 0.5f;
  const wm_argument arguments[] = {{&address, 8, WM_POINTER}, {&factor, 4, WM_FLOATING}};
  wm_launch_config config = {.size = sizeof config, .grid = {1, 1, 1}, .block = {32, 1, 1}};
  expect(wm_launch(stream, kernel, &config, arguments, 2) == WM_OK, "a kernel is launched");
  wm_buffer_download(buffer, 0, values, sizeof values);
  expect(values[4] == 6 && values[31] == 46.5f, "a kernel computes");
  expect_refusal(wm_launch(stream, kernel, &config, arguments, 1), WM_LAUNCH, "1 arguments were given",
                 "too few arguments");
  float own[32];
  for (int i = 0; i < 32; ++i) own[i] = (float)i;
  const uint64_t own_address = (uint64_t)(uintptr_t)own;
  const wm_argument of_host[] = {{&own_address, 8, WM_POINTER}, {&factor, 4, WM_FLOATING}};
  expect(wm_memory_map(device, own, sizeof own, 0, "own") == WM_OK &&
             wm_launch(stream, kernel, &config, of_host, 2) == WM_OK && own[4] == 6 && own[31] == 46.5f,
         "a kernel works on the caller's own memory");
  expect_refusal(wm_memory_map(device, own + 31, 8, 0, NULL), WM_INVALID_ARGUMENT, "mapped already",
                 "memory of two maps");
  expect(wm_memory_unmap(device, own) == WM_OK, "memory is the caller's alone again");
  expect_refusal(wm_launch(stream, kernel, &config, of_host, 2), WM_EXECUTION, "lie in no allocation",
                 "memory that is not the device's");
  expect(wm_memory_map(device, own, sizeof own, 1, "own") == WM_OK, "memory is mapped to be read");
  expect_refusal(wm_launch(stream, kernel, &config, of_host, 2), WM_EXECUTION,
                 "the caller lends for reading cannot be written", "a kernel that writes what is to be read");
  expect_refusal(wm_stream_fill(stream, own_address, 7, 4), WM_INVALID_ARGUMENT, "cannot be written",
                 "filling what is to be read");
  expect(own[4] == 6 && wm_memory_unmap(device, own) == WM_OK, "memory to be read stays as it was");
  expect_refusal(wm_memory_unmap(device, own), WM_INVALID_ARGUMENT, "no mapped memory", "memory that is not mapped");
  expect_refusal(wm_memory_map(device, own, 0, 0, NULL), WM_INVALID_ARGUMENT, "no bytes", "no memory");
  expect_refusal(wm_memory_map(device, NULL, 4, 0, NULL), WM_INVALID_ARGUMENT, "memory on the host is NULL",
                 "no address");
  config.block[0] = 5000;
  expect_refusal(wm_launch(stream, kernel, &config, arguments, 2), WM_LAUNCH, "5000", "a block that is too large");
  wm_buffer_free(buffer);
  wm_kernel_free(kernel);

  const wm_compile_request wrong = {.size = sizeof wrong, .source = "nonsense", .arch = "sm_90a"};
  wm_program* program = NULL;
  expect_refusal(wm_compile(&wrong, &program), WM_COMPILE, "program.cu", "a source that does not compile");
}

static void tensor_maps(void) {
  const int64_t dims[] = {64, 64}, strides[] = {128}, box[] = {8, 64}, odd[] = {100};
  wm_tensor_map_request request = {.size = sizeof request,
                                   .element = "bf16",
                                   .address = 1 << 20,
                                   .rank = 2,
                                   .dims = dims,
                                   .strides = strides,
                                   .box = box,
                                   .swizzle = "128B"};
  unsigned char map[128] = {0}, none[128] = {0};
  const char* words = NULL;
  expect(wm_tensor_map_make(device, &request, map) == WM_OK && memcmp(map, none, sizeof map) != 0, "a map is made");
  request.strides = odd;
  expect_refusal(wm_tensor_map_make(device, &request, map), WM_INVALID_ARGUMENT, "multiple of 16", "an odd stride");
  expect(wm_tensor_map_describe(device, &request, &words) == WM_OK && strstr(words, "100") != NULL, "a map in words");
  request.swizzle = "127B";
  expect_refusal(wm_tensor_map_make(device, &request, map), WM_INVALID_ARGUMENT, "128B", "a swizzle of no such name");
}

static void products_and_plans(void) {
  float a[16 * 8], b[8 * 16], d[16 * 16];
  for (int i = 0; i < 128; ++i) a[i] = 1, b[i] = (float)(i % 16);
  wm_buffer *memory = NULL, *result = NULL;
  wm_buffer_create(device, sizeof a + sizeof b, &memory);
  wm_buffer_create(device, sizeof d, &result);
  wm_buffer_upload(memory, 0, a, sizeof a);
  wm_buffer_upload(memory, sizeof a, b, sizeof b);
  const int64_t a_shape[] = {16, 8}, b_shape[] = {8, 16}, d_shape[] = {16, 16};
  const wm_view a_view = {sizeof a_view, wm_buffer_address(memory), WM_F32, 2, a_shape, NULL};
  const wm_view b_view = {sizeof b_view, wm_buffer_address(memory) + sizeof a, WM_F32, 2, b_shape, NULL};
  const wm_view d_view = {sizeof d_view, wm_buffer_address(result), WM_F32, 2, d_shape, NULL};
  const float alpha = 2;
  wm_gemm_request request = {.size = sizeof request, .a = &a_view, .b = &b_view, .d = &d_view, .alpha = &alpha};
  wm_launched launched = {.size = sizeof launched};
  expect(wm_gemm(stream, &request, &launched) == WM_OK && launched.blocks > 0 && launched.plan[0] != '\0',
         "a product is launched");
  char ran[100] = "";
  strncat(ran, launched.plan, sizeof ran - 1); /* the thread's next call takes the text away */
  wm_buffer_download(result, 0, d, sizeof d);
  expect(d[0] == 0 && d[3] == 48 && d[255] == 240, "a product is right");

  launched.size = 0;
  wm_stream_fill(stream, wm_buffer_address(result), 0, sizeof d);
  expect_refusal(wm_gemm(stream, &request, &launched), WM_INVALID_ARGUMENT, "launched", "a result without its size");
  wm_buffer_download(result, 0, d, sizeof d);
  expect(d[3] == 0, "a product that is refused was not launched");

  request.activation = "sin";
  expect_refusal(wm_gemm(stream, &request, NULL), WM_INVALID_ARGUMENT, "gelu_erf", "an activation of no such name");
  request.activation = NULL;
  request.a = &b_view;
  expect_refusal(wm_gemm(stream, &request, NULL), WM_INVALID_ARGUMENT, "the shapes do not fit", "shapes that differ");
  request.a = NULL;
  expect_refusal(wm_gemm(stream, &request, NULL), WM_INVALID_ARGUMENT, "a is NULL", "no a");
  request.a = &a_view;

  struct newer_request newer = {.known = request, .new_field = 0};
  newer.known.size = sizeof newer;
  expect(wm_gemm(stream, &newer.known, NULL) == WM_OK, "a newer caller that asks for nothing new is served");
  newer.new_field = 1;
  expect_refusal(wm_gemm(stream, &newer.known, NULL), WM_UNSUPPORTED, "older than its caller", "a newer field");
  request.size = offsetof(wm_gemm_request, c);
  request.activation = "sin"; /* beyond what this caller knows */
  expect(wm_gemm(stream, &request, NULL) == WM_OK, "an older caller's shorter request is served");
  request.size = 0;
  expect_refusal(wm_gemm(stream, &request, NULL), WM_INVALID_ARGUMENT, "size", "a struct without its size");

  request = (wm_gemm_request){.size = sizeof request, .a = &a_view, .b = &b_view, .d = &d_view, .alpha = &alpha};
  wm_plans* plans = NULL;
  wm_plan plan = {.size = sizeof plan};
  expect(wm_plans_gemm(stream, &request, &plans) == WM_OK && wm_plans_count(plans) > 1 &&
             wm_plans_at(plans, 0, &plan) == WM_OK && plan.taken && plan.shared_bytes > 0 && plan.seconds > 0,
         "plans are ranked, the one taken first");
  expect(strcmp(plan.text, ran) == 0, "and it is the one that ran");
  expect_refusal(wm_plans_at(plans, 100000, &plan), WM_INVALID_ARGUMENT, "none of index", "no such plan");
  wm_plans_free(plans);
  wm_buffer_free(result);
  wm_buffer_free(memory);
}

/* Rows of an odd number of elements, which the copy engine cannot read: copied first, or brought by threads. */
static void odd_rows(void) {
  enum { m = 128, k = 1003 };
  static float rows[m * k], d[m * m];
  for (int i = 0; i < m * k; ++i) rows[i] = 1;
  wm_buffer *memory = NULL, *result = NULL;
  wm_buffer_create(device, sizeof rows, &memory);
  wm_buffer_create(device, sizeof d, &result);
  wm_buffer_upload(memory, 0, rows, sizeof rows);
  const int64_t a_shape[] = {m, k}, b_shape[] = {k, m}, b_strides[] = {1, k}, d_shape[] = {m, m};
  const wm_view a = {sizeof a, wm_buffer_address(memory), WM_F32, 2, a_shape, NULL};
  const wm_view b = {sizeof b, wm_buffer_address(memory), WM_F32, 2, b_shape, b_strides};
  const wm_view d_view = {sizeof d_view, wm_buffer_address(result), WM_F32, 2, d_shape, NULL};
  for (int no_align = 0; no_align < 2; ++no_align) {
    const wm_gemm_request request = {.size = sizeof request, .a = &a, .b = &b, .d = &d_view, .no_align = no_align};
    wm_launched launched = {.size = sizeof launched};
    wm_stream_fill(stream, wm_buffer_address(result), 0, sizeof d);
    expect(wm_gemm(stream, &request, &launched) == WM_OK &&
               strstr(launched.path, no_align ? "threads, element by element" : "copied to aligned lines") != NULL,
           no_align ? "threads bring odd rows" : "odd rows are copied first");
    char ran[100] = "";
    strncat(ran, launched.plan, sizeof ran - 1);
    wm_buffer_download(result, 0, d, sizeof d);
    expect(d[0] == k && d[m * m - 1] == k, "and the product is right");
    wm_plans* plans = NULL;
    wm_plan plan = {.size = sizeof plan};
    expect(wm_plans_gemm(stream, &request, &plans) == WM_OK && wm_plans_at(plans, 0, &plan) == WM_OK &&
               strcmp(plan.text, ran) == 0,
           "its plan is the one that ran");
    wm_plans_free(plans);
  }
  wm_buffer_free(result);
  wm_buffer_free(memory);
}

static void attention(void) {
  enum { queries = 16, dim = 64 };
  uint16_t q[queries * dim] = {0}, out[queries * dim];
  for (int i = 0; i < queries; ++i) q[i * dim] = (uint16_t)(0x3f80 + i); /* bf16: 1 and a little more */
  wm_buffer *memory = NULL, *result = NULL;
  wm_buffer_create(device, sizeof q, &memory);
  wm_buffer_create(device, sizeof out, &result);
  wm_buffer_upload(memory, 0, q, sizeof q);
  const int64_t shape[] = {1, 1, queries, dim};
  const int64_t no_key = 0;
  const wm_view view = {sizeof view, wm_buffer_address(memory), WM_BF16, 4, shape, NULL};
  const wm_view out_view = {sizeof out_view, wm_buffer_address(result), WM_BF16, 4, shape, NULL};
  wm_attention_request request = {
      .size = sizeof request, .q = &view, .k = &view, .v = &view, .out = &out_view, .right = &no_key};
  wm_launched launched = {.size = sizeof launched};
  expect(wm_attention(stream, &request, &launched) == WM_OK && launched.blocks > 0, "attention is launched");
  wm_buffer_download(result, 0, out, sizeof out);
  expect(out[0] == q[0] && out[1] == 0, "the first query of a causal attention sees the first key alone");
  wm_plans* plans = NULL;
  expect(wm_plans_attention(stream, &request, &plans) == WM_OK && wm_plans_count(plans) > 0, "its plans are ranked");
  wm_plans_free(plans);
  launched.size = 0;
  wm_stream_fill(stream, wm_buffer_address(result), 0, sizeof out);
  expect_refusal(wm_attention(stream, &request, &launched), WM_INVALID_ARGUMENT, "launched", "no size of the result");
  wm_buffer_download(result, 0, out, sizeof out);
  expect(out[0] == 0, "attention that is refused was not launched");
  request.softcap = -1;
  expect_refusal(wm_attention(stream, &request, NULL), WM_INVALID_ARGUMENT, "softcap", "a negative softcap");
  wm_buffer_free(result);
  wm_buffer_free(memory);
}

typedef struct checked {
  wm_kernel* kernel;
  uint64_t address;
  int runs;
  wm_status answer;
} checked;

static wm_status run_nothing(void* user) {
  (void)user;
  return WM_OK;
}

static wm_status check_within(void* user) {
  wm_report** report = user;
  const wm_check_request request = {.size = sizeof request, .friendly = 1};
  return wm_check(device, &request, run_nothing, NULL, report);
}

static wm_status run_checked(void* user) {
  checked* what = user;
  const wm_argument argument = {&what->address, 8, WM_POINTER};
  const wm_launch_config config = {.size = sizeof config, .grid = {1, 1, 1}, .block = {64, 1, 1}};
  ++what->runs;
  return what->answer != WM_OK ? what->answer : wm_launch(stream, what->kernel, &config, &argument, 1);
}

static void the_judge(void) {
  wm_buffer* buffer = NULL;
  wm_buffer_create(device, 256, &buffer);
  expect(wm_buffer_name(buffer, "x") == WM_OK, "memory gets a name");
  checked what = {kernel_of("racing", 1), wm_buffer_address(buffer), 0, WM_OK};
  const wm_check_request request = {.size = sizeof request, .seeds = 2};
  wm_report* report = NULL;
  wm_report_info info = {.size = sizeof info};
  wm_finding finding = {.size = sizeof finding};
  wm_place place = {.size = sizeof place};
  expect(wm_check(device, &request, run_checked, &what, &report) == WM_OK, "a kernel is judged");
  expect(what.runs == 5, "once in the friendly mode, with two seeds in each of the others");
  expect(wm_report_info_of(report, &info) == WM_OK && info.runs == 5 && info.errors > 0 && info.instructions > 0,
         "it is wrong");
  expect(wm_report_finding(report, 0, &finding) == WM_OK && finding.severity == WM_ERROR && finding.places > 0 &&
             strstr(finding.text, "scale.cu:2") != NULL,
         "the finding has its line");
  expect(wm_report_place(report, 0, 0, &place) == WM_OK && strcmp(place.file, "scale.cu") == 0 && place.line == 2 &&
             strstr(place.what, "x") != NULL,
         "and its place, with the memory's name");
  expect_refusal(wm_report_finding(report, info.findings, &finding), WM_INVALID_ARGUMENT, "none of index",
                 "no such finding");
  wm_report_free(report);
  report = NULL;
  what.answer = WM_STOPPED;
  expect(wm_check(device, &request, run_checked, &what, &report) == WM_STOPPED && report == NULL && what.runs == 6,
         "a run ends the check");
  expect_refusal(wm_check(device, &request, run_nothing, NULL, &report), WM_INVALID_ARGUMENT, "launched nothing",
                 "a run that launches nothing gets no earlier run's report");
  expect_refusal(wm_check(device, &request, check_within, &report, &report), WM_UNSUPPORTED, "is being checked already",
                 "a check of a device that is being checked");
  what.answer = WM_OK;
  expect(wm_check(device, &request, run_checked, &what, &report) == WM_OK, "the device is free after each");
  wm_report_free(report);
  wm_kernel_free(what.kernel);
  wm_buffer_free(buffer);
}

static int notes = 0;
static void count_note(void* user, wm_log_severity severity, const char* text) {
  if (user == &notes && severity == WM_LOG_NOTE && text[0] != '\0') ++notes;
}

static void compiler_and_cache(void) {
  wm_compiler_info compiler = {.size = sizeof compiler};
  wm_cache_info cache = {.size = sizeof cache};
  size_t removed = 0;
  expect(wm_compiler_info_of(&compiler) == WM_OK && compiler.found && compiler.version[0] == '1', "the compiler");
  expect(wm_cache_info_of(&cache) == WM_OK && cache.entries > 0 && cache.bytes > 0 && cache.problem[0] == '\0',
         "the cache holds what was compiled");
  expect(wm_cache_clear(&removed) == WM_OK && removed > 0, "it is cleared");
  expect(wm_set_log(count_note, &notes) == WM_OK, "a log");
  wm_kernel_free(kernel_of("racing", 0));
  expect(notes > 0, "a compilation is told");
  expect(wm_set_log(NULL, NULL) == WM_OK, "and no more");
}

int main(void) {
  expect(strcmp(wm_version(), "") != 0 && strcmp(wm_status_name(WM_INVALID_ARGUMENT), "invalid argument") == 0 &&
             strcmp(wm_status_name(WM_INTERNAL), "internal error") == 0,
         "codes have names");
  if (wm_device_open("virtual:sm_90a:sms=4", &device) != WM_OK || wm_stream_create(device, &stream) != WM_OK) {
    printf("FAILED: no virtual device: %s\n", wm_error_text());
    return 1;
  }
  devices_and_memory();
  kernels_of_the_callers_own();
  tensor_maps();
  products_and_plans();
  odd_rows();
  attention();
  the_judge();
  compiler_and_cache();
  wm_stream_free(stream);
  wm_device_close(device);
  return failures > 0;
}
