// What a kernel may call: printf, malloc and free, memcpy, functions that call themselves.
#include "report.cuh"

__global__ void greet(int number, const char* word) {
  if (threadIdx.x == 2)
    printf("thread %d of block %d: %s %5.2f %x %lld %c%%\n", threadIdx.x, blockIdx.x, word, 3.14159, number, 1ll << 40,
           'z');
}

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void recurse(int n, int* out) { *out = fibonacci(n); }

struct Node {
  int value;
  Node* next;
};

__global__ void chain(int length, int* out) {
  Node* first = nullptr;
  for (int i = 1; i <= length; ++i) {
    Node* const node = static_cast<Node*>(malloc(sizeof(Node)));
    node->value = i;
    node->next = first;
    first = node;
  }
  int sum = 0;
  while (first != nullptr) {
    Node* const next = first->next;
    sum += first->value;
    free(first);
    first = next;
  }
  *out = sum;
}

__device__ char word_on_device[] = "word";

int main() {
  int* out;
  char* word;
  good(cudaMalloc(&out, sizeof(int)));
  good(cudaGetSymbolAddress(reinterpret_cast<void**>(&word), word_on_device));
  std::printf("before\n");
  std::fflush(stdout);
  for (int i = 0; i != 3; ++i) {
    greet<<<1, 32>>>(100 + i, word);
    good(cudaDeviceSynchronize());
  }
  std::printf("after\n");
  recurse<<<1, 1>>>(12, out);
  say_device("fibonacci", out, 1);
  chain<<<1, 1>>>(100, out);
  say_device("chain", out, 1);
  good(cudaFree(out));
}
