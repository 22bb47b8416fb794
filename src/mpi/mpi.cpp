#include "mpi/mpi.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "abi/abi.hpp"

namespace quadrille {
namespace {

// The object that holds the code of this function: us.
const void* base_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// The MPI library that defines PMPI_Comm_rank, reached from `scope`; null if there is none, or if it
// would be found in ourselves.
void* library_seen_from(void* scope, std::string& path) {
  void* symbol = dlsym(scope, "PMPI_Comm_rank");
  Dl_info info;
  if (symbol == nullptr || dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  if (info.dli_fbase == base_of(reinterpret_cast<const void*>(&base_of))) return nullptr;
  path = info.dli_fname;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

int collect_path(dl_phdr_info* info, std::size_t, void* data) {
  if (info->dlpi_name != nullptr && std::strstr(info->dlpi_name, "mpi") != nullptr) {
    static_cast<std::vector<std::string>*>(data)->push_back(info->dlpi_name);
  }
  return 0;
}

// First the global scope, then every loaded object with "mpi" in its name: a Python extension module
// keeps its libmpi to itself.
void* find_library(std::string& path) {
  if (void* library = library_seen_from(RTLD_DEFAULT, path)) return library;
  std::vector<std::string> paths;
  dl_iterate_phdr(collect_path, &paths);
  for (const std::string& candidate : paths) {
    void* object = dlopen(candidate.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) continue;
    void* const library = library_seen_from(object, path);
    dlclose(object);  // which stays loaded: it was
    if (library != nullptr) return library;
  }
  return nullptr;
}

// The first of these functions that the library has.
template <class Function>
void load_later(void* library, Function& function, const char* name, const char* older = nullptr) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr && older != nullptr) symbol = dlsym(library, older);
  function = reinterpret_cast<Function>(symbol);
}

void load_functions(void* library, Mpi& table) {
  const char* missing = nullptr;
#define QUADRILLE_LOAD(name, ...)                                                     \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(library, "PMPI_" #name)); \
  if (table.name == nullptr) missing = "PMPI_" #name;
#define QUADRILLE_LOAD_ALL_FORMS(collective, Name, ...)                                  \
  QUADRILLE_LOAD(Name)                                                                   \
  QUADRILLE_LOAD(I##collective)                                                          \
  load_later(library, table.Name##_c, "PMPI_" #Name "_c");                               \
  load_later(library, table.Name##_init, "PMPI_" #Name "_init", "PMPIX_" #Name "_init"); \
  load_later(library, table.Name##_init_c, "PMPI_" #Name "_init_c");                     \
  load_later(library, table.I##collective##_c, "PMPI_I" #collective "_c");
  QUADRILLE_MPI_REQUIRED(QUADRILLE_LOAD)
  QUADRILLE_MPI_COLLECTIVES(QUADRILLE_LOAD_ALL_FORMS)
#define QUADRILLE_LOAD_OPTIONAL(name, result, parameters, symbol) load_later(library, table.name, #symbol);
  QUADRILLE_MPI_OPTIONAL(QUADRILLE_LOAD_OPTIONAL)
#undef QUADRILLE_LOAD_OPTIONAL
#undef QUADRILLE_LOAD_ALL_FORMS
#undef QUADRILLE_LOAD
  load_later(library, table.ftmpi_enabled, "ompi_ftmpi_enabled");
  if (missing != nullptr) {
    table.problem = table.library + " has no " + missing + "; MPI 3.1 or newer is needed";
  }
}

// Where the loader has put the library.
void find_range(Mpi& table) {
  const auto take = [](dl_phdr_info* info, std::size_t, void* data) {
    Mpi& found = *static_cast<Mpi*>(data);
    ElfW(Addr) size = 0;
    for (const ElfW(Phdr) & part : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
      if (part.p_type == PT_LOAD) size = std::max(size, part.p_vaddr + part.p_memsz);
    }
    found.begin = reinterpret_cast<const std::byte*>(info->dlpi_addr);
    found.end = found.begin + size;
    return found.holds(reinterpret_cast<const void*>(found.Alltoall)) ? 1 : 0;
  };
  if (dl_iterate_phdr(take, &table) == 0) table.begin = table.end = nullptr;
}

Mpi* make_table() {
  auto* table = new Mpi;  // lives until the process ends: MPI may be called from late destructors
  void* library = find_library(table->library);
  if (library == nullptr) {
    std::fputs("quadrille: no MPI library is loaded in this program; link it to an MPI\n", stderr);
    std::abort();
  }
  load_functions(library, *table);
  find_range(*table);
  abi::load_constants(library, *table);
  table->usable = table->problem.empty();
  if (table->usable) detail::load_customs(*table);
  return table;
}

bool wanted_in_the_environment() {
  for (const char* name : {"MPIR_CVAR_ENABLE_FT", "MPIR_PARAM_ENABLE_FT", "MPICH_ENABLE_FT", "I_MPI_FAULT_CONTINUE"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    for (const std::string_view yes : {"1", "on", "yes", "true", "enable", "t", "y"}) {
      if (yes == value) return true;
    }
  }
  return false;
}

}  // namespace

namespace detail {

std::atomic<const Mpi*> mpi_table{nullptr};

const Mpi& find_mpi() {
  static const Mpi* table = [] {  // once, whatever number of threads come here
    try {
      return static_cast<const Mpi*>(make_table());
    } catch (const std::exception&) {
    }
    // The doors could do nothing without.
    std::fputs("quadrille: there is no memory for what the MPI is called by\n", stderr);
    std::_Exit(EXIT_FAILURE);
  }();
  mpi_table.store(table, std::memory_order_release);
  return *table;
}

// MPICH's Alltoall(v, w) report what is too long, as Intel MPI's Allgather(v) do.
void load_customs(Mpi& table) {
  if (table.abi == Abi::openmpi) return;
  char version[most_mpi_text + 1] = {};
  int length = 0;
  if (table.Get_library_version(version, &length) != mpi_success) return;
  table.openmpi_by_standard = table.abi == Abi::standard && std::string_view(version).starts_with("Open MPI");
  if (table.is_openmpi()) return;
  table.device_lacks_gaps = std::strstr(version, "Intel") != nullptr;
  table.threads_block_collectives = table.device_lacks_gaps;
  table.cuts_long_gathers = !table.device_lacks_gaps;
  table.cuts_long_neighbors = true;
}

}  // namespace detail

bool is_of_the_mpi(const void* function) noexcept {
  if (const Mpi* const table = detail::mpi_table.load(std::memory_order_acquire)) return table->holds(function);
  try {
    std::string path;
    void* const library = find_library(path);
    if (library == nullptr) return false;
    const bool is_same = dlsym(library, "PMPI_Comm_rank") == function;
    dlclose(library);
    return is_same;
  } catch (const std::exception&) {
    return false;
  }
}

// Open MPI sets a variable from mpi_ft_enable, wherever that comes from; releases without fault tolerance do not have
// it. MPICH and Intel MPI take this from the environment alone.
bool tolerates_faults() {
  if (mpi().is_openmpi()) return mpi().ftmpi_enabled != nullptr && *mpi().ftmpi_enabled;
  static const bool tolerates = wanted_in_the_environment();
  return tolerates;
}

bool has_failed_rank(MpiComm comm, const std::vector<int>& among) {
  MpiGroup failed;
  if (mpi().Comm_get_failed(comm, &failed) != mpi_success) return false;
  int count = 0;
  mpi().Group_size(failed, &count);
  if (count > 0 && !among.empty()) {
    MpiGroup all;
    mpi().Comm_group(comm, &all);
    std::vector<int> there(among.size());
    mpi().Group_translate_ranks(all, static_cast<int>(among.size()), among.data(), failed, there.data());
    mpi().Group_free(&all);
    count = static_cast<int>(there.size() - static_cast<std::size_t>(std::ranges::count(there, mpi().undefined)));
  }
  mpi().Group_free(&failed);
  return count > 0;
}

}  // namespace quadrille
