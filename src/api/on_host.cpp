#include "api/on_host.hpp"

#include <algorithm>
#include <cstdint>
#include <new>

namespace quadrille::api {
namespace {

// Addresses as numbers: a block may lie before the address that the user gave.
struct Span {
  std::intptr_t begin = INTPTR_MAX, end = INTPTR_MIN;
  bool empty() const { return begin >= end; }
};

void add_block(const run::Block& block, Span& span) {
  if (block.bytes() == 0) return;
  MPI_Aint lower = 0, extent = 0;
  mpi().Type_get_true_extent(block.type, &lower, &extent);
  const auto first = reinterpret_cast<std::intptr_t>(block.address) + lower;
  const std::intptr_t last = first + static_cast<std::intptr_t>(block.count - 1) * block.info.extent;
  span.begin = std::min({span.begin, first, last});
  span.end = std::max({span.end, first + extent, last + extent});
}

Span span_of(const run::Side& side, int blocks) {
  Span span;
  for (int b = 0; b < blocks; ++b) add_block(run::block_of(side, b), span);
  return span;
}

}  // namespace

OnHost::OnHost(const run::Call& call, int send_blocks, int recv_blocks, const memory::DeviceDriver& driver)
    : driver_(driver), call_(call) {
  if (!call.in_place) take(call_.send, send_blocks, send_);
  take(call_.recv, recv_blocks, recv_);
}

void OnHost::take(run::Side& side, int blocks, Copy& copy) {
  const Span span = span_of(side, blocks);
  if (span.empty()) return;
  auto* const begin = reinterpret_cast<std::byte*>(span.begin);
  if (!memory::is_device(driver_, begin)) return;
  copy.device = begin;
  copy.bytes = static_cast<std::size_t>(span.end - span.begin);
  copy.host = std::make_unique_for_overwrite<std::byte[]>(copy.bytes);
  failed_ = !memory::copy_device(driver_, copy.host.get(), copy.device, copy.bytes) || failed_;
  const std::intptr_t moved = reinterpret_cast<std::intptr_t>(copy.host.get()) - span.begin;
  side.base = reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(side.base) + moved);
}

void OnHost::fetch() {
  failed_ = false;
  for (const Copy* copy : {&send_, &recv_}) {
    if (copy->host == nullptr) continue;
    failed_ = !memory::copy_device(driver_, copy->host.get(), copy->device, copy->bytes) || failed_;
  }
}

int OnHost::finish() {
  if (recv_.host != nullptr) {
    failed_ = !memory::copy_device(driver_, recv_.device, recv_.host.get(), recv_.bytes) || failed_;
  }
  return failed_ ? MPI_ERR_OTHER : MPI_SUCCESS;
}

}  // namespace quadrille::api
