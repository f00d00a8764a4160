// A caller's own expression, compiled into a kernel.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace wm::ops {

// Why `text` cannot be one C++ expression, however it goes on: brackets that do not match, or a semicolon outside of
// them. Empty where nothing is wrong; whether it compiles is the compiler's to say.
std::string_view expression_problem(std::string_view text);

// What in `text` does more than compute a value: "column 7: it assigns". Empty where nothing does.
std::string side_effect(std::string_view text);

// The text with the compiler's lines numbered by its columns, each name of an array on a new line: what the virtual GPU
// says of a read in line n of `file` is then about column n.
std::string by_columns(std::string_view text, std::string_view file);
// The first error that the compiler's log has of `file`: its words and its column. Empty where there is none.
std::string error_by_column(std::string_view log, std::string_view file);

}  // namespace wm::ops
