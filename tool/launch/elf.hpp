// Reads what the dynamic loader needs from an ELF file: its dependencies and search paths.
// Files come from users: each offset is checked against the file before it is followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::tools {

using Bytes = std::span<const std::byte>;

struct Elf {
  std::uint16_t machine = 0;         // EM_X86_64, EM_AARCH64, ...
  bool dynamic = false;              // false: a static program; nothing can be preloaded
  std::string interpreter;           // the dynamic loader, of programs
  std::vector<std::string> needed;   // DT_NEEDED, in order
  std::vector<std::string> rpath;    // DT_RPATH, split at ':'
  std::vector<std::string> runpath;  // DT_RUNPATH, split at ':'
};

bool is_elf(Bytes file);

// Reads a 64-bit little-endian ELF file. Returns an empty string and fills `elf`, or one line that
// says what is wrong with the file.
std::string read_elf(Bytes file, Elf& elf);

// Does the ELF file define the function `name` for others to use? False too if the file does not tell.
bool defines_function(Bytes file, std::string_view name);
// Does the ELF file take any function of these names from others? False too if the file does not tell.
bool needs_any_function(Bytes file, std::span<const std::string_view> names);

// The entries of /etc/ld.so.cache (format glibc-ld.so.cache1.1): pairs of soname and path.
// A damaged cache gives the entries that are readable.
struct CacheEntry {
  std::string soname;
  std::string path;
};
std::vector<CacheEntry> read_loader_cache(Bytes file);

// The functions that the file defines for others, of those that are wanted by name.
std::vector<std::string> defined_functions(Bytes file, const std::function<bool(std::string_view name)>& wanted);

// A file mapped for reading; empty when it cannot be read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  Bytes bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace quadrille::tools
