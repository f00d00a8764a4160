// Findings of one run, each pair of instructions reported once.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "vgpu/machine/op.hpp"
#include "warpmill/check.hpp"

namespace wm::vgpu::check {

class Findings {
 public:
  // Whether this finding at these instructions is new; else it is counted.
  bool is_new(const std::string& name, u32 first_site, u32 second_site);
  void add(Finding finding) { all_.push_back(std::move(finding)); }
  bool has(const std::string& name) const;
  // Errors first, in the order they were found.
  std::vector<Finding> take();

 private:
  std::map<std::tuple<std::string, u32, u32>, std::size_t> seen_;
  std::vector<Finding> all_;
};

}  // namespace wm::vgpu::check
