// The handles, constants and layouts of the MPIs of one ABI, and the check that their functions are what the library
// takes them for. Compiled once for each ABI, with the mpi.h of an MPI that has it.
#include <dlfcn.h>
#include <quadrille.h>

#include <cstddef>

#include "abi/abi.hpp"
#include "abi/functions.hpp"
#include "abi/native.hpp"
#include "collective/collective.hpp"

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

#define QUADRILLE_CHECK(Name, ...) \
  static_assert(is_declared_so<decltype(Mpi::Name), decltype(&PMPI_##Name)>, "mpi/mpi.hpp has other parameters");
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

// X(member, Open MPI's symbol, what follows "MPI_"). In a list that clang-format would spoil.
// clang-format off
#define QUADRILLE_HANDLES(X) \
  X(comm_world, ompi_mpi_comm_world, COMM_WORLD) X(comm_self, ompi_mpi_comm_self, COMM_SELF)                          \
  X(comm_null, ompi_mpi_comm_null, COMM_NULL) X(group_null, ompi_mpi_group_null, GROUP_NULL)                          \
  X(info_null, ompi_mpi_info_null, INFO_NULL) X(request_null, ompi_request_null, REQUEST_NULL)                        \
  X(errors_return, ompi_mpi_errors_return, ERRORS_RETURN)                                                             \
  X(errors_are_fatal, ompi_mpi_errors_are_fatal, ERRORS_ARE_FATAL)                                                    \
  X(datatype_null, ompi_mpi_datatype_null, DATATYPE_NULL) X(byte, ompi_mpi_byte, BYTE)                                \
  X(packed, ompi_mpi_packed, PACKED) X(char_type, ompi_mpi_char, CHAR) X(int_type, ompi_mpi_int, INT)                 \
  X(uint64, ompi_mpi_uint64_t, UINT64_T) X(double_type, ompi_mpi_double, DOUBLE) X(op_max, ompi_mpi_op_max, MAX)      \
  X(op_min, ompi_mpi_op_min, MIN) X(op_sum, ompi_mpi_op_sum, SUM) X(op_bor, ompi_mpi_op_bor, BOR)
// clang-format on

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

#define QUADRILLE_LOAD_HANDLE(name, symbol, NAME) load_handle(library, #symbol, t.name, t);
#else
#define QUADRILLE_LOAD_HANDLE(name, symbol, NAME) t.name = word_of<decltype(t.name)>(MPI_##NAME);
#endif
void load_handles([[maybe_unused]] void* library, Mpi& t) { QUADRILLE_HANDLES(QUADRILLE_LOAD_HANDLE) }

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
