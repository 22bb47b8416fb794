#include "abi/abi.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

namespace quadrille::abi {
namespace {

std::string_view soname_in(void* library) {
  const link_map* object = nullptr;
  const bool has_name = library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &object) == 0;
  return has_name ? soname_of(*object) : "";
}

constexpr std::string_view standard_name = "libmpi_abi.so";

Abi abi_of(void* library) {
  if (soname_in(library).starts_with(standard_name)) return Abi::standard;
  return dlsym(library, "ompi_mpi_comm_world") != nullptr ? Abi::openmpi : Abi::mpich;
}

// Each version of the MPI standard's ABI has a name of its own. A library without one has the first.
bool is_of_version_1(std::string_view soname) {
  const std::string_view version = soname.substr(standard_name.size());
  return version.empty() || version == ".1" || version.starts_with(".1.");
}

using Load = void (*)(void* library, Mpi& table);

// Null: no header of it was there when this was built.
Load load_of(Abi abi) {
  constexpr Load loads[] = {QUADRILLE_LOADS};
  return loads[static_cast<std::size_t>(abi)];
}

}  // namespace

std::string_view soname_of(const link_map& object) {
  std::uintptr_t strings = 0, at = 0;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SONAME) at = entry->d_un.d_val;
  }
  if (strings == 0 || at == 0) return {};
  if (strings < object.l_addr) strings += object.l_addr;  // glibc leaves a read-only section as it is
  return reinterpret_cast<const char*>(strings + at);
}

void load_constants(void* library, Mpi& table) {
  table.abi = abi_of(library);
  const bool is_known_version = table.abi != Abi::standard || is_of_version_1(soname_in(library));
  const Load load = is_known_version ? load_of(table.abi) : nullptr;
  if (load != nullptr) return load(library, table);
  table.foreign = true;
  if (is_known_version) {
    constexpr const char* names[] = {"Open MPI", "MPICH", "the MPI standard"};
    table.problem = table.library + " has the ABI of " + names[static_cast<std::size_t>(table.abi)] +
                    ", and this Quadrille was built without a header of that";
  } else {
    table.problem = table.library + " is not version 1 of the MPI standard's ABI, the only one that Quadrille serves";
  }
  // Each error is one, and no address means "in place".
#define QUADRILLE_CONSTANT(name, NAME) table.name = 16;
  QUADRILLE_MPI_CONSTANTS(QUADRILLE_CONSTANT)
#undef QUADRILLE_CONSTANT
  table.in_place = &table;
  if (table.abi == Abi::mpich) detail::handle_bytes = sizeof(int), detail::handle_mask = 0xffffffff;
}

std::vector<std::string> usual_names() {
  std::vector<std::string> names;
  for (const char* name : {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1"}) {
    if (is_known(name)) names.emplace_back(name);
  }
  names.emplace_back("libmpi.so");
  return names;
}

bool is_known(std::string_view soname) {
  if (!soname.starts_with("libmpi")) return false;
  if (soname == "libmpi_abi.so.1") return load_of(Abi::standard) != nullptr;
  return (soname.ends_with(".so.40") && load_of(Abi::openmpi) != nullptr) ||
         (soname.ends_with(".so.12") && load_of(Abi::mpich) != nullptr);
}

int version() { return QUADRILLE_PROJECT_NUMBER; }
std::string version_text() { return QUADRILLE_PROJECT_VERSION; }

}  // namespace quadrille::abi
