#include "tool/launch/elf.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace quadrille::tools {
namespace {

// The object of type T at `offset`; nothing when it reaches past the end. Copied, because files do
// not promise alignment.
template <typename T>
std::optional<T> object_at(Bytes file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T object;
  std::memcpy(&object, file.data() + offset, sizeof(T));
  return object;
}

// The zero-terminated string at `offset`; nothing when its end is not inside the file.
std::optional<std::string> string_at(Bytes file, std::uint64_t offset) {
  if (offset >= file.size()) return std::nullopt;
  const char* first = reinterpret_cast<const char*>(file.data() + offset);
  const std::size_t length = strnlen(first, file.size() - offset);
  if (length == file.size() - offset) return std::nullopt;
  return std::string(first, length);
}

// Where the bytes of a virtual address lie in the file.
std::optional<std::uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t colon = std::min(path.find(':'), path.size());
    if (colon > 0) parts.emplace_back(path.substr(0, colon));
    path.remove_prefix(std::min(colon + 1, path.size()));
  }
  return parts;
}

std::string read_dynamic(Bytes file, const std::vector<Elf64_Phdr>& segments, const Elf64_Phdr& table, Elf& elf) {
  std::vector<Elf64_Dyn> entries;
  std::optional<std::uint64_t> strings;
  for (std::uint64_t i = 0; i < table.p_filesz / sizeof(Elf64_Dyn); ++i) {
    const auto entry = object_at<Elf64_Dyn>(file, table.p_offset + i * sizeof(Elf64_Dyn));
    if (!entry) return "the dynamic section reaches past the end of the file";
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_STRTAB) strings = offset_of(segments, entry->d_un.d_ptr);
    entries.push_back(*entry);
  }
  if (!strings) return "the dynamic section has no string table";
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) continue;
    // The sum may wrap around; string_at then sees a wrong but checked offset.
    const auto text = string_at(file, *strings + entry.d_un.d_val);
    if (!text) return "a name in the dynamic section lies outside the file";
    if (entry.d_tag == DT_NEEDED) elf.needed.push_back(*text);
    if (entry.d_tag == DT_RPATH) elf.rpath = split_path(*text);
    if (entry.d_tag == DT_RUNPATH) elf.runpath = split_path(*text);
  }
  return "";
}

// Is `fits(symbol, name)` true of any symbol that the file shares with others? False too if the file does not tell.
template <class Fits>
bool any_symbol(Bytes file, Fits fits) {
  if (Elf elf; !read_elf(file, elf).empty()) return false;
  const auto header = *object_at<Elf64_Ehdr>(file, 0);
  const auto section = [&](std::uint64_t index) {
    return object_at<Elf64_Shdr>(file, header.e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto symbols = section(i);
    if (!symbols) return false;
    if (symbols->sh_type != SHT_DYNSYM) continue;
    const auto strings = section(symbols->sh_link);
    for (std::uint64_t at = 0; strings && at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = object_at<Elf64_Sym>(file, symbols->sh_offset + at);
      if (!symbol) return false;
      const auto name = string_at(file, strings->sh_offset + symbol->st_name);
      if (name && fits(*symbol, *name)) return true;
    }
  }
  return false;
}

}  // namespace

bool is_elf(Bytes file) { return file.size() >= SELFMAG && std::memcmp(file.data(), ELFMAG, SELFMAG) == 0; }

std::string read_elf(Bytes file, Elf& elf) {
  elf = Elf{};
  if (!is_elf(file)) return "not an ELF file";
  const auto header = object_at<Elf64_Ehdr>(file, 0);
  if (!header) return "the ELF header is cut off";
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return "not a 64-bit little-endian ELF file";
  }
  elf.machine = header->e_machine;
  if (header->e_phnum > 0 && header->e_phentsize != sizeof(Elf64_Phdr)) {
    return fmt::format("program headers of {} bytes; {} are right", header->e_phentsize, sizeof(Elf64_Phdr));
  }
  std::vector<Elf64_Phdr> segments;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = object_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return "the program headers reach past the end of the file";
    segments.push_back(*segment);
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) {
      const auto name = string_at(file, segment.p_offset);
      if (!name) return "the name of the dynamic loader lies outside the file";
      elf.interpreter = *name;
    }
    if (segment.p_type == PT_DYNAMIC) {
      elf.dynamic = true;
      if (std::string error = read_dynamic(file, segments, segment, elf); !error.empty()) {
        return error;
      }
    }
  }
  return "";
}

bool defines_function(Bytes file, std::string_view name) {
  return any_symbol(file, [&](const Elf64_Sym& symbol, const std::string& its_name) {
    return symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && its_name == name;
  });
}

bool needs_any_function(Bytes file, std::span<const std::string_view> names) {
  return any_symbol(file, [&](const Elf64_Sym& symbol, const std::string& its_name) {
    return symbol.st_shndx == SHN_UNDEF && std::find(names.begin(), names.end(), its_name) != names.end();
  });
}

std::vector<CacheEntry> read_loader_cache(Bytes file) {
  // magic[20], entries: u32, size of strings: u32, flags and unused: 20 bytes; then the entries of
  // 24 bytes: flags, offset of soname, offset of path, 12 bytes that do not matter here. Offsets
  // count from the header. Older systems put a cache of the first format in front of it.
  constexpr std::string_view magic = "glibc-ld.so.cache1.1";
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const std::size_t start = text.find(magic);
  if (start == std::string_view::npos) return {};
  const Bytes cache = file.subspan(start);
  const auto count = object_at<std::uint32_t>(cache, magic.size());
  if (!count) return {};
  constexpr std::uint64_t header_size = 48, entry_size = 24;
  std::vector<CacheEntry> entries;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const std::uint64_t entry = header_size + i * entry_size;
    const auto soname = object_at<std::uint32_t>(cache, entry + 4);
    const auto path = object_at<std::uint32_t>(cache, entry + 8);
    if (!soname || !path) break;
    auto soname_text = string_at(cache, *soname);
    auto path_text = string_at(cache, *path);
    if (soname_text && path_text) entries.push_back({*soname_text, *path_text});
  }
  return entries;
}

std::vector<std::string> defined_functions(Bytes file, const std::function<bool(std::string_view)>& wanted) {
  std::vector<std::string> names;
  any_symbol(file, [&](const Elf64_Sym& symbol, const std::string& name) {
    const bool defined = symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    if (defined && wanted(name)) names.push_back(name);
    return false;
  });
  return names;
}

MappedFile::MappedFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data != MAP_FAILED) {
      data_ = static_cast<const std::byte*>(data);
      size_ = size;
    }
  }
  close(file);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace quadrille::tools
