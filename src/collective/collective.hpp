// What each collective is, said once: what distinguishes one from another is read from its row in this table.
//
// To add a collective: an enumerator, a row, and its argument list in signatures.hpp; docs/design.md says what else.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
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
