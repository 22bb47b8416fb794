#include "team/record_site.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "mpi/thrown.hpp"
#include "sys/code.hpp"

namespace quadrille::record {
namespace {

// What is known of an address to which doors return. To look through the stack takes longer than many calls do. But the frames of
// a library's function are of one size, so what called it is found at the same distance again. What is read there is believed if a
// look through the stack has found it before.
struct Layer {
  const void* returns_to = nullptr;
  bool is_layer = false;
  std::ptrdiff_t distance = 0;          // of a layer: from `here` to where it keeps the program's address
  std::array<const void*, 64> seen{};   // of a layer: addresses in the program, each at its place
};
constexpr std::size_t layer_places = 16;
thread_local Layer layers[layer_places];

bool is_of_the_mpi(const void* address) {
  const sys::CodePlace at = sys::place_in_code(address);
  const std::string_view object = at.object;
  const std::string_view name = object.substr(object.find_last_of('/') + 1);
  return name.starts_with("libmpi") || name.starts_with("libfmpi");
}

// The first caller outside of the MPI's libraries, from who returns to `returns_to` on.
sys::Caller program_behind(const void* returns_to) {
  const std::vector<sys::Caller> all = sys::callers();
  const auto layer = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.returns_to == returns_to; });
  const auto program = std::find_if(layer, all.end(), [](const auto& one) { return !is_of_the_mpi(one.returns_to); });
  return program != all.end() ? *program : sys::Caller{};
}

std::uintptr_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address) >> 2; }

const void*& place_of_site(Layer& layer, const void* site) { return layer.seen[number_of(site) % layer.seen.size()]; }

void look_at(Layer& layer, const void* returns_to, const std::byte* here) {
  layer = {};
  layer.returns_to = returns_to;
  if (!is_of_the_mpi(returns_to)) return;
  const sys::Caller program = program_behind(returns_to);
  if (program.kept_at == nullptr) return;
  layer.is_layer = true;
  layer.distance = program.kept_at - here;
  place_of_site(layer, program.returns_to) = program.returns_to;
}

const void* site_of(Layer& layer, const std::byte* here) {
  const void* site = nullptr;
  std::memcpy(&site, here + layer.distance, sizeof site);
  const void*& seen = place_of_site(layer, site);
  if (seen == site) return site;
  const sys::Caller program = program_behind(layer.returns_to);
  if (program.returns_to != site) {  // its frames are of several sizes
    layer.is_layer = false;
    return layer.returns_to;
  }
  return seen = site;
}

}  // namespace

const void* site_in_program(const void* returns_to, const void* here) {
  Layer& layer = layers[number_of(returns_to) % layer_places];
  const auto* const stack = static_cast<const std::byte*>(here);
  if (layer.returns_to == returns_to && !layer.is_layer) return returns_to;
  const void* site = returns_to;
  static_cast<void>(thrown_by([&] {
    if (layer.returns_to != returns_to) look_at(layer, returns_to, stack);
    if (layer.is_layer) site = site_of(layer, stack);
  }));
  return site;
}

}  // namespace quadrille::record
