// Counts are checked by our own reading of numbers.
#include "options.hpp"

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "commands/commands.hpp"
#include "common/numbers.hpp"

namespace wm::cli {

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
CLI::Option* add_count(CLI::App& app, const char* name, int& value, const char* what, int most) {
  return add_count(app, name, value, what, 1, most);
}

template CLI::Validator whole_number(int, int);
template CLI::Validator whole_number(std::int64_t, std::int64_t);
template CLI::Validator whole_number(std::uint64_t, std::uint64_t);
template CLI::Option* add_count(CLI::App&, const char*, int&, const char*, int, int);
template CLI::Option* add_count(CLI::App&, const char*, std::int64_t&, const char*, std::int64_t, std::int64_t);
template CLI::Option* add_count(CLI::App&, const char*, std::uint64_t&, const char*, std::uint64_t, std::uint64_t);

void add_attention(CLI::App& app, AttentionOptions& attention) {
  app.add_option("--dtype", attention.dtype, "bf16, f16 or e4m3")->capture_default_str();
  app.add_option("--out-dtype", attention.out_dtype, "of e4m3's output: bf16, f16 or e4m3")->capture_default_str();
  app.add_option("--scales", attention.scales, "of e4m3: none, tensor (one for each) or heads (for batch and kv head)")
      ->capture_default_str();
  app.add_option("--kv-heads", attention.kv_heads, "heads of K and V; without it as many as of Q")
      ->transform(whole_number<std::int64_t>(1, 1 << 20));
  app.add_option("--kv-length", attention.kv_length, "keys; without it as many as queries")
      ->transform(whole_number<std::int64_t>(0, 0x7fffffff));
  app.add_option("--value-dim", attention.value_dim, "of V and the output; without it the head dim")
      ->transform(whole_number(8, 256));
  app.add_flag("--causal", attention.causal, "a query sees no key to the right of its own");
  app.add_option("--window", attention.window,
                 "LEFT or LEFT,RIGHT: so many keys beside a query's own; RIGHT is 0 where it is not given");
  app.add_option("--align", attention.align, "which key is a query's own: counted from the ends or the beginnings")
      ->capture_default_str();
  app.add_option("--softcap", attention.softcap, "scores become softcap * tanh(score / softcap)")
      ->check(CLI::PositiveNumber);
  app.add_flag("--alibi", attention.alibi, "scores lose their head's slope times the distance of key and query");
  app.add_flag("--sinks", attention.sinks, "each row's sum has one more logit, its head's");
  app.add_option("--documents", attention.documents,
                 "a mask by expressions: queries see keys of their own document, of so many with random lengths")
      ->transform(whole_number(1, 1 << 20));
  app.add_option("--scale", attention.scale, "of scores; without it 1 / sqrt(head dim)");
  app.add_option("--layout", attention.layout, "in memory: heads-first, positions-first or packed (one QKV)")
      ->capture_default_str();
  app.add_option("--lengths", attention.lengths,
                 "sequences one behind the other, in the place of batch and length: 100,2000 or 100/300,2000 "
                 "(queries/keys)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--key-lengths", attention.key_lengths, "of each batch, in device memory: so many keys count")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("!--no-lse", attention.lse, "without the logarithms of the sums");
}
void add_attention_shape(CLI::App& app, AttentionOptions& attention) {
  app.add_option("shape", attention.shape, "BATCHxHEADSxLENGTHxDIM, for example 4x16x4096x128")->required();
  add_attention(app, attention);
}

}  // namespace wm::cli
