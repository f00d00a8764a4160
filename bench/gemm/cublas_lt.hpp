// cuBLASLt, opened at run time: the peer that GEMMs are measured against.
#pragma once

#include <memory>
#include <string>

#include "gemm/random_product.hpp"

namespace wm::bench {

// RandomProduct's products by the first choice of cuBLASLt's heuristic with 32 MB of workspace; 8-bit floats with fast
// accumulation. Throws not_found, with what was tried, where there is no cuBLASLt.
class CublasLt {
 public:
  CublasLt();
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  std::string version() const;

  class Product;
  // Chosen once, run often; nothing where cuBLASLt does not serve the shape. `workspace` has workspace_bytes.
  std::shared_ptr<Product> prepare(const Shape& shape);
  void run(const Product& product, void* stream, const RandomProduct& problem, const Buffer& workspace);
  static constexpr std::size_t workspace_bytes = 32u << 20;

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace wm::bench
