// Counts on the command line.
#pragma once

#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "common/numbers.hpp"

namespace wm::cli {

// A count as it is written on the command line: digits, nothing else, within bounds. (CLI11's own conversion takes -1
// for the largest unsigned number, and 010 for 8.)
template <class T>
CLI::Validator whole_number(T least, T most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        const auto value = wm::number_from<T>(text);
        if (!value || *value < least || *value > most)
          return fmt::format("'{}' is no whole number from {} to {}", text, least, most);
        text = std::to_string(*value);
        return std::string();
      },
      "");
}
template <class T>
CLI::Option* add_count(CLI::App& app, const char* name, T& value, const char* what, T least, T most) {
  return app.add_option(name, value, what)->transform(whole_number(least, most))->capture_default_str();
}
// Of things of which one must do: rounds, launches.
inline CLI::Option* add_count(CLI::App& app, const char* name, int& value, const char* what, int most = 1000) {
  return add_count(app, name, value, what, 1, most);
}

}  // namespace wm::cli
