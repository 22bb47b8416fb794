// What each collective is, said once: what distinguishes one from another is read from its row in this table, and its
// functions are declared by its line in the lists behind the table.
//
// To add a collective: an enumerator, a row, and a line in a list; docs/design.md says what else.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace quadrille {

enum class Collective : std::uint8_t {
  alltoall,
  alltoallv,
  alltoallw,
  allgather,
  allgatherv,
  exchange,  // the sparse exchange, Quadrille_Exchange
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_allgatherw,  // of the paper
};

// With whom a rank exchanges blocks.
enum class Partners : std::uint8_t {
  all,        // every rank
  named,      // those whom the call names
  neighbors,  // those in the topology of the communicator
};

// How the blocks of a side are given.
enum class Form : std::uint8_t {
  one_count,     // one count for all; they lie one after the other
  arrays,        // a count and a displacement each, in extents of their one datatype
  typed_arrays,  // and a datatype each; displacements are in bytes
  other,         // not as MPI does
};

// No default: a new form must say it.
constexpr bool has_arrays(Form form) {
  switch (form) {
    case Form::one_count:
    case Form::other:
      return false;
    case Form::arrays:
    case Form::typed_arrays:
      return true;
  }
  return false;
}

// What the displacements in bytes of a form with int counts are.
enum class Places : std::uint8_t { none, ints, addresses };  // addresses: MPI_Aint

struct CollectiveRow {
  Collective collective;
  std::string_view name;
  Partners partners;
  Form send, recv;
  bool gathers;  // every rank sends one block, the same to all to whom it sends
  bool sized;    // by its arguments every rank knows the size of the largest block of all
  bool of_mpi;   // MPI has it
  Places places = Places::none;
};

// Whether a table has the row of each enumerator at its place: `of` is the member that names it.
template <class Rows, class Of>
constexpr bool rows_are_in_order(const Rows& rows, Of of) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (static_cast<std::size_t>(rows[r].*of) != r) return false;
  }
  return true;
}

// Those among all ranks come first, in the order of the enumerators.
inline constexpr auto collectives = [] {
  using enum Collective;
  using enum Partners;
  using enum Form;
  constexpr bool gathers = true, sized = true, of_mpi = true, no = false;
  return std::to_array<CollectiveRow>({
      {alltoall, "alltoall", all, one_count, one_count, no, sized, of_mpi},
      {alltoallv, "alltoallv", all, arrays, arrays, no, no, of_mpi},
      {alltoallw, "alltoallw", all, typed_arrays, typed_arrays, no, no, of_mpi, Places::ints},
      {allgather, "allgather", all, one_count, one_count, gathers, sized, of_mpi},
      {allgatherv, "allgatherv", all, one_count, arrays, gathers, sized, of_mpi},
      {exchange, "exchange", named, other, other, no, no, no},
      {neighbor_alltoall, "neighbor_alltoall", neighbors, one_count, one_count, no, sized, of_mpi},
      {neighbor_alltoallv, "neighbor_alltoallv", neighbors, arrays, arrays, no, no, of_mpi},
      {neighbor_alltoallw, "neighbor_alltoallw", neighbors, typed_arrays, typed_arrays, no, no, of_mpi,
       Places::addresses},
      {neighbor_allgather, "neighbor_allgather", neighbors, one_count, one_count, gathers, sized, of_mpi},
      {neighbor_allgatherv, "neighbor_allgatherv", neighbors, one_count, arrays, gathers, no, of_mpi},
      {neighbor_allgatherw, "neighbor_allgatherw", neighbors, one_count, typed_arrays, gathers, no, no,
       Places::addresses},
  });
}();
inline constexpr int collective_count = static_cast<int>(collectives.size());

constexpr const CollectiveRow& row_of(Collective c) { return collectives[static_cast<std::size_t>(c)]; }

