// cuBLASLt, opened at run time: the peer that GEMMs are measured against.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace wm::bench {

// D[m,n] = A[m,k] B[n,k]^T in bf16, row-major and dense, by the first choice of cuBLASLt's heuristic with 32 MB of
// workspace. Throws not_found, with what was tried, where there is no cuBLASLt.
class CublasLt {
 public:
  CublasLt();
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  std::string version() const;

  class Product;
  // Chosen once, run often. `workspace` is device memory of workspace_bytes.
  std::shared_ptr<Product> prepare(std::int64_t m, std::int64_t n, std::int64_t k);
  void run(const Product& product, void* stream, std::uint64_t a, std::uint64_t b, std::uint64_t d,
           std::uint64_t workspace);
  static constexpr std::size_t workspace_bytes = 32u << 20;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace wm::bench
