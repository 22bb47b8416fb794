#include "memory/mapping_watch.hpp"

#include <atomic>

namespace quadrille::memory {
namespace {

std::atomic<FindMappingWatch> watch{nullptr};

}  // namespace

void set_mapping_watch(FindMappingWatch find) { watch.store(find, std::memory_order_release); }

MappingWatch mapping_watch(bool at_start) {
  const FindMappingWatch find = watch.load(std::memory_order_acquire);
  return find == nullptr ? MappingWatch::none : find(at_start);
}

}  // namespace quadrille::memory
