// Options that several commands have: counts, and what an attention is.
#pragma once

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace wm::cli {

// A count as it is written on the command line: digits, nothing else, within bounds. (CLI11's own conversion takes -1
// for the largest unsigned number, and 010 for 8.) Of int, std::int64_t and std::uint64_t.
template <class T>
CLI::Validator whole_number(T least, T most);
template <class T>
CLI::Option* add_count(CLI::App& app, const char* name, T& value, const char* what, T least, T most);
// Of things of which one must do: rounds, launches.
CLI::Option* add_count(CLI::App& app, const char* name, int& value, const char* what, int most = 1000);

struct AttentionOptions;

// What an attention is: all its commands have these.
void add_attention(CLI::App& app, AttentionOptions& attention);
void add_attention_shape(CLI::App& app, AttentionOptions& attention);

inline constexpr const char* attention_plan_help =
    "a plan by hand: queries of a tile by keys of a step, stages (q2: of Q too), strips of the output, as in "
    "'128x176 s2 o1', and packed4 (queries of each of several heads in a tile), pair (two blocks bring each other "
    "keys), "
    "noturns or early after them or not";

}  // namespace wm::cli