constexpr std::string_view name_of(Collective c) { return row_of(c).name; }
// Every rank has a block for, or from, every rank.
constexpr bool is_dense(Collective c) { return row_of(c).partners == Partners::all; }
constexpr bool is_neighbor(Collective c) { return row_of(c).partners == Partners::neighbors; }
constexpr bool is_allgather(Collective c) { return row_of(c).gathers; }
// Every rank has a block of its own for every rank. What serves all of these names them so, and not by what they are
// not.
constexpr bool is_all_to_all(Collective c) { return is_dense(c) && !is_allgather(c); }
constexpr bool is_sized(Collective c) { return row_of(c).sized; }
// One count for all blocks, on both sides.
constexpr bool is_regular(Collective c) {
  return row_of(c).send == Form::one_count && row_of(c).recv == Form::one_count;
}
// Each received block has a datatype of its own.
constexpr bool is_typed(Collective c) { return row_of(c).recv == Form::typed_arrays; }

// Those that have a property, in the order of the table.
template <class Property>
std::vector<Collective> those(Property has) {
  std::vector<Collective> list;
  for (const CollectiveRow& row : collectives) {
    if (has(row.collective)) list.push_back(row.collective);
  }
  return list;
}

inline constexpr int dense_collective_count =
    static_cast<int>(std::ranges::count(collectives, Partners::all, &CollectiveRow::partners));

// [collective] among all ranks: a value for those in which ranks have blocks of their own for all, and one for those
// that gather.
template <class Value>
constexpr std::array<Value, dense_collective_count> for_dense(const Value& exchanges, const Value& gathers) {
  std::array<Value, dense_collective_count> values{};
  for (std::size_t c = 0; c < values.size(); ++c) values[c] = collectives[c].gathers ? gathers : exchanges;
  return values;
}

// The collective that moves blocks between the same ranks in the same way, with one count for all of them: what is
// measured of it holds for `c`, too. `c` itself if there is none.
constexpr Collective regular_of(Collective c) {
  for (const CollectiveRow& row : collectives) {
    const bool alike = row.partners == row_of(c).partners && row.gathers == row_of(c).gathers;
    if (alike && is_regular(row.collective)) return row.collective;
  }
  return c;
}

static_assert(rows_are_in_order(collectives, &CollectiveRow::collective));
static_assert(std::ranges::is_partitioned(collectives, is_dense, &CollectiveRow::collective));
static_assert(row_of(Collective::neighbor_allgatherw).collective == static_cast<Collective>(collective_count - 1),
              "each collective has a row");

}  // namespace quadrille

// ---- The functions of the collectives ----
//
// A list calls X(collective, Name, FORM, Displacement): `Name` is what follows "MPI_" or "Quadrille_", `FORM` names the
// argument list below, and `Displacement` is what its displacements are where counts are int. Of large counts they are
// MPI_Aint. So of each collective
//   int MPI_##Name(QUADRILLE_WORDS_##FORM(int, Displacement))
// is the declaration in words of our own (mpi/mpi.hpp), and QUADRILLE_ARGUMENTS_##FORM are its arguments. Nonblocking
// functions have one parameter more, persistent ones two. The lists as the MPI declares them, which tests use, are in
// tests/mpi/native_signatures.hpp.

#define QUADRILLE_DENSE_COLLECTIVES(X)  \
  X(alltoall, Alltoall, UNIFORM, int)   \
  X(alltoallv, Alltoallv, VECTOR, int)  \
  X(alltoallw, Alltoallw, TYPED, int)   \
  X(allgather, Allgather, UNIFORM, int) \
  X(allgatherv, Allgatherv, GATHERV, int)

#define QUADRILLE_NEIGHBOR_COLLECTIVES(X)                          \
  X(neighbor_alltoall, Neighbor_alltoall, UNIFORM, int)            \
  X(neighbor_alltoallv, Neighbor_alltoallv, VECTOR, int)           \
  X(neighbor_alltoallw, Neighbor_alltoallw, TYPED, std::ptrdiff_t) \
  X(neighbor_allgather, Neighbor_allgather, UNIFORM, int)          \
  X(neighbor_allgatherv, Neighbor_allgatherv, GATHERV, int)

// That no MPI has.
#define QUADRILLE_OWN_NEIGHBOR_COLLECTIVES(X) X(neighbor_allgatherw, Neighbor_allgatherw, GATHERW, std::ptrdiff_t)

