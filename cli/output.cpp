// Printing.
#include "output.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "case/printable.hpp"
#include "progress.hpp"

namespace wm::cli {
namespace {

void print(std::FILE* stream, const std::string& text) {
  clear_progress_line();
  fmt::print(stream, "{}", cases::printable(text));
}

}  // namespace

void say(const std::string& text) { print(stdout, text); }
void complain(const std::string& text) { print(stderr, text); }

void say_json(const nlohmann::json& object) {
  using nlohmann::json;
  print(stdout, object.dump(2, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace) + "\n");
}

void say_json(const Error& error) {
  say_json(nlohmann::json{{"error", {{"code", name_of(error.code())}, {"message", error.what()}}}});
}

}  // namespace wm::cli
