// Attentions as the command line gives them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/random_attention.hpp"
#include "commands/commands.hpp"
#include "plan/attention_shape.hpp"

namespace wm::cli {

bench::AttentionCase case_of(const AttentionOptions& options);
// Nothing where there is no text; what is no plan of this attention is refused, before any memory is filled.
std::optional<AttentionPlan> plan_of(std::string_view text, const bench::AttentionCase& attention);
// A kind and a shape as the library finds them with dense operands, without any memory of their size.
AttentionKind kind_of(const bench::AttentionCase& attention);
plan::AttentionShape shape_of(const bench::AttentionCase& attention);

std::vector<std::string> words_of(const AttentionOptions& options);  // as the command line has them, without the shape
std::string text_of(const bench::AttentionCase& attention);          // "4 x 16 x 4096 x 128 bf16, causal"

}  // namespace wm::cli
