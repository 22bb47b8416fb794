#include "exchange.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <sstream>

namespace quadrille::test {

const char* name_of(Pattern pattern) {
  constexpr const char* names[] = {"even", "random", "zero-rows", "zero-columns", "zero", "giant", "sparse"};
  static_assert(std::size(names) == std::size(all_patterns));
  return names[static_cast<int>(pattern)];
}

const char* name_of(Layout layout) {
  constexpr const char* names[] = {"packed", "gaps", "shuffled"};
  static_assert(std::size(names) == std::size(all_layouts));
  return names[static_cast<int>(layout)];
}

Kinds same(const std::string& type) { return {type, {&type_named(type)}, {&type_named(type)}}; }

Kinds between(const std::string& send, const std::string& receive) {
  return {send + "->" + receive, {&type_named(send)}, {&type_named(receive)}};
}

Kinds mixed(Base base) {
  const std::vector<const Type*> all = types_of(base);
  return {"mixed-" + all.front()->name, all, all};
}

std::string to_string(const Shape& shape) {
  std::ostringstream text;
  text << name_of(shape.collective) << ' ' << shape.kinds.name << ' ' << shape.bytes << " B";
  if (shape.in_place) text << " in place";
  if (!is_regular(shape.collective)) {
    text << ' ' << name_of(shape.pattern) << ' ' << name_of(shape.layout);
  }
  text << " seed " << shape.seed;
  return text.str();
}

int common_units(const Kinds& kinds) {
  int units = 1;
  for (const Type* type : kinds.send) units = std::lcm(units, type->units);
  for (const Type* type : kinds.receive) units = std::lcm(units, type->units);
  return units;
}

namespace {

// How many times the common units rank s sends to rank d; `most` is the largest number.
std::size_t pattern_units(const Shape& shape, int ranks, int s, int d, std::size_t most) {
  if (most == 0) return 0;
  const std::uint64_t pair =
      static_cast<std::uint64_t>(s) * static_cast<std::uint64_t>(ranks) + static_cast<std::uint64_t>(d);
  const std::uint64_t chance = mix(shape.seed * 7919 + pair + 1);
  const std::size_t some = chance % 4 == 0 ? 0 : chance / 4 % (most + 1);
  switch (shape.pattern) {
    case Pattern::even:
      return most;
    case Pattern::random:
      return some;
    case Pattern::zero_rows:
      return s % 2 == 0 ? 0 : some;
    case Pattern::zero_columns:
      return d % 2 == 0 ? 0 : some;
    case Pattern::zero:
      return 0;
    case Pattern::giant:
      return pair == shape.seed % static_cast<std::uint64_t>(ranks * ranks) ? most : chance % 3;
    case Pattern::sparse:
      return d == (s + 1) % ranks ? most : 0;
  }
  return 0;
}

std::size_t units_between(const Shape& shape, int ranks, int s, int d, std::size_t most) {
  if (is_regular(shape.collective)) return most;
  if (is_allgather(shape.collective)) return pattern_units(shape, ranks, s, 0, most);
  // In place a block has the same size in both directions.
  if (shape.in_place && s > d) std::swap(s, d);
  return pattern_units(shape, ranks, s, d, most);
}

const Type* pick(const std::vector<const Type*>& list, const Shape& shape, int me, int peer) {
  if (list.size() == 1) return list.front();
  // Only alltoallw can have a type for each peer.
  const int other = is_typed(shape.collective) ? peer : 0;
  const std::uint64_t chance =
      mix(shape.seed * 104729 + static_cast<std::uint64_t>(me) * 1009 + static_cast<std::uint64_t>(other) + 17);
  return list[chance % list.size()];
}

std::ptrdiff_t round_up(std::ptrdiff_t value, std::ptrdiff_t unit) { return (value + unit - 1) / unit * unit; }

// Gives each block its place. Displacements of alltoallv are whole extents, of alltoallw whole 16
// bytes, which keeps every basic type aligned.
void place(std::vector<Block>& blocks, const Shape& shape, int me) {
  const bool bytes = is_typed(shape.collective);
  const bool loose = !is_regular(shape.collective) && shape.layout != Layout::packed;
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(shape.seed * 31 + static_cast<std::uint64_t>(me) + 5);
  std::ptrdiff_t cursor = 0;
  if (!is_regular(shape.collective) && shape.layout == Layout::shuffled) {
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
    }
    cursor = -2 * round_up(blocks.front().type->extent, bytes ? 16 : 1);
  }
  for (std::size_t i : order) {
    Block& block = blocks[i];
    const std::ptrdiff_t extent = block.type->extent;
    // In bytes, the lower bound of the type must be stepped over; in extents it shifts all alike.
    block.at = bytes ? round_up(cursor - block.type->lower, 16) : cursor;
    cursor = block.at + static_cast<std::ptrdiff_t>(block.count) * extent;
    if (bytes) cursor += block.type->lower;
    if (loose) cursor += random.below(4) * (bytes ? 16 : extent);
  }
}

}  // namespace

bool mpi_can(const Shape& shape, int ranks) {
  const auto negative = [](const Type* type) { return type->lower < 0; };
  const bool any_negative = std::any_of(shape.kinds.send.begin(), shape.kinds.send.end(), negative) ||
                            std::any_of(shape.kinds.receive.begin(), shape.kinds.receive.end(), negative);
  // Those in which datatypes with gaps go wrong anywhere.
  static const bool weak = std::getenv("QUADRILLE_TEST_WEAK_MPI") != nullptr;
  if (weak || (shape.in_place && any_negative)) return false;
  const bool one_type = shape.kinds.send.size() == 1 && shape.kinds.send == shape.kinds.receive;
  if (ranks > 8 && shape.collective == Collective::alltoall && !one_type) return false;
  const bool displaced = shape.layout == Layout::shuffled || any_negative;
  return ranks > 1 || shape.collective != Collective::alltoallw || !displaced;
}

Exchange exchange(const Shape& shape, const Communicator& where) {
  const int ranks = where.size;
  const int me = where.rank;
  const int unit = common_units(shape.kinds);
  const Type& first = *shape.kinds.send.front();
  const std::size_t unit_bytes = first.size / static_cast<std::size_t>(first.units) * static_cast<std::size_t>(unit);
  const std::size_t most = (shape.bytes + unit_bytes - 1) / unit_bytes;
  const auto block = [&](const std::vector<const Type*>& list, int peer, int s, int d) {
    const Type* type = pick(list, shape, me, peer);
    const std::size_t units = units_between(shape, ranks, s, d, most) * static_cast<std::size_t>(unit);
    return Block{type, units / static_cast<std::size_t>(type->units), 0};
  };
  Exchange result{shape.collective, shape.in_place, {}, {}};
  for (int s = 0; s < ranks; ++s) {
    result.receive.push_back(block(shape.kinds.receive, s, s, me));
  }
  place(result.receive, shape, me);
  if (shape.in_place) return result;
  const int destinations = is_allgather(shape.collective) ? 1 : ranks;
  for (int d = 0; d < destinations; ++d) {
    result.send.push_back(block(shape.kinds.send, d, me, d));
  }
  // The one block of allgather starts at the address itself.
  if (!is_allgather(shape.collective)) place(result.send, shape, me);
  return result;
}

}  // namespace quadrille::test
