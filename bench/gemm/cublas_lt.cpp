// The few functions of cuBLASLt that one product takes, declared here because its header is no part of the build.
#include "gemm/cublas_lt.hpp"

#include <array>

#include <dlfcn.h>
#include <fmt/format.h>

#include "warpmill/error.hpp"

namespace wm::bench {
namespace {

// Values of cublasLt.h, cublas_api.h and library_types.h.
constexpr int r_32f = 0, r_16bf = 14, compute_32f = 68, transpose = 1;
constexpr int descriptor_trans_a = 3, preference_workspace = 1;

struct Heuristic {
  std::array<std::uint64_t, 8> algorithm;
  std::size_t workspace;
  int state;
  float waves;
  std::array<int, 4> reserved;
};

void check(int status, const char* what) {
  if (status != 0) throw Error(ErrorCode::execution, fmt::format("cuBLASLt: {} answered status {}", what, status));
}

}  // namespace

struct CublasLt::Library {
  void* file = nullptr;
  void* handle = nullptr;

  int (*create)(void**);
  int (*destroy)(void*);
  std::size_t (*get_version)();
  int (*create_descriptor)(void**, int, int);
  int (*destroy_descriptor)(void*);
  int (*set_descriptor)(void*, int, const void*, std::size_t);
  int (*create_layout)(void**, int, std::uint64_t, std::uint64_t, std::int64_t);
  int (*destroy_layout)(void*);
  int (*create_preference)(void**);
  int (*destroy_preference)(void*);
  int (*set_preference)(void*, int, const void*, std::size_t);
  int (*heuristic)(void*, void*, void*, void*, void*, void*, void*, int, Heuristic*, int*);
  int (*matmul)(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
                void*, void*, const void*, void*, std::size_t, void*);

  template <class F>
  void resolve(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(file, name));
    if (!function) throw Error(ErrorCode::not_found, fmt::format("cuBLASLt has no function {}", name));
  }
};

class CublasLt::Product {
 public:
  Product(Library& library, std::int64_t m, std::int64_t n, std::int64_t k) : library_(library) {
    const auto rows = [](std::int64_t size) { return static_cast<std::uint64_t>(size); };
    // cuBLAS is column-major: D^T[n,m] = B[n,k] A^T[k,m], and B is found transposed.
    check(library.create_descriptor(&operation, compute_32f, r_32f), "cublasLtMatmulDescCreate");
    check(library.set_descriptor(operation, descriptor_trans_a, &transpose, sizeof(transpose)), "setting transA");
    check(library.create_layout(&left, r_16bf, rows(k), rows(n), k), "cublasLtMatrixLayoutCreate");
    check(library.create_layout(&right, r_16bf, rows(k), rows(m), k), "cublasLtMatrixLayoutCreate");
    check(library.create_layout(&out, r_16bf, rows(n), rows(m), n), "cublasLtMatrixLayoutCreate");
    void* preference = nullptr;
    check(library.create_preference(&preference), "cublasLtMatmulPreferenceCreate");
    const std::size_t workspace = workspace_bytes;
    library.set_preference(preference, preference_workspace, &workspace, sizeof(workspace));
    int found = 0;
    const int status =
        library.heuristic(library.handle, operation, left, right, out, out, preference, 1, &choice, &found);
    library.destroy_preference(preference);
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    if (found == 0) throw Error(ErrorCode::unsupported, fmt::format("cuBLASLt has no algorithm for {}x{}x{}", m, n, k));
  }
  ~Product() {
    for (void* layout : {left, right, out}) library_.destroy_layout(layout);
    library_.destroy_descriptor(operation);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void *operation = nullptr, *left = nullptr, *right = nullptr, *out = nullptr;
  Heuristic choice{};

 private:
  Library& library_;
};

CublasLt::CublasLt() : library_(std::make_unique<Library>()) {
  Library& l = *library_;
  for (const char* name :
       {"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"})
    if ((l.file = dlopen(name, RTLD_NOW | RTLD_LOCAL))) break;
  if (!l.file)
    throw Error(ErrorCode::not_found,
                "cuBLASLt was not found (libcublasLt.so.13 on the loader's path or in "
                "/usr/local/cuda/lib64); put its folder into LD_LIBRARY_PATH");
  l.resolve(l.create, "cublasLtCreate");
  l.resolve(l.destroy, "cublasLtDestroy");
  l.resolve(l.get_version, "cublasLtGetVersion");
  l.resolve(l.create_descriptor, "cublasLtMatmulDescCreate");
  l.resolve(l.destroy_descriptor, "cublasLtMatmulDescDestroy");
  l.resolve(l.set_descriptor, "cublasLtMatmulDescSetAttribute");
  l.resolve(l.create_layout, "cublasLtMatrixLayoutCreate");
  l.resolve(l.destroy_layout, "cublasLtMatrixLayoutDestroy");
  l.resolve(l.create_preference, "cublasLtMatmulPreferenceCreate");
  l.resolve(l.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  l.resolve(l.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  l.resolve(l.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  l.resolve(l.matmul, "cublasLtMatmul");
  check(l.create(&l.handle), "cublasLtCreate");
}

CublasLt::~CublasLt() {
  if (library_->handle) library_->destroy(library_->handle);
}

std::string CublasLt::version() const {
  const std::size_t version = library_->get_version();
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::shared_ptr<CublasLt::Product> CublasLt::prepare(std::int64_t m, std::int64_t n, std::int64_t k) {
  return std::make_shared<Product>(*library_, m, n, k);
}

void CublasLt::run(const Product& product, void* stream, std::uint64_t a, std::uint64_t b, std::uint64_t d,
                   std::uint64_t workspace) {
  const float alpha = 1, beta = 0;
  const auto pointer = [](std::uint64_t address) { return reinterpret_cast<void*>(address); };
  check(library_->matmul(library_->handle, product.operation, &alpha, pointer(b), product.left, pointer(a),
                         product.right, &beta, pointer(d), product.out, pointer(d), product.out,
                         &product.choice.algorithm, pointer(workspace), workspace_bytes, stream),
        "cublasLtMatmul");
}

}  // namespace wm::bench