#define QUADRILLE_MPI_COLLECTIVES(X) QUADRILLE_DENSE_COLLECTIVES(X) QUADRILLE_NEIGHBOR_COLLECTIVES(X)
#define QUADRILLE_COLLECTIVES(X) QUADRILLE_MPI_COLLECTIVES(X) QUADRILLE_OWN_NEIGHBOR_COLLECTIVES(X)

#define QUADRILLE_LIST_UNIFORM(Count, Displacement, Comm, Type, Types) \
  const void *sendbuf, Count sendcount, Type sendtype, void *recvbuf, Count recvcount, Type recvtype, Comm comm
#define QUADRILLE_ARGUMENTS_UNIFORM sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm

#define QUADRILLE_LIST_VECTOR(Count, Displacement, Comm, Type, Types)                                        \
  const void *sendbuf, const Count sendcounts[], const Displacement sdispls[], Type sendtype, void *recvbuf, \
      const Count recvcounts[], const Displacement rdispls[], Type recvtype, Comm comm
#define QUADRILLE_ARGUMENTS_VECTOR sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm

#define QUADRILLE_LIST_TYPED(Count, Displacement, Comm, Type, Types)                                           \
  const void *sendbuf, const Count sendcounts[], const Displacement sdispls[], Types sendtypes, void *recvbuf, \
      const Count recvcounts[], const Displacement rdispls[], Types recvtypes, Comm comm
#define QUADRILLE_ARGUMENTS_TYPED sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm

#define QUADRILLE_LIST_GATHERV(Count, Displacement, Comm, Type, Types)                          \
  const void *sendbuf, Count sendcount, Type sendtype, void *recvbuf, const Count recvcounts[], \
      const Displacement displs[], Type recvtype, Comm comm
#define QUADRILLE_ARGUMENTS_GATHERV sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm

#define QUADRILLE_LIST_GATHERW(Count, Displacement, Comm, Type, Types)                          \
  const void *sendbuf, Count sendcount, Type sendtype, void *recvbuf, const Count recvcounts[], \
      const Displacement rdispls[], Types recvtypes, Comm comm
#define QUADRILLE_ARGUMENTS_GATHERW sendbuf, sendcount, sendtype, recvbuf, recvcounts, rdispls, recvtypes, comm

#define QUADRILLE_WORDS_UNIFORM(Count, Displacement) \
  QUADRILLE_LIST_UNIFORM(Count, Displacement, quadrille::MpiComm, quadrille::MpiType, quadrille::MpiTypes)
#define QUADRILLE_WORDS_VECTOR(Count, Displacement) \
  QUADRILLE_LIST_VECTOR(Count, Displacement, quadrille::MpiComm, quadrille::MpiType, quadrille::MpiTypes)
#define QUADRILLE_WORDS_TYPED(Count, Displacement) \
  QUADRILLE_LIST_TYPED(Count, Displacement, quadrille::MpiComm, quadrille::MpiType, quadrille::MpiTypes)
#define QUADRILLE_WORDS_GATHERV(Count, Displacement) \
  QUADRILLE_LIST_GATHERV(Count, Displacement, quadrille::MpiComm, quadrille::MpiType, quadrille::MpiTypes)
#define QUADRILLE_WORDS_GATHERW(Count, Displacement) \
  QUADRILLE_LIST_GATHERW(Count, Displacement, quadrille::MpiComm, quadrille::MpiType, quadrille::MpiTypes)

// ---- The lists say what the table says ----

#define QUADRILLE_SIDES_UNIFORM Form::one_count, Form::one_count
#define QUADRILLE_SIDES_VECTOR Form::arrays, Form::arrays
#define QUADRILLE_SIDES_TYPED Form::typed_arrays, Form::typed_arrays
#define QUADRILLE_SIDES_GATHERV Form::one_count, Form::arrays
#define QUADRILLE_SIDES_GATHERW Form::one_count, Form::typed_arrays

