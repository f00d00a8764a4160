// What the commands print. Texts come from files, compilers and drivers: nothing in them reaches the terminal as a
// command.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "warpmill/error.hpp"

namespace wm::cli {

void say(const std::string& text);       // on standard output
void complain(const std::string& text);  // on standard error
// With a line end; in ASCII, and whole whatever bytes a name has.
void say_json(const nlohmann::json& object);
// {"error": {"code": ..., "message": ...}}
void say_json(const Error& error);

}  // namespace wm::cli
