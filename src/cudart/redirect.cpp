// What an object has of CUDA's names inside becomes jumps to ours, before its constructors run: nvcc's static runtime,
// which an unstripped program names in its symbol table; another libcudart.so; what makes machine code at run time, and
// hands out PTX instead. So it is with what dlopen brings, but there constructors have run: what nvcc made of a plugin
// registers its kernels, and is called again.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/files.hpp"
#include "cudart/entry_points.hpp"
#include "cudart/face.hpp"
#include "cudart/jit_link.hpp"

namespace wm::cudart {
namespace {

// A file's bytes, mapped.
class Mapped {
 public:
  explicit Mapped(const char* path) {
    const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (file < 0 || ::fstat(file, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(Elf64_Ehdr))) return;
    size_ = static_cast<std::size_t>(status.st_size);
    void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped != MAP_FAILED) data_ = static_cast<const char*>(mapped);
  }
  ~Mapped() {
    if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  // `count` objects at an offset; null where the file has not so many.
  template <class T>
  const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
    if (data_ == nullptr || offset > size_ || count > (size_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<const T*>(data_ + offset);
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

constexpr unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *[rip]; the address follows
constexpr std::size_t jump_bytes = sizeof(jump) + sizeof(std::uint64_t);

// Where a function is that does nothing but jump to another (CuTe DSL's runtime exports the static one so).
char* behind_jump(char* function) {
  constexpr unsigned char jump_near = 0xe9;
  if (static_cast<unsigned char>(*function) != jump_near) return function;
  std::int32_t distance = 0;
  std::memcpy(&distance, function + 1, sizeof(distance));
  return function + 1 + sizeof(distance) + distance;
}

// Puts a jump to `target` at the function's beginning.
bool redirect(char* function, const void* target) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(function) / page * page;
  const std::size_t bytes = reinterpret_cast<std::uintptr_t>(function) + jump_bytes - first;
  auto* const start = reinterpret_cast<void*>(first);
  if (::mprotect(start, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  std::memcpy(function, jump, sizeof(jump));
  std::memcpy(function + sizeof(jump), &target, sizeof(target));
  return ::mprotect(start, bytes, PROT_READ | PROT_EXEC) == 0;
}

// What answers in the place of a function of this name; null where it may stay.
const void* answer_to(const char* symbol) {
  const std::string_view name = symbol;
  if (name.starts_with("cuda") || name.starts_with("__cuda")) return own_function(symbol);
  // So CuTe DSL exports its static runtime and what it asks the driver for. One has arguments of its own, and stays.
  if (name == "_cudaLaunchKernelEx") return own_function("cudaLaunchKernelExC");
  if (name == "_cudaLaunchKernel") return nullptr;
  if (name.starts_with("_cu")) return own_function(symbol + 1);
  return jit_link_function(name);
}

// NVRTC makes PTX before machine code, and a module may be either: who asks for the second gets the first.
constexpr std::pair<std::string_view, std::string_view> taken_for[] = {{"nvrtcGetCUBIN", "nvrtcGetPTX"},
                                                                       {"nvrtcGetCUBINSize", "nvrtcGetPTXSize"}};

using Register = void (*)();

struct Redirected {
  bool any = false;                 // whether there were functions of CUDA's at all
  bool in_parts = false;            // kernels linked with each other (-rdc) register together, once
  std::vector<Register> registers;  // nvcc's constructors
};

// A function may be replaced if there is room for a jump, or if it is one, to somewhere with more room.
void redirect(const char* name, char* function, std::uint64_t bytes, const void* target, const std::string& who) {
  const std::string_view known(name);
  const bool thunk =
      known.starts_with("_cu") || known.find("nvJitLink") != known.npos;  // elsewhere it may be a tail call
  char* const place = thunk ? behind_jump(function) : function;
  if (place == function && bytes < jump_bytes) return;
  if (!redirect(place, target))
    tell(std::string(name) + " inside " + who + " cannot be redirected: rebuild it with nvcc -cudart shared");
}

// Redirects what a symbol table names.
void redirect_all(const Mapped& file, const Elf64_Shdr& table, const Elf64_Shdr& strings, std::uintptr_t base,
                  const std::string& who, Redirected& done) {
  const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
  const auto* const symbols = file.at<Elf64_Sym>(table.sh_offset, count);
  const char* const names = file.at<char>(strings.sh_offset, strings.sh_size);
  if (symbols == nullptr || names == nullptr) return;
  if (strings.sh_size == 0 || names[strings.sh_size - 1] != '\0') return;
  std::map<std::string_view, const Elf64_Sym*> compiler;  // NVRTC's functions
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Sym& symbol = symbols[i];
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings.sh_size)
      continue;
    const char* const text = names + symbol.st_name;
    const std::string_view name = text;
    if (name.find("__sti____cudaRegisterAll") != name.npos)
      done.registers.push_back(reinterpret_cast<Register>(base + symbol.st_value));
    done.in_parts |= name.find("__cudaRegisterLinkedBinary") != name.npos;
    if (name.starts_with("nvrtc")) compiler.emplace(name, &symbol);
    const void* const answer = answer_to(text);
    if (answer == nullptr) continue;
    done.any |= table.sh_type == SHT_SYMTAB;
    redirect(text, reinterpret_cast<char*>(base + symbol.st_value), symbol.st_size, answer, who);
  }
  for (const auto& [asked, answered] : taken_for)
    if (const auto from = compiler.find(asked), to = compiler.find(answered);
        from != compiler.end() && to != compiler.end())
      redirect(asked.data(), reinterpret_cast<char*>(base + from->second->st_value), from->second->st_size,
               reinterpret_cast<const void*>(base + to->second->st_value), who);
}

// Fat binaries without a way to register them.
bool has_fat_binary(const Mapped& file, const Elf64_Ehdr& head, const Elf64_Shdr* sections) {
  const char* const names = file.at<char>(sections[head.e_shstrndx].sh_offset, sections[head.e_shstrndx].sh_size);
  for (int i = 0; names != nullptr && i < head.e_shnum; ++i)
    if (sections[i].sh_name < sections[head.e_shstrndx].sh_size &&
        std::string_view(names + sections[i].sh_name) == ".nv_fatbin")
      return true;
  return false;
}

bool needs_shared_runtime(const dl_phdr_info& object) {
  const char* strings = nullptr;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < object.dlpi_phnum; ++i)
    if (object.dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(object.dlpi_addr + object.dlpi_phdr[i].p_vaddr);
  for (const auto* entry = dynamic; entry != nullptr && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  for (const auto* entry = dynamic; strings != nullptr && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED && std::string_view(strings + entry->d_un.d_val).starts_with("libcudart.so"))
      return true;
  return false;
}

// cuBLAS and its like: they are machine code, which nobody can rebuild, and are often there without being asked.
bool is_of_nvidia(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  constexpr std::string_view known[] = {"libcublas",        "libcudnn",    "libcufft",    "libcufile", "libcupti",
                                        "libcurand",        "libcusolver", "libcusparse", "libnccl",   "libnvJitLink",
                                        "libnvptxcompiler", "libnvrtc",    "libnvshmem"};
  return std::ranges::any_of(known, [&](std::string_view one) { return name.starts_with(one); });
}

// Another version's runtime: its structures are others.
bool is_another_runtime(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libcudart.so.") && !name.starts_with("libcudart.so.13");
}

Redirected redirect_object(const dl_phdr_info& object, const char* path, const std::string& who) {
  Redirected done;
  const Mapped file(path);
  const auto* const head = file.at<Elf64_Ehdr>(0);
  if (head == nullptr || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return done;
  const auto* const sections = file.at<Elf64_Shdr>(head->e_shoff, head->e_shnum);
  if (sections == nullptr) return done;
  for (int i = 0; i < head->e_shnum; ++i)
    if ((sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM) && sections[i].sh_link < head->e_shnum)
      redirect_all(file, sections[i], sections[sections[i].sh_link], object.dlpi_addr, who, done);
  if (!done.any && !is_of_nvidia(path) && has_fat_binary(file, *head, sections) && !needs_shared_runtime(object))
    tell(who +
         " has CUDA's static runtime inside and no symbol table that says where: rebuild it with nvcc -cudart shared, "
         "or do not strip it");
  return done;
}

// Objects by name and address: those that were looked at.
struct Seen {
  std::mutex mutex;
  std::set<std::pair<std::string, std::uintptr_t>> objects;
  std::vector<Register> late;  // what brings their kernels to us
  bool started = false;        // what comes now comes by dlopen
};
Seen& seen() {
  static auto* const all = new Seen;
  return *all;
}

// Our two libraries are what all others are led to.
bool is_ours(const std::string& name) {
  static const std::string folder = [] {
    Dl_info info{};
    const std::string own = dladdr(reinterpret_cast<void*>(&is_ours), &info) != 0 ? info.dli_fname : "";
    return own.substr(0, own.rfind('/') + 1);
  }();
  return !folder.empty() && name.starts_with(folder) &&
         (name.find("/libcudart.so") != name.npos || name.find("/libcuda.so") != name.npos);
}

int visit(dl_phdr_info* object, std::size_t, void*) {
  const std::string name = object->dlpi_name != nullptr ? object->dlpi_name : "";
  if (is_ours(name) || name.starts_with(not_redirected) || !seen().objects.emplace(name, object->dlpi_addr).second)
    return 0;
  const std::string who = name.empty() ? "the program" : name;
  if (is_another_runtime(name)) {
    tell(who + " is not of CUDA 13, and is left alone: what is built for it fails here; build it with CUDA 13");
    return 0;
  }
  const Redirected done = redirect_object(*object, name.empty() ? "/proc/self/exe" : name.c_str(), who);
  if (!done.any || !seen().started) return 0;
  if (done.in_parts && is_of_nvidia(name)) return 0;
  if (done.in_parts)
    tell(who +
         " has CUDA's static runtime inside, and kernels in parts (-rdc), which dlopen has registered already: "
         "rebuild it with nvcc -cudart shared");
  else
    seen().late.insert(seen().late.end(), done.registers.begin(), done.registers.end());
  return 0;
}

// The executable's constructors come after those of the libraries.
__attribute__((constructor)) void redirect_static_runtimes() {
  dl_iterate_phdr(&visit, nullptr);
  seen().started = true;
}

}  // namespace
}  // namespace wm::cudart

// Called after every dlopen (opened.cpp).
WARPMILL_FACE void warpmill_redirect_opened() {
  using namespace wm::cudart;
  std::vector<Register> late;
  {
    const std::lock_guard lock(seen().mutex);
    dl_iterate_phdr(&visit, nullptr);
    late.swap(seen().late);
  }
  for (const Register one : late) one();
}
