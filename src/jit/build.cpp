// One compilation with NVRTC.
#include "jit/build.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/log.hpp"
#include "jit/line_table.hpp"
#include "jit/log.hpp"
#include "warpmill/error.hpp"

namespace wm::jit {
namespace {

// NVRTC looks for quoted headers beside the source, which for a plain name would be the working directory of whatever
// program this library runs in. So the source lies in a folder that is not there, and a #line gives it its name.
constexpr const char* nowhere = "/nonexistent/warpmill.cu";

bool has_line_break_or_null(std::string_view text) {
  return text.find_first_of(std::string_view("\n\r\0", 3)) != text.npos;
}

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
}

// An nvrtcProgram and what came of it.
class Compilation {
 public:
  Compilation(const Nvrtc& compiler, const Request& request, const std::vector<std::string>& extra_flags)
      : compiler_(compiler) {
    const std::string text = fmt::format("#line 1 \"{}\"\n{}", escaped(request.source.name), request.source.text);
    std::vector<std::string> header_texts;  // the embedded views need not end with a null
    std::vector<const char*> texts, names, flags;
    header_texts.reserve(request.headers.size());
    for (const auto& [name, header] : request.headers) {
      names.push_back(name.c_str());
      texts.push_back(header_texts.emplace_back(header).c_str());
    }
    for (const auto* list : {&request.flags, &extra_flags})
      for (const std::string& flag : *list) flags.push_back(flag.c_str());

    require(compiler.create_program(&program_, text.c_str(), nowhere, static_cast<int>(names.size()), texts.data(),
                                    names.data()),
            "create a program");
    for (const std::string& expression : request.options.name_expressions)
      require(compiler.add_name_expression(program_, expression.c_str()), "take a name expression");
    result = compiler.compile_program(program_, static_cast<int>(flags.size()), flags.data());
    log = text_of(compiler.log_size, compiler.log);
    // What NVRTC joins from the front end and from ptxas is separated by nulls.
    std::erase(log, '\0');
  }
  ~Compilation() { compiler_.destroy_program(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  std::string ptx() const {
    std::string text = text_of(compiler_.ptx_size, compiler_.ptx);
    text.erase(std::min(text.find('\0'), text.size()));
    return text;
  }
  std::vector<std::byte> cubin() const {
    const std::string bytes = text_of(compiler_.cubin_size, compiler_.cubin);
    const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
    return {begin, begin + bytes.size()};
  }
  std::string lowered(const std::string& expression) const {
    const char* name = nullptr;
    require(compiler_.lowered_name(program_, expression.c_str(), &name),
            fmt::format("give the lowered name of '{}'", expression));
    return name;
  }

  nvrtcResult result = NVRTC_SUCCESS;
  std::string log;

 private:
  std::string text_of(nvrtcResult (*size_of)(nvrtcProgram, std::size_t*),
                      nvrtcResult (*get)(nvrtcProgram, char*)) const {
    std::size_t size = 0;
    require(size_of(program_, &size), "tell a size");
    std::string text(size, '\0');
    if (size) require(get(program_, text.data()), "hand over its output");
    return text;
  }
  void require(nvrtcResult status, const std::string& action) const {
    if (status == NVRTC_SUCCESS) return;
    throw Error(status == NVRTC_ERROR_OUT_OF_MEMORY ? ErrorCode::out_of_memory : ErrorCode::compile,
                fmt::format("NVRTC could not {}: {}", action, compiler_.error_string(status)));
  }

  const Nvrtc& compiler_;
  nvrtcProgram program_ = nullptr;
};

std::string architecture_flag(const Options& options) {
  // A line table is for PTX alone; a virtual architecture saves ptxas's time.
  const std::string name = options.arch.name();
  return options.line_table ? "-arch=compute_" + name.substr(3) : "-arch=" + name;
}

std::string_view text_of_file(const Request& request, std::string_view file) {
  if (file == request.source.name) return request.source.text;
  const auto header = request.headers.find(std::string(file));
  return header == request.headers.end() ? std::string_view() : header->second;
}

// ptxas speaks of lines of the PTX, which nobody wrote. Adds the line itself and the source line it came from.
std::string with_source_lines(const Nvrtc& compiler, const Request& request, const std::string& messages,
                              const std::string& ptx) {
  constexpr std::string_view ptx_place = "ptxas application ptx input, line ";
  if (messages.find(ptx_place) == messages.npos || request.options.line_table) return messages;
  Options options = request.options;
  options.line_table = true;
  const Compilation with_table(compiler, request, {architecture_flag(options), "-lineinfo"});
  const std::string table = with_names_as_given(with_table.ptx(), options.include_folders);

  std::string result;
  std::string_view rest = messages;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view message = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::size_t line = 0;
    if (message.starts_with(ptx_place))
      std::from_chars(message.data() + ptx_place.size(), message.data() + message.size(), line);
    const SourcePlace place = source_place(ptx, line, table);
    if (line == 0 || place.line == 0) {
      result += fmt::format("{}\n", message);
      continue;
    }
    const std::size_t words = message.find("; ");
    result += fmt::format("{}({}): {}\n  PTX: {}\n", place.file, place.line,
                          message.substr(words == message.npos ? 0 : words + 2), line_of(ptx, line));
    if (const std::string_view text = text_of_file(request, place.file); !text.empty())
      result += fmt::format("  {}\n", line_of(text, place.line));
  }
  return result;
}

[[noreturn]] void refuse(const Nvrtc& compiler, const Request& request, const Compilation& compilation) {
  std::string messages = read_log(compilation.log).messages;
  if (const std::size_t at = messages.find(nowhere); at != messages.npos)
    messages.replace(at, std::string_view(nowhere).size(), request.source.name);
  messages = with_source_lines(compiler, request, messages, compilation.ptx());
  if (messages.empty()) messages = compiler.error_string(compilation.result);
  throw Error(ErrorCode::compile, fmt::format("{} does not compile for {}:\n{}", request.source.name,
                                              request.options.arch.name(), messages));
}

// "-std", "--std=c++17" and "-std=c++17" name std.
bool names_option(std::string_view flag, std::string_view name) {
  flag.remove_prefix(std::min(flag.find_first_not_of('-'), flag.size()));
  return flag.starts_with(name) && (flag.size() == name.size() || flag[name.size()] == '=');
}

// Flags that would contradict the request, or read files that the cache would not know of.
void check_flags(const Options& options) {
  const auto invalid = [](const std::string& message) { throw Error(ErrorCode::invalid_argument, message); };
  for (const std::string& flag : options.flags) {
    if (flag.size() < 2 || flag[0] != '-' || has_line_break_or_null(flag))
      invalid(fmt::format("'{}' is no flag of the compiler's: one begins with - and holds no line break", flag));
    if (flag.starts_with("-I") || names_option(flag, "include-path"))
      invalid(fmt::format("'{}' is no flag here: folders have a place of their own, the include folders", flag));
    if (flag.starts_with("-D") || flag.starts_with("-U") || names_option(flag, "define-macro"))
      invalid(fmt::format("'{}' is no flag here: macros have a place of their own, the defines", flag));
    for (const std::string_view own : {"arch", "gpu-architecture", "lineinfo", "generate-line-info", "G",
                                       "device-debug", "default-device", "include", "pre-include", "dlto", "rdc", "dc",
                                       "relocatable-device-code", "pch", "create-pch", "use-pch", "optix-ir"})
      if (names_option(flag, own))
        invalid(
            fmt::format("'{}' is no flag here: the architecture, what is emitted and the files that are read "
                        "follow from the request",
                        flag));
  }
}

}  // namespace

void check_request(const Source& source, const Options& options, const Nvrtc& compiler) {
  const auto invalid = [](const std::string& message) { throw Error(ErrorCode::invalid_argument, message); };
  if (source.name.empty()) invalid("the source has no name; errors and line tables are given under it");
  if (has_line_break_or_null(source.name)) invalid("the name of the source holds a line break or a null");
  if (source.text.find('\0') != std::string::npos)
    invalid(fmt::format("the text of {} holds a null character", source.name));
  for (const auto& [name, value] : options.defines) {
    if (!is_identifier(name)) invalid(fmt::format("'{}' in the defines of {} is no identifier", name, source.name));
    if (has_line_break_or_null(value))
      invalid(fmt::format("the value of the define '{}' of {} holds a line break or a null", name, source.name));
  }
  for (const std::string& expression : options.name_expressions)
    if (expression.empty() || has_line_break_or_null(expression))
      invalid(fmt::format("a name expression of {} is empty or holds a line break or a null", source.name));

  check_flags(options);

  const Architecture& arch = options.arch;
  const auto& known = compiler.architectures;
  const bool variant = (!arch.specific || arch.number() >= 90) && (!arch.family || arch.number() >= 100);
  if (std::find(known.begin(), known.end(), arch.number()) == known.end() || !variant)
    throw Error(ErrorCode::unsupported,
                fmt::format("NVRTC {}.{} does not compile for {}; it knows sm_{}, and sm_90a and its like from 90 on",
                            compiler.major, compiler.minor, arch.name(), fmt::join(known, ", sm_")));
}

std::vector<std::string> defines_of(const Options& options) {
  // -default-device: functions of a plan, shared by host and device, carry no __device__.
  std::vector<std::string> flags = options.flags;
  if (std::none_of(flags.begin(), flags.end(), [](const std::string& flag) { return names_option(flag, "std"); }))
    flags.push_back("-std=c++20");
  flags.push_back("-default-device");
  for (const auto& [name, value] : options.defines) flags.push_back(fmt::format("-D{}={}", name, value));
  return flags;
}

std::vector<std::string> flags_of(const Options& options, const Nvrtc& compiler) {
  std::vector<std::string> flags = defines_of(options);
  for (const auto* folders : {&options.include_folders, &compiler.include_folders})
    for (const auto& folder : *folders) flags.push_back("-I" + folder.string());
  return flags;
}

Output build(const Nvrtc& compiler, const Request& request) {
  const auto start = std::chrono::steady_clock::now();
  const Options& options = request.options;
  const Compilation compilation(compiler, request,
                                {architecture_flag(options), options.line_table ? "-lineinfo" : "--ptxas-options=-v"});
  if (compilation.result != NVRTC_SUCCESS) refuse(compiler, request, compilation);

  Output output;
  output.ptx = compilation.ptx();
  output.log = compilation.log;
  if (options.line_table)
    output.ptx = with_names_as_given(output.ptx, options.include_folders);
  else
    output.cubin = compilation.cubin();
  for (const std::string& expression : options.name_expressions)
    output.lowered[expression] = compilation.lowered(expression);
  log(LogSeverity::note, fmt::format("{} compiled for {} in {:.2f} s", request.source.name, options.arch.name(),
                                     std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()));
  return output;
}

}  // namespace wm::jit
