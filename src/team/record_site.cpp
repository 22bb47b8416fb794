#include "team/record_site.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi/thrown.hpp"
#include "sys/code.hpp"
#include "sys/python.hpp"

namespace quadrille::record {
namespace {

const void* address_in(const Return& one) { return one.address; }
const void* address_in(const void* site) { return site; }

// Where an address is, or else has room; null if there is none.
template <class Kept, std::size_t size>
Kept* place_for(std::array<Kept, size>& all, const void* address) {
  const std::size_t first = (reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15ULL >> 32) % size;
  for (std::size_t i = 0; i < size; ++i) {
    Kept& one = all[(first + i) % size];
    if (address_in(one) == address || address_in(one) == nullptr) return &one;
  }
  return nullptr;
}

bool is_of_the_mpi(const void* address) {
  const sys::CodePlace at = sys::place_in_code(address);
  const std::string_view object = at.object;
  const std::string_view name = object.substr(object.find_last_of('/') + 1);
  return name.starts_with("libmpi") || name.starts_with("libfmpi");
}

// The first caller outside of the MPI's libraries, from who returns to `returns_to` on.
sys::Caller program_behind(const void* returns_to) {
  const std::vector<sys::Caller> all = sys::callers();
  const auto layer =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.returns_to == returns_to; });
  const auto program = std::find_if(layer, all.end(), [](const auto& one) { return !is_of_the_mpi(one.returns_to); });
  return program != all.end() ? *program : sys::Caller{};
}

// Null if it is no layer, or one of which nothing can be found.
Layer* layer_at(KnownSites& known, const void* returns_to, const std::byte* here) {
  if (known.layers_used == known.layers.size() || !is_of_the_mpi(returns_to)) return nullptr;
  const sys::Caller program = program_behind(returns_to);
  if (program.kept_at == nullptr) return nullptr;
  Layer& layer = known.layers[known.layers_used++];
  layer.distance = program.kept_at - here;
  *place_for(layer.sites, program.returns_to) = program.returns_to;
  return &layer;
}

// `layer` becomes null if it has too many sites, or frames of several sizes.
const void* site_behind(Layer*& layer, const void* returns_to, const std::byte* here) {
  const void* site = nullptr;
  std::memcpy(&site, here + layer->distance, sizeof site);
  const void** const seen = site != nullptr ? place_for(layer->sites, site) : nullptr;
  if (seen != nullptr && *seen == site) return site;
  if (seen != nullptr && program_behind(returns_to).returns_to == site) return *seen = site;
  layer = nullptr;
  return returns_to;
}

const void* seek_site(KnownSites& known, const void* returns_to, const std::byte* here) {
  Return* const at = place_for(known.returns, returns_to);
  if (at == nullptr) return returns_to;
  if (std::exchange(at->address, returns_to) == nullptr) {
    at->is_python = sys::is_called_by_python(returns_to);
    at->layer = layer_at(known, returns_to, here);
  }
  if (!at->is_python) return at->layer != nullptr ? site_behind(at->layer, returns_to, here) : returns_to;
  const sys::PythonPlace* const place = sys::python_place();
  return place != nullptr ? place : returns_to;
}

}  // namespace

const void* site_in_program(KnownSites& known, const void* returns_to, const void* here) {
  const void* site = returns_to;
  static_cast<void>(thrown_by([&] { site = seek_site(known, returns_to, static_cast<const std::byte*>(here)); }));
  return site;
}

}  // namespace quadrille::record
