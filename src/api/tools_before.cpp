#include "api/tools_before.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/core.h>
#include <link.h>
#include <sys/auxv.h>

#include "api/next_names.hpp"
#include "collective/signatures.hpp"

namespace quadrille::api {

namespace {

#define QUADRILLE_NAMES(collective, Name, ...) "MPI_" #Name, "MPI_I" #collective,
constexpr const char* names[] = {QUADRILLE_MPI_COLLECTIVES(QUADRILLE_NAMES)};
#undef QUADRILLE_NAMES

// The object whose function of this name a program calls, or null if it is ours.
const char* definer_of(const char* name) {
  Dl_info info{}, own{};
  void* entry = nullptr;
  void* const function = dlsym(RTLD_DEFAULT, name);
  const bool known = function != nullptr && dladdr1(function, &info, &entry, RTLD_DL_SYMENT) != 0 &&
                     dladdr(reinterpret_cast<const void*>(&definer_of), &own) != 0;
  if (!known || info.dli_fbase == own.dli_fbase) return nullptr;
  // A program that takes the function's address has a symbol for that, which defines nothing.
  const auto* const symbol = static_cast<const ElfW(Sym)*>(entry);
  return symbol != nullptr && symbol->st_shndx != SHN_UNDEF ? info.dli_fname : nullptr;
}

// As dladdr() names the program.
std::string program_name() {
  const auto* const header = reinterpret_cast<const void*>(getauxval(AT_PHDR));
  Dl_info info{};
  return dladdr(header, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

}  // namespace

// Where the PMPI_ names are ours, too, tools come to us.
std::string tools_before() {
  if (serves_pmpi_names()) return {};
  std::string first, file;
  int others = 0;
  for (const char* name : names) {
    const char* const definer = definer_of(name);
    if (definer == nullptr) continue;
    if (!first.empty()) ++others;
    if (first.empty()) first = name, file = definer;
  }
  if (first.empty()) return {};
  const bool is_program = file == program_name();
  const std::string more = others == 0 ? "" : fmt::format(" and {} other function{}", others, others == 1 ? "" : "s");
  const std::string behind = fmt::format("load it behind Quadrille: LD_PRELOAD={} quadrille run ...", file);
  const std::string way_out = is_program ? "link that tool as a shared library" : behind;
  return fmt::format("{} defines {}{}, and calls the MPI without Quadrille; {}", file, first, more, way_out);
}

}  // namespace quadrille::api
