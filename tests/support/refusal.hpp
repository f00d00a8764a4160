// What a refused call said.
#pragma once

#include <string>

#include "warpmill/error.hpp"

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const wm::Error& error) {
    return error.what();
  }
  return "(not refused)";
}
