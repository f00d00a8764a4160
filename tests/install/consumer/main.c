/* A C program that uses an installed Warpmill: opens the best device, and prints its name. */
#include <stdio.h>
#include <warpmill/warpmill.h>

int main(void) {
  wm_device* device;
  wm_device_info info = {.size = sizeof info};
  if (wm_device_open(NULL, &device) != WM_OK || wm_device_info_of(device, &info) != WM_OK) {
    printf("%s\n", wm_error_text());
    return 1;
  }
  printf("right on %s\n", info.name);
  wm_device_close(device);
  return 0;
}
