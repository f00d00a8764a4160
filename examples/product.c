/* y = relu(x w^T + bias) from C: memory, a product and its result, on the best device there is. */
#include <stdio.h>
#include <stdlib.h>
#include <warpmill/warpmill.h>

static void succeed(wm_status status) {
  if (status == WM_OK) return;
  fprintf(stderr, "%s: %s\n", wm_status_name(status), wm_error_text());
  exit(1);
}

enum { m = 64, n = 128, k = 32 };

int main(void) {
  static float x[m * k], w[n * k], bias[n], y[m * n];
  for (int i = 0; i < m * k; ++i) x[i] = 2;
  for (int i = 0; i < n * k; ++i) w[i] = 0.5f;
  for (int i = 0; i < n; ++i) bias[i] = (float)(i - 64);

  wm_device* device;
  wm_stream* stream;
  wm_buffer *x_memory, *w_memory, *bias_memory, *y_memory;
  succeed(wm_device_open(NULL, &device)); /* the first GPU, or the virtual one */
  succeed(wm_stream_create(device, &stream));
  succeed(wm_buffer_create(device, sizeof x, &x_memory));
  succeed(wm_buffer_create(device, sizeof w, &w_memory));
  succeed(wm_buffer_create(device, sizeof bias, &bias_memory));
  succeed(wm_buffer_create(device, sizeof y, &y_memory));
  succeed(wm_buffer_upload(x_memory, 0, x, sizeof x));
  succeed(wm_buffer_upload(w_memory, 0, w, sizeof w));
  succeed(wm_buffer_upload(bias_memory, 0, bias, sizeof bias));

  const int64_t x_shape[] = {m, k}, w_shape[] = {k, n}, w_strides[] = {1, k}, bias_shape[] = {n}, y_shape[] = {m, n};
  const wm_view a = {sizeof a, wm_buffer_address(x_memory), WM_F32, 2, x_shape, NULL};
  const wm_view b = {sizeof b, wm_buffer_address(w_memory), WM_F32, 2, w_shape, w_strides}; /* w, transposed */
  const wm_view column_bias = {sizeof column_bias, wm_buffer_address(bias_memory), WM_F32, 1, bias_shape, NULL};
  const wm_view d = {sizeof d, wm_buffer_address(y_memory), WM_F32, 2, y_shape, NULL};
  const wm_gemm_request product = {
      .size = sizeof product, .a = &a, .b = &b, .d = &d, .column_bias = &column_bias, .activation = "relu"};
  wm_launched launched = {.size = sizeof launched};
  succeed(wm_gemm(stream, &product, &launched));
  printf("plan %s, %u blocks\n", launched.plan, launched.blocks);
  succeed(wm_stream_synchronize(stream));
  succeed(wm_buffer_download(y_memory, 0, y, sizeof y));

  int wrong = 0;
  for (int i = 0; i < m * n; ++i) {
    const float sum = 2 * 0.5f * k + bias[i % n];
    wrong += y[i] != (sum > 0 ? sum : 0);
  }
  printf("%d of %d elements are wrong\n", wrong, m * n);

  wm_buffer_free(y_memory);
  wm_buffer_free(bias_memory);
  wm_buffer_free(w_memory);
  wm_buffer_free(x_memory);
  wm_stream_free(stream);
  wm_device_close(device);
  return wrong > 0;
}
