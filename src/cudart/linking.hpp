// Linking at run time, as the driver's linker and nvJitLink do it: of PTX, into PTX.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wm::cudart {

// What is linked, as both interfaces name it.
enum class LinkedKind { ptx, fat_binary, machine_code, intermediate, library };

class Linking {
 public:
  // Both throw Error in words: there is no PTX in it, it cannot be read, a name is defined twice.
  void add(LinkedKind kind, std::string_view bytes, const std::string& name);
  void complete();

  const std::string& image() const { return image_; }  // PTX, once it is complete

 private:
  struct Text {
    std::string name, ptx;
  };
  std::vector<Text> texts_;
  std::string image_;
};

}  // namespace wm::cudart
