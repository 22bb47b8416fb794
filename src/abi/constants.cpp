// The handles, constants and layouts of the MPIs of one ABI, and the check that their functions are what the library
// takes them for. Compiled once for each ABI, with the mpi.h of an MPI that has it.
#include <dlfcn.h>
#include <quadrille.h>

#include <cstddef>

#include "abi/abi.hpp"
#include "abi/functions.hpp"
#include "abi/native.hpp"
#include "collective/signatures.hpp"

namespace quadrille::abi::QUADRILLE_ABI {
namespace {

// ---- Functions ----

// What the MPI declares a word as; void: it is none.
template <class Own>
inline constexpr auto native_of = std::type_identity<void>();
#define QUADRILLE_NATIVE_OF(Own, Native) \
  template <>                            \
  inline constexpr auto native_of<Own> = std::type_identity<Native>();
QUADRILLE_NATIVE_OF(MpiComm, MPI_Comm)
QUADRILLE_NATIVE_OF(MpiType, MPI_Datatype)
QUADRILLE_NATIVE_OF(MpiRequest, MPI_Request)
QUADRILLE_NATIVE_OF(MpiGroup, MPI_Group)
QUADRILLE_NATIVE_OF(MpiInfo, MPI_Info)
QUADRILLE_NATIVE_OF(MpiOp, MPI_Op)
QUADRILLE_NATIVE_OF(MpiErrhandler, MPI_Errhandler)
template <class Own>
inline constexpr bool is_array = false;
template <class Handle>
inline constexpr bool is_array<MpiHandles<Handle>> = true;

// A register that holds the one holds the other.
template <class Own, class Native>
constexpr bool is_like() {
  using Handle = typename decltype(native_of<Own>)::type;
  if constexpr (!std::is_void_v<Handle>) {
    return std::is_same_v<Native, Handle>;
  } else if constexpr (is_array<Own>) {
    return std::is_pointer_v<Native>;
  } else if constexpr (std::is_pointer_v<Own>) {
    return std::is_pointer_v<Native> &&
           std::is_function_v<std::remove_pointer_t<Own>> == std::is_function_v<std::remove_pointer_t<Native>>;
  } else {
    return std::is_same_v<Own, Native> || (std::is_integral_v<Native> && sizeof(Own) == sizeof(Native));
  }
}

template <class Own, class Native>
inline constexpr bool is_declared_so = false;
template <class Result, class... Own, class... Native>
inline constexpr bool is_declared_so<Result (*)(Own...), Result (*)(Native...)> =
    sizeof...(Own) == sizeof...(Native) && [] {
      if constexpr (sizeof...(Own) == sizeof...(Native)) return (true && ... && is_like<Own, Native>());
      return false;
    }();

#define QUADRILLE_CHECK(Name, ...)                                           \
  static_assert(is_declared_so<decltype(Mpi::Name), decltype(&PMPI_##Name)>, \
                "mpi/functions.hpp has other "                               \
                "parameters");
QUADRILLE_MPI_REQUIRED(QUADRILLE_CHECK)
#define QUADRILLE_CHECK_COLLECTIVE(collective, Name, ...) QUADRILLE_CHECK(Name) QUADRILLE_CHECK(I##collective)
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_CHECK_COLLECTIVE)

#define QUADRILLE_CHECK_OURS(Name, parameters) \
  static_assert(is_declared_so<int(*) parameters, decltype(&Quadrille_##Name)>, "quadrille.h has other parameters");
#define QUADRILLE_CHECK_FORMS(collective, Name, FORM, Displacement)           \
  QUADRILLE_BLOCKING_FUNCTION(QUADRILLE_CHECK_OURS, Name, FORM, Displacement) \
  QUADRILLE_OTHER_FORMS(QUADRILLE_CHECK_OURS, collective, Name, FORM, Displacement)
QUADRILLE_COLLECTIVES(QUADRILLE_CHECK_FORMS)
QUADRILLE_OTHER_FUNCTIONS(QUADRILLE_CHECK_OURS)

static_assert(QUADRILLE_VERSION == QUADRILLE_PROJECT_NUMBER);
static_assert(sizeof(MPI_Status) <= sizeof(MpiStatus) && sizeof(MPI_Aint) == sizeof(MpiAint) &&
              sizeof(MPI_Count) == sizeof(MpiCount) && MPI_SUCCESS == mpi_success && MPI_BOTTOM == nullptr);
static_assert(MPI_MAX_OBJECT_NAME <= most_mpi_text && MPI_MAX_INFO_KEY <= most_mpi_text &&
              MPI_MAX_INFO_VAL <= most_mpi_text && MPI_MAX_LIBRARY_VERSION_STRING <= most_mpi_text);

// ---- Handles ----

#if defined(QUADRILLE_ABI_OPENMPI)
// The global scope comes first: a program may hold its own copy of the library's variable (a copy
// relocation), and then the library uses that copy too.
template <class Handle>
void load_handle(void* library, const char* symbol, Handle& handle, Mpi& table) {
  void* address = dlsym(RTLD_DEFAULT, symbol);
  if (address == nullptr) address = dlsym(library, symbol);
  handle = word_of<Handle>(address);
  if (address == nullptr && table.problem.empty()) {
    table.problem = table.library + " has no " + symbol;
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
#else
void load_handles(void*, Mpi& t) {
  const auto set = [](auto& word, auto native) { word = word_of<std::remove_reference_t<decltype(word)>>(native); };
  set(t.comm_world, MPI_COMM_WORLD), set(t.comm_self, MPI_COMM_SELF), set(t.comm_null, MPI_COMM_NULL);
  set(t.group_null, MPI_GROUP_NULL), set(t.info_null, MPI_INFO_NULL), set(t.request_null, MPI_REQUEST_NULL);
  set(t.errors_return, MPI_ERRORS_RETURN), set(t.errors_are_fatal, MPI_ERRORS_ARE_FATAL);
  set(t.datatype_null, MPI_DATATYPE_NULL), set(t.byte, MPI_BYTE), set(t.packed, MPI_PACKED);
  set(t.char_type, MPI_CHAR), set(t.int_type, MPI_INT), set(t.uint64, MPI_UINT64_T), set(t.double_type, MPI_DOUBLE);
  set(t.op_max, MPI_MAX), set(t.op_min, MPI_MIN), set(t.op_sum, MPI_SUM), set(t.op_bor, MPI_BOR);
}
#endif

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

}  // namespace

void load(void* library, Mpi& table) {
  detail::handle_bytes = sizeof(MPI_Comm);
  detail::handle_mask = sizeof(MPI_Comm) == sizeof(std::uintptr_t) ? ~std::uintptr_t{0} : 0xffffffff;
  table.in_place = MPI_IN_PLACE;
  detail::in_place = MPI_IN_PLACE;
  table.status_ignore = reinterpret_cast<MpiStatus*>(MPI_STATUS_IGNORE);
  table.statuses_ignore = reinterpret_cast<MpiStatus*>(MPI_STATUSES_IGNORE);
  table.status = {offsetof(MPI_Status, MPI_SOURCE), offsetof(MPI_Status, MPI_TAG), offsetof(MPI_Status, MPI_ERROR),
                  sizeof(MPI_Status)};
#if defined(QUADRILLE_ABI_OPENMPI)
  table.status.count = offsetof(MPI_Status, _ucount);
#elif defined(QUADRILLE_ABI_STANDARD)
  table.status.count_is_hidden = true;
#else
  table.status.count = offsetof(MPI_Status, count_lo);
  table.status.count_in_halves = true;
  static_assert(offsetof(MPI_Status, count_hi_and_cancelled) == offsetof(MPI_Status, count_lo) + 4);
#endif
#define QUADRILLE_CONSTANT(name, NAME) table.name = MPI_##NAME;
  QUADRILLE_MPI_CONSTANTS(QUADRILLE_CONSTANT)
#undef QUADRILLE_CONSTANT
  load_unweighted(library, table);
  load_handles(library, table);
}

}  // namespace quadrille::abi::QUADRILLE_ABI
