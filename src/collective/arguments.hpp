// Calls of functions with MPI's argument lists where the collective is known at run time only: an argument list is
// those of the two sides and the communicator, and the table says which each side has.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "collective/collective.hpp"

namespace quadrille {

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