namespace quadrille::detail {

constexpr bool is_listed_well(Collective c, Form send, Form recv, std::string_view displacement, bool of_mpi) {
  const CollectiveRow& row = row_of(c);
  const bool addresses = displacement == "std::ptrdiff_t";
  return row.send == send && row.recv == recv && row.of_mpi == of_mpi &&
         addresses == (row.places == Places::addresses) && (row.places != Places::none) == is_typed(c);
}

#define QUADRILLE_CHECK_OF_MPI(collective, Name, FORM, Displacement) \
  static_assert(is_listed_well(Collective::collective, QUADRILLE_SIDES_##FORM, #Displacement, true));
#define QUADRILLE_CHECK_OWN(collective, Name, FORM, Displacement) \
  static_assert(is_listed_well(Collective::collective, QUADRILLE_SIDES_##FORM, #Displacement, false));
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_CHECK_OF_MPI)
QUADRILLE_OWN_NEIGHBOR_COLLECTIVES(QUADRILLE_CHECK_OWN)
#undef QUADRILLE_CHECK_OF_MPI
#undef QUADRILLE_CHECK_OWN

#define QUADRILLE_COUNT(...) +1
static_assert(QUADRILLE_COLLECTIVES(QUADRILLE_COUNT) + 1 == collective_count,
              "each collective but the sparse exchange has an argument list as MPI has");
#undef QUADRILLE_COUNT

}  // namespace quadrille::detail

#undef QUADRILLE_SIDES_UNIFORM
#undef QUADRILLE_SIDES_VECTOR
#undef QUADRILLE_SIDES_TYPED
#undef QUADRILLE_SIDES_GATHERV
#undef QUADRILLE_SIDES_GATHERW

namespace quadrille {

// ---- Calls where the collective is known at run time only ----
//
// An argument list is those of the two sides and the communicator, and the table says which each side has.

// A collective as a type.
template <Collective collective>
using Of = std::integral_constant<Collective, collective>;

// All that a side may be asked for. Of the arrays a caller gives those that the form has.
template <class Type, class Types, class Address, class Count = int, class Displacement = int>
struct SideArguments {
  void* buffer = nullptr;
  Count count = 0;
  Type type{};  // of all blocks
  const Count* counts = nullptr;
  const Displacement* displacements = nullptr;  // in extents
  const Displacement* bytes = nullptr;          // displacements in bytes, where these are no addresses
  const Address* addresses = nullptr;           // and where they are MPI_Aint
  Types types{};
};

template <Form form, Places places, class Side>
auto arguments_of(const Side& side) {
  if constexpr (form == Form::one_count) {
    return std::tuple(side.buffer, side.count, side.type);
  } else if constexpr (form == Form::arrays) {
    return std::tuple(side.buffer, side.counts, side.displacements, side.type);
  } else if constexpr (places == Places::ints) {
    static_assert(form == Form::typed_arrays);
    return std::tuple(side.buffer, side.counts, side.bytes, side.types);
  } else {
    static_assert(form == Form::typed_arrays);
    return std::tuple(side.buffer, side.counts, side.addresses, side.types);
  }
}

// `others` is the communicator, and what follows it where the call is not blocking.
template <Collective collective, class Function, class Side, class... Others>
int call_with(Function function, const Side& send, const Side& recv, Others... others) {
  constexpr CollectiveRow row = row_of(collective);
  return std::apply(function, std::tuple_cat(arguments_of<row.send, row.places>(send),
                                             arguments_of<row.recv, row.places>(recv), std::tuple(others...)));
}

// work(Of<collective>()); `otherwise` if MPI has no such argument list.
template <class Work>
int do_as(Collective collective, Work work, int otherwise) {
  int result = otherwise;
  const auto do_if = [&]<Collective one>(Of<one>) {
    if constexpr (row_of(one).send != Form::other) {
      if (one == collective) result = work(Of<one>());
    }
  };
  [&]<std::size_t... index>(std::index_sequence<index...>) { (do_if(Of<static_cast<Collective>(index)>()), ...); }
  (std::make_index_sequence<collectives.size()>());
  return result;
}

}  // namespace quadrille
