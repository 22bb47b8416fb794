#include "mpi/mpi.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mpi/thrown.hpp"

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
    if (void* library = library_seen_from(object, path)) return library;
  }
  return nullptr;
}

// MPI_UNWEIGHTED is a constant in some MPIs and a variable of the library in others.
void load_unweighted(void* library, Mpi& table) {
#if defined(MPI_UNWEIGHTED)
  static_cast<void>(library);
  table.unweighted = MPI_UNWEIGHTED;
#else
  if (void* variable = dlsym(library, "MPI_UNWEIGHTED")) table.unweighted = *static_cast<int**>(variable);
  if (table.unweighted == nullptr) table.problem = table.library + " has no MPI_UNWEIGHTED";
#endif
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
#define QUADRILLE_LOAD(name)                                                          \
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
#undef QUADRILLE_LOAD_ALL_FORMS
#undef QUADRILLE_LOAD
#if defined(QUADRILLE_ABI_OPENMPI)
  load_later(library, table.opal_progress_register, "opal_progress_register");
  load_later(library, table.opal_progress_unregister, "opal_progress_unregister");
  load_later(library, table.ftmpi_enabled, "ompi_ftmpi_enabled");
#else
  load_later(library, table.Async_start, "PMPIX_Async_start");
  load_later(library, table.Request_is_complete, "MPIX_Request_is_complete");
#endif
  load_later(library, table.Query_cuda_support, "MPIX_Query_cuda_support");
  load_later(library, table.Query_rocm_support, "MPIX_Query_rocm_support");
  load_later(library, table.Query_hip_support, "MPIX_Query_hip_support");
  load_later(library, table.GPU_query_support, "MPIX_GPU_query_support");
  if (missing != nullptr) {
    table.problem = table.library + " has no " + missing + "; MPI 3.1 or newer is needed";
  }
}

#if defined(QUADRILLE_ABI_OPENMPI)
// The global scope comes first: a program may hold its own copy of the library's variable (a copy
// relocation), and then the library uses that copy too.
template <class Handle>
void load_handle(void* library, const char* symbol, Handle& handle, Mpi& table) {
  void* address = dlsym(RTLD_DEFAULT, symbol);
  if (address == nullptr) address = dlsym(library, symbol);
  handle = reinterpret_cast<Handle>(address);
  if (handle == nullptr && table.problem.empty()) {
    table.problem = table.library + " has no " + symbol + "; this Quadrille is built for Open MPI";
  }
}

void load_handles(void* library, Mpi& t) {
  load_handle(library, "ompi_mpi_comm_world", t.comm_world, t);
  load_handle(library, "ompi_mpi_comm_self", t.comm_self, t);
  load_handle(library, "ompi_mpi_comm_null", t.comm_null, t);
  load_handle(library, "ompi_mpi_group_null", t.group_null, t);
  load_handle(library, "ompi_mpi_info_null", t.info_null, t);
  load_handle(library, "ompi_request_null", t.request_null, t);
  load_handle(library, "ompi_mpi_errors_return", t.errors_return, t);
  load_handle(library, "ompi_mpi_errors_are_fatal", t.errors_are_fatal, t);
  load_handle(library, "ompi_mpi_datatype_null", t.datatype_null, t);
  load_handle(library, "ompi_mpi_byte", t.byte, t);
  load_handle(library, "ompi_mpi_packed", t.packed, t);
  load_handle(library, "ompi_mpi_char", t.char_type, t);
  load_handle(library, "ompi_mpi_int", t.int_type, t);
  load_handle(library, "ompi_mpi_uint64_t", t.uint64, t);
  load_handle(library, "ompi_mpi_double", t.double_type, t);
  load_handle(library, "ompi_mpi_op_max", t.op_max, t);
  load_handle(library, "ompi_mpi_op_min", t.op_min, t);
  load_handle(library, "ompi_mpi_op_sum", t.op_sum, t);
  load_handle(library, "ompi_mpi_op_bor", t.op_bor, t);
}

