#include "tool/launch/libraries.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <set>
#include <string_view>

#include "tool/launch/elf.hpp"

namespace quadrille::tools {
namespace {

// An object that waits to be read, with the DT_RPATH entries of those that needed it.
struct Pending {
  std::string path;
  std::vector<std::string> inherited;
  bool of_mpi = false;  // what an MPI needs tells nothing more about the program
};

bool readable(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && access(path.c_str(), R_OK) == 0;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string real_path(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

// $ORIGIN is the directory of the object that has the path: of a program by its real path, as the kernel has it, and of
// a library by the path it was found at, which may be a link to elsewhere. $LIB has two common values.
void add_expanded(const std::vector<std::string>& entries, const std::string& origin,
                  std::vector<std::string>& directories) {
  for (const std::string& entry : entries) {
    std::string text = replace_all(entry, "${ORIGIN}", origin);
    text = replace_all(text, "$ORIGIN", origin);
    if (text.find("$LIB") == std::string::npos && text.find("${LIB}") == std::string::npos) {
      directories.push_back(text);
      continue;
    }
    for (std::string_view lib : {"lib64", "lib"}) {
      directories.push_back(replace_all(replace_all(text, "${LIB}", lib), "$LIB", lib));
    }
  }
}

std::string first_in(const std::vector<std::string>& directories, const std::string& soname) {
  for (const std::string& directory : directories) {
    std::string path = directory + "/" + soname;
    if (readable(path)) return path;
  }
  return "";
}

// The loader's order: DT_RPATH (own and inherited; only without a DT_RUNPATH), LD_LIBRARY_PATH,
// DT_RUNPATH, the cache, the standard directories.
std::string locate(const std::string& soname, const std::vector<std::string>& rpath,
                   const std::vector<std::string>& runpath, const LoaderPaths& paths) {
  if (soname.find('/') != std::string::npos) return readable(soname) ? soname : "";
  if (std::string path = first_in(rpath, soname); !path.empty()) return path;
  if (std::string path = first_in(paths.library_path, soname); !path.empty()) return path;
  if (std::string path = first_in(runpath, soname); !path.empty()) return path;
  for (const auto& [name, path] : paths.cache) {
    if (name == soname && readable(path)) return path;
  }
  return first_in(paths.standard, soname);
}

// Notes what a dependency says about the MPI in use.
void note(const std::string& soname, MpiUse& use) {
  const Abi abi = abi_of_library(soname.substr(soname.rfind('/') + 1));
  if (abi == Abi::none || abi == use.abi) return;
  if (use.abi == Abi::none) {
    use.abi = abi;
    use.library = soname;
  } else if (use.also == Abi::none) {
    use.also = abi;
    use.also_library = soname;
  }
}

// Of a program, or a library that it needs.
bool may_load_an_mpi(Bytes file) {
  constexpr std::string_view names[] = {"dlopen", "dlmopen", "execl",   "execle",  "execlp",      "execv",
                                        "execve", "execvp",  "execvpe", "fexecve", "posix_spawn", "posix_spawnp"};
  return needs_any_function(file, names);
}

}  // namespace

LoaderPaths loader_paths() {
  LoaderPaths paths;
  if (const char* text = std::getenv("LD_LIBRARY_PATH")) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of(":;"), rest.size());
      if (end > 0) paths.library_path.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  const MappedFile cache("/etc/ld.so.cache");
  for (CacheEntry& entry : read_loader_cache(cache.bytes())) {
    paths.cache.emplace_back(std::move(entry.soname), std::move(entry.path));
  }
  paths.standard = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
  for (const char* triplet : {"x86_64-linux-gnu", "aarch64-linux-gnu"}) {
    paths.standard.push_back(std::string("/lib/") + triplet);
    paths.standard.push_back(std::string("/usr/lib/") + triplet);
  }
  return paths;
}

bool is_system_library(const std::string& path) {
  constexpr std::string_view folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
  const auto holds_it = [&](std::string_view folder) { return path.starts_with(folder); };
  return std::any_of(std::begin(folders), std::end(folders), holds_it);
}

std::string find_library(const std::string& soname, const LoaderPaths& paths) { return locate(soname, {}, {}, paths); }

MpiUse mpi_use(const std::string& path, const LoaderPaths& paths) {
  MpiUse use;
  {
    const MappedFile file(path);
    if (!is_elf(file.bytes())) return use;
    Elf elf;
    const bool good = read_elf(file.bytes(), elf).empty();
    use.kind = good && elf.dynamic ? FileKind::program : FileKind::fixed;
    if (use.kind == FileKind::fixed) return use;
  }
  std::set<std::string> seen;
  std::deque<Pending> queue = {{real_path(path), {}, false}};
  while (!queue.empty()) {
    const Pending object = std::move(queue.front());
    queue.pop_front();
    const MappedFile file(object.path);
    Elf elf;
    if (!read_elf(file.bytes(), elf).empty()) continue;
    const bool is_program = seen.empty();
    if (!object.of_mpi && !use.loads_later && (is_program || !is_system_library(object.path)))
      use.loads_later = may_load_an_mpi(file.bytes());
    const std::string origin = std::filesystem::path(object.path).parent_path().string();
    std::vector<std::string> rpath, runpath;
    add_expanded(elf.rpath, origin, rpath);
    add_expanded(elf.runpath, origin, runpath);
    rpath.insert(rpath.end(), object.inherited.begin(), object.inherited.end());
    const std::vector<std::string> own_rpath = elf.runpath.empty() ? rpath : std::vector<std::string>{};
    if (seen.empty()) use.rpath = own_rpath;
    for (const std::string& soname : elf.needed) {
      if (!seen.insert(soname).second) continue;
      use.of_openmpi = use.of_openmpi || soname.starts_with("libopen-pal.so");
      if (!object.of_mpi) note(soname, use);
      const std::string found = locate(soname, own_rpath, runpath, paths);
      if (found.empty()) continue;
      const bool is_mpi = abi_of_library(soname) != Abi::none;
      if (is_mpi) use.files.push_back(found);
      if (!is_mpi && !object.of_mpi) use.others.push_back(found);
      queue.push_back({found, rpath, is_mpi || object.of_mpi});
    }
  }
  return use;
}

}  // namespace quadrille::tools
