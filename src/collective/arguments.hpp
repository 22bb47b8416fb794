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

namespace detail {

template <Collective collective, class Work>
int do_as(Work& work, int otherwise) {
  if constexpr (row_of(collective).send == Form::other) {
    return otherwise;
  } else {
    return work(Of<collective>());
  }
}

template <class Work, std::size_t... index>
int do_as_one_of(Collective collective, Work& work, int otherwise, std::index_sequence<index...>) {
  using Do = int (*)(Work&, int);
  static constexpr Do each[] = {&do_as<static_cast<Collective>(index), Work>...};
  return each[static_cast<std::size_t>(collective)](work, otherwise);
}

}  // namespace detail

// work(Of<collective>()); `otherwise` if MPI has no such argument list.
template <class Work>
int do_as(Collective collective, Work work, int otherwise) {
  return detail::do_as_one_of(collective, work, otherwise, std::make_index_sequence<collectives.size()>());
}

}  // namespace quadrille