constexpr const char* usual_names[] = {"libmpi.so.40", "libmpi.so"};
#else
void load_handles(void* library, Mpi& t) {
  if (dlsym(library, "ompi_mpi_comm_world") != nullptr) {
    t.problem = t.library + " is Open MPI; this Quadrille is built for the ABI of MPICH";
    t.foreign = true;
  }
  t.comm_world = MPI_COMM_WORLD, t.comm_self = MPI_COMM_SELF, t.comm_null = MPI_COMM_NULL;
  t.group_null = MPI_GROUP_NULL, t.info_null = MPI_INFO_NULL;
  t.request_null = MPI_REQUEST_NULL, t.errors_return = MPI_ERRORS_RETURN;
  t.errors_are_fatal = MPI_ERRORS_ARE_FATAL;
  t.datatype_null = MPI_DATATYPE_NULL, t.byte = MPI_BYTE, t.packed = MPI_PACKED;
  t.char_type = MPI_CHAR, t.int_type = MPI_INT, t.uint64 = MPI_UINT64_T, t.double_type = MPI_DOUBLE;
  t.op_max = MPI_MAX, t.op_min = MPI_MIN, t.op_sum = MPI_SUM, t.op_bor = MPI_BOR;
}

constexpr const char* usual_names[] = {"libmpi.so.12", "libmpich.so.12", "libmpi.so"};
#endif

// MPICH's Alltoall(v, w) report it, as Intel MPI's Allgather(v) do.
void load_customs(Mpi& table) {
#if defined(QUADRILLE_ABI_MPICH)
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  if (table.Get_library_version(version, &length) != MPI_SUCCESS) return;
  table.device_lacks_gaps = std::strstr(version, "Intel") != nullptr;
  table.cuts_long_gathers = !table.device_lacks_gaps;
  table.cuts_long_neighbors = true;
#else
  static_cast<void>(table);
#endif
}

Mpi* make_table() {
  auto* table = new Mpi;  // lives until the process ends: MPI may be called from late destructors
  void* library = find_library(table->library);
  if (library == nullptr) {
    std::fputs("quadrille: no MPI library is loaded in this program; link it to an MPI\n", stderr);
    std::abort();
  }
  load_functions(library, *table);
  load_unweighted(library, *table);
  load_handles(library, *table);
  table->usable = table->problem.empty();
  if (table->usable) load_customs(*table);
  return table;
}

}  // namespace

namespace detail {

std::atomic<const Mpi*> mpi_table{nullptr};

const Mpi& find_mpi() {
  static const Mpi* table = [] {  // once, whatever number of threads come here
    const Mpi* made = nullptr;
    if (thrown_by([&] { made = make_table(); }) == MPI_SUCCESS) return made;
    // The doors could do nothing without.
    std::fputs("quadrille: there is no memory for what the MPI is called by\n", stderr);
    std::_Exit(EXIT_FAILURE);
  }();
  mpi_table.store(table, std::memory_order_release);
  return *table;
}

}  // namespace detail

std::string load_mpi(const std::string& name) {
  std::vector<std::string> names;
  if (!name.empty()) {
    names = {name};
  } else if (const char* given = std::getenv("QUADRILLE_LIBMPI"); given != nullptr && *given) {
    names = {given};
  } else {
    names.assign(std::begin(usual_names), std::end(usual_names));
  }
  std::string errors;
  for (const std::string& candidate : names) {
    if (dlopen(candidate.c_str(), RTLD_LAZY | RTLD_GLOBAL) != nullptr) return {};
    const char* error = dlerror();
    errors += (errors.empty() ? "" : "; ") + std::string(error != nullptr ? error : "unknown error");
  }
  return "no MPI library could be loaded (" + errors + "); name one in QUADRILLE_LIBMPI";
}

}  // namespace quadrille
