// The few functions of cuBLASLt that one product takes, declared here because its header is no part of the build.
#include "gemm/cublas_lt.hpp"

#include <array>

#include <dlfcn.h>
#include <fmt/format.h>

#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"

namespace wm::bench {
namespace {

// Values of cublasLt.h, cublas_api.h and library_types.h.
constexpr int r_32f = 0, r_16f = 2, r_8i = 3, r_32i = 10, r_16bf = 14, r_8f_e4m3 = 28, r_8f_e5m2 = 29;
constexpr int compute_32f = 68, compute_32i = 72, compute_32f_fast_tf32 = 77, transpose = 1;
constexpr int descriptor_trans_a = 3, descriptor_fast_accumulation = 25, preference_workspace = 1;
constexpr int invalid_value = 7, not_supported = 15;

int type_of(DType dtype) {
  switch (dtype) {
    case DType::bf16: return r_16bf;
    case DType::f16: return r_16f;
    case DType::e4m3: return r_8f_e4m3;
    case DType::e5m2: return r_8f_e5m2;
    case DType::i8: return r_8i;
    case DType::i32: return r_32i;
    case DType::f32:
    case DType::tf32: return r_32f;
    default: throw Error(ErrorCode::unsupported, fmt::format("cuBLASLt has no products of {}", name_of(dtype)));
  }
}
int compute_type_of(DType operands) {
  return operands == DType::i8 ? compute_32i : size_of(operands) == 4 ? compute_32f_fast_tf32 : compute_32f;
}

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
  Product(Library& library, const Shape& shape) : integer(shape.d == DType::i32), library_(library) {
    const auto rows = [](std::int64_t size) { return static_cast<std::uint64_t>(size); };
    const int operands = type_of(shape.operands), d = type_of(shape.d);
    const auto [m, n, k] = std::array{shape.m, shape.n, shape.k};
    // cuBLAS is column-major: D^T[n,m] = B[n,k] A^T[k,m], and B is found transposed.
    check(library.create_descriptor(&operation, compute_type_of(shape.operands), integer ? r_32i : r_32f),
          "cublasLtMatmulDescCreate");
    check(library.set_descriptor(operation, descriptor_trans_a, &transpose, sizeof(transpose)), "setting transA");
    if (operands == r_8f_e4m3 || operands == r_8f_e5m2) {
      const std::int8_t fast = 1;
      check(library.set_descriptor(operation, descriptor_fast_accumulation, &fast, sizeof(fast)),
            "setting fast accumulation");
    }
    check(library.create_layout(&left, operands, rows(k), rows(n), k), "cublasLtMatrixLayoutCreate");
    check(library.create_layout(&right, operands, rows(k), rows(m), k), "cublasLtMatrixLayoutCreate");
    check(library.create_layout(&out, d, rows(n), rows(m), n), "cublasLtMatrixLayoutCreate");
    void* preference = nullptr;
    check(library.create_preference(&preference), "cublasLtMatmulPreferenceCreate");
    const std::size_t workspace = workspace_bytes;
    library.set_preference(preference, preference_workspace, &workspace, sizeof(workspace));
    int count = 0;
    const int status =
        library.heuristic(library.handle, operation, left, right, out, out, preference, 1, &choice, &count);
    library.destroy_preference(preference);
    if (status != not_supported && status != invalid_value) check(status, "cublasLtMatmulAlgoGetHeuristic");
    found = status == 0 && count > 0;
  }
  ~Product() {
    for (void* layout : {left, right, out}) library_.destroy_layout(layout);
    library_.destroy_descriptor(operation);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  void *operation = nullptr, *left = nullptr, *right = nullptr, *out = nullptr;
  Heuristic choice{};
  bool integer;  // alpha and beta too
  bool found = false;

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

std::shared_ptr<CublasLt::Product> CublasLt::prepare(const Shape& shape) {
  auto product = std::make_shared<Product>(*library_, shape);
  return product->found ? product : nullptr;
}

void CublasLt::run(const Product& product, void* stream, const RandomProduct& problem, const Buffer& workspace) {
  const float alpha = 1, beta = 0;
  const std::int32_t integer_alpha = 1, integer_beta = 0;
  const auto pointer = [](const Buffer& buffer) { return reinterpret_cast<void*>(buffer.address()); };
  const auto factor = [&](const auto& integer, const auto& real) -> const void* {
    return product.integer ? static_cast<const void*>(&integer) : &real;
  };
  check(library_->matmul(library_->handle, product.operation, factor(integer_alpha, alpha), pointer(problem.b),
                         product.left, pointer(problem.a), product.right, factor(integer_beta, beta),
                         pointer(problem.d), product.out, pointer(problem.d), product.out, &product.choice.algorithm,
                         pointer(workspace), workspace_bytes, stream),
        "cublasLtMatmul");
}

}  // namespace wm::bench
