#include "tool/bench/data.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <new>

#include "collective/collective.hpp"
#include "memory/copy_kernels.hpp"
#include "memory/heap.hpp"
#include "tool/bench/hash.hpp"

namespace quadrille::tools {
namespace {

struct Layout {
  std::size_t unit, extent;  // data bytes and extent of an element
};

Layout layout_of(ElementKind element) {
  switch (element) {
    case ElementKind::byte:
      return {1, 1};
    case ElementKind::double_float:
      return {8, 8};
    case ElementKind::strided:
      break;
  }
  return {8, 16};
}

std::byte byte_of(std::uint64_t key, std::size_t offset) {
  return static_cast<std::byte>(mix(key ^ (offset / 8)) >> (8 * (offset % 8)));
}

// The background is the data of a pair of ranks that does not exist.
std::uint64_t background_key(std::uint64_t salt) { return key_of(salt, -1, -1, 0); }

// The eight bytes from `offset` on, which is a multiple of eight: the hash is taken once for them.
std::array<std::byte, 8> word_of(std::uint64_t key, std::size_t offset) {
  const std::uint64_t word = mix(key ^ (offset / 8));
  std::array<std::byte, 8> bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(word >> (8 * i));
  return bytes;
}

void fill_range(std::byte* memory, std::size_t from, std::size_t to, std::uint64_t key) {
  std::size_t i = from;
  for (; i < to && i % 8 != 0; ++i) memory[i] = byte_of(key, i);
  for (; i + 8 <= to; i += 8) std::memcpy(memory + i, word_of(key, i).data(), 8);
  for (; i < to; ++i) memory[i] = byte_of(key, i);
}

std::uint64_t count_wrong(const std::byte* memory, std::size_t from, std::size_t to, std::uint64_t key) {
  std::uint64_t wrong = 0;
  for (std::size_t i = from; i < to;) {
    if (i % 8 == 0 && i + 8 <= to && std::memcmp(memory + i, word_of(key, i).data(), 8) == 0) {
      i += 8;
      continue;
    }
    wrong += memory[i] != byte_of(key, i);
    ++i;
  }
  return wrong;
}

}  // namespace

std::size_t elements_of(const BenchCase& c, int source, int destination) {
  const std::size_t unit = layout_of(c.element).unit;
  const std::size_t most = (c.bytes + unit - 1) / unit;
  if (is_regular(c.collective)) return most;
  if (is_allgather(c.collective)) return gathered_size(c.traffic, c.seed, most, c.ranks, source);
  // In place, both directions of a pair have the same size: the lower rank's.
  if (c.in_place && source > destination) std::swap(source, destination);
  // Sizes are drawn in elements. A matrix has bytes, and a byte is not rounded away.
  if (c.traffic.kind == Distribution::file) {
    return (block_size(c.traffic, c.seed, c.bytes, c.ranks, source, destination) + unit - 1) / unit;
  }
  return block_size(c.traffic, c.seed, most, c.ranks, source, destination);
}

namespace {

// Of the block that goes from `source` to `destination` as number `block` of the neighbourhood.
std::size_t elements_between(const BenchCase& c, int block, int source, int destination) {
  if (c.traffic.kind != Distribution::stencil || is_regular(c.collective)) return elements_of(c, source, destination);
  const std::span<const int> offset = c.neighbors->neighborhood.offset(block);
  const auto zero = std::count(offset.begin(), offset.end(), 0);
  const std::size_t unit = layout_of(c.element).unit;
  const std::size_t bytes = stencil_size(c.bytes, c.neighbors->neighborhood.dimensions,
                                         static_cast<int>(offset.size()) - static_cast<int>(zero));
  return (bytes + unit - 1) / unit;
}

}  // namespace

std::size_t elements_sent(const BenchCase& c, int block) {
  if (c.edges != nullptr) return c.edges->sent[static_cast<std::size_t>(block)];
  if (c.neighbors == nullptr) return elements_of(c, c.me, block);
  return elements_between(c, block, c.me, c.neighbors->destinations[static_cast<std::size_t>(block)]);
}

std::size_t elements_received(const BenchCase& c, int block) {
  if (c.edges != nullptr) return c.edges->received[static_cast<std::size_t>(block)];
  if (c.neighbors == nullptr) return elements_of(c, block, c.me);
  return elements_between(c, block, c.neighbors->sources[static_cast<std::size_t>(block)], c.me);
}

std::size_t buffer_bytes(const BenchCase& c) {
  const Layout layout = layout_of(c.element);
  const std::size_t block = (c.bytes + layout.unit - 1) / layout.unit * layout.extent;
  const auto peers = static_cast<std::size_t>(c.peers());
  const std::size_t send = c.in_place ? 0 : is_allgather(c.collective) ? 1 : peers;
  return block * (send + peers);
}

std::size_t frame_bytes(const BenchCase& c) {
  // Each of the two has two guard pages, and its end is rounded up to a page.
  return c.memory == BufferMemory::stack ? buffer_bytes(c) + std::size_t{6} * 4096 : 0;
}

std::string why_too_large(const BenchCase& c) {
  const Layout layout = layout_of(c.element);
  const std::size_t elements = (c.bytes + layout.unit - 1) / layout.unit;
  std::size_t largest = elements;
  if (!is_regular(c.collective)) largest *= static_cast<std::size_t>(c.peers());
  if (row_of(c.collective).places == Places::ints) largest *= layout.extent;
  if (largest <= INT_MAX) return "";
  return fmt::format(
      "{} blocks of {} bytes need counts or displacements past {}, the "
      "largest int; take smaller --sizes",
      c.peers(), c.bytes, INT_MAX);
}

std::byte pattern(std::uint64_t seed, int source, int destination, std::size_t offset, std::uint64_t call) {
  return byte_of(key_of(seed, source, destination, call), offset);
}

BlockBuffer::BlockBuffer(int blocks, std::size_t unit, std::size_t extent)
    : unit_(unit), extent_(extent), elements_(static_cast<std::size_t>(blocks)) {}

void BlockBuffer::set_block(int block, std::size_t elements) { elements_[static_cast<std::size_t>(block)] = elements; }

void BlockBuffer::Free::operator()(std::byte* memory) const {
  if (from == BufferMemory::mapped) {
    munmap(memory, bytes);
  } else if (from != BufferMemory::stack && !memory::heap_free(memory)) {
    std::free(memory);
  }
}

namespace {

void* take(BufferMemory from, std::size_t bytes, std::byte* place) {
  if (from == BufferMemory::stack) return place;
  if (from == BufferMemory::mapped) {
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? nullptr : mapped;
  }
  void* const shared =
      from == BufferMemory::heap && memory::heap_start() ? memory::heap_allocate(bytes, 4096) : nullptr;
  return shared != nullptr ? shared : std::aligned_alloc(4096, bytes);
}

}  // namespace

void BlockBuffer::measure() {
  starts_ = {0};
  // Some MPIs want arrays also where there are no blocks.
  for (auto* const array : {&counts_, &displacements_, &byte_displacements_}) array->reserve(elements_.size() + 1);
  address_displacements_.reserve(elements_.size() + 1);
  for (const std::size_t elements : elements_) {
    counts_.push_back(static_cast<int>(elements));
    displacements_.push_back(static_cast<int>(starts_.back() / extent_));
    byte_displacements_.push_back(static_cast<int>(starts_.back()));
    address_displacements_.push_back(static_cast<MpiAint>(starts_.back()));
    starts_.push_back(starts_.back() + elements * extent_);
  }
  size_ = starts_.back();
}

void BlockBuffer::allocate(BufferMemory from, std::byte* place) {
  measure();
  void* const memory = take(from, total(), place);
  if (memory == nullptr) throw std::bad_alloc();
  memory_ = {static_cast<std::byte*>(memory), Free{from, total()}};
}

void BlockBuffer::allocate_on(const std::shared_ptr<Gpu>& gpu, bool stages) {
  allocate(BufferMemory::private_memory);
  on_gpu_ = tools::allocate_on(gpu, total());
  if (!stages) return;
  staging_ = pin_for(gpu, size_);
  if (staging_ == nullptr) staging_pageable_ = std::make_unique<std::byte[]>(std::max<std::size_t>(size_, 1));
}

void BlockBuffer::overwrite(std::uint64_t value, std::size_t at, std::size_t bytes) {
  std::byte* const to = data() + at;
  std::size_t i = 0;
  for (; i + 8 <= bytes; i += 8, ++value) std::memcpy(to + i, &value, 8);
  for (; i < bytes; ++i) to[i] = static_cast<std::byte>(value);
}

void BlockBuffer::read_all() const {
  const std::byte* const from = (on_gpu_ ? on_gpu_.get() : memory_.get()) + guard;
  std::uint64_t sum = 0, word = 0;
  std::size_t i = 0;
  for (; i + 8 <= size_; i += 8) {
    std::memcpy(&word, from + i, 8);
    sum += word;
  }
  for (; i < size_; ++i) sum += static_cast<std::uint64_t>(from[i]);
  asm volatile("" : : "r"(sum));  // the sum counts, though nobody wants it
}

void BlockBuffer::bring_to_mpi() { on_gpu_.get_deleter().gpu->copy(for_mpi(), data(), size_); }

void BlockBuffer::bring_from_mpi() { on_gpu_.get_deleter().gpu->copy(data(), for_mpi(), size_); }

void BlockBuffer::put() {
  if (on_gpu_) on_gpu_.get_deleter().gpu->copy(on_gpu_.get(), memory_.get(), size_ + 2 * guard);
}

void BlockBuffer::poison(std::uint64_t salt) { fill_range(memory_.get(), 0, size_ + 2 * guard, background_key(salt)); }

void BlockBuffer::poison_around(std::uint64_t salt) {
  if (unit_ != extent_) return poison(salt);
  fill_range(memory_.get(), 0, guard, background_key(salt));
  fill_range(memory_.get(), guard + size_, size_ + 2 * guard, background_key(salt));
}

void BlockBuffer::write(int block, std::uint64_t seed, int source, int destination, std::uint64_t call) {
  const std::uint64_t key = key_of(seed, source, destination, call);
  std::byte* to = host() + starts_[static_cast<std::size_t>(block)];
  if (unit_ == extent_) {
    fill_range(to, 0, elements_[static_cast<std::size_t>(block)] * unit_, key);
    return;
  }
  for (std::size_t e = 0; e < elements_[static_cast<std::size_t>(block)]; ++e, to += extent_) {
    for (std::size_t i = 0; i < unit_; ++i) to[i] = byte_of(key, e * unit_ + i);
  }
}

std::uint64_t BlockBuffer::mismatches(const std::vector<Expected>& expected, std::uint64_t seed, std::uint64_t call,
                                      std::uint64_t salt) const {
  if (on_gpu_) on_gpu_.get_deleter().gpu->copy(memory_.get(), on_gpu_.get(), size_ + 2 * guard);
  const std::uint64_t background = background_key(salt);
  std::uint64_t wrong = count_wrong(memory_.get(), 0, guard, background);
  for (std::size_t block = 0; block < expected.size(); ++block) {
    const Expected& pair = expected[block];
    const std::uint64_t key = key_of(seed, pair.source, pair.destination, call);
    std::size_t at = guard + starts_[block];
    if (unit_ == extent_) {
      wrong += count_wrong(memory_.get() + at, 0, elements_[block] * unit_, key);
      continue;
    }
    for (std::size_t e = 0; e < elements_[block]; ++e, at += extent_) {
      for (std::size_t i = 0; i < unit_; ++i) {
        wrong += memory_[at + i] != byte_of(key, e * unit_ + i);
      }
      wrong += count_wrong(memory_.get(), at + unit_, at + extent_, background);
    }
  }
  return wrong + count_wrong(memory_.get(), guard + size_, size_ + 2 * guard, background);
}

void copy_plainly(BlockBuffer& to, BlockBuffer& from, bool streaming) {
  const memory::CopyKernels& kernels = memory::copy_kernels();
  for (std::size_t done = 0; done < to.size() && from.size() > 0;) {
    const std::size_t now = std::min(from.size(), to.size() - done);
    if (streaming) {
      kernels.streaming(to.data() + done, from.data(), now);
    } else {
      std::memcpy(to.data() + done, from.data(), now);
    }
    done += now;
  }
  if (streaming) memory::stream_fence();
}

BenchData::BenchData(const BenchCase& c)
    : case_(c),
      send_(is_allgather(c.collective) ? 1 : c.destinations(), layout_of(c.element).unit, layout_of(c.element).extent),
      recv_(c.sources(), layout_of(c.element).unit, layout_of(c.element).extent) {
  const std::size_t unit = layout_of(c.element).unit;
  for (int block = 0; block < c.destinations(); ++block) {
    const std::size_t sent = elements_sent(c, block);
    bytes_sent_ += sent * unit;
    largest_sent_ = std::max(largest_sent_, sent * unit);
    // In place nothing is sent from the send buffer: its blocks stay empty.
    if (!c.in_place && (block == 0 || !gathers())) send_.set_block(block, sent);
  }
  for (int block = 0; block < c.sources(); ++block) {
    recv_.set_block(block, elements_received(c, block));
    bytes_received_ += elements_received(c, block) * unit;
  }
  const bool is_dense = c.neighbors == nullptr && c.edges == nullptr;
  if (is_dense) bytes_own_ = elements_received(c, c.me) * unit;
  bytes_held_ = gathers() && c.destinations() > 0 ? elements_sent(c, 0) * unit : bytes_sent_;
  std::byte* place = c.frame;
  for (BlockBuffer* buffer : {&send_, &recv_}) {
    c.gpu != nullptr ? buffer->allocate_on(c.gpu, c.stages_mpi) : buffer->allocate(c.memory, place);
    if (c.memory == BufferMemory::stack) place += buffer->total();
  }
  if (c.element == ElementKind::strided) {
    mpi().Type_create_resized(mpi().double_type, 0, 16, &type_);
    mpi().Type_commit(&type_);
    own_type_ = true;
  } else {
    type_ = c.element == ElementKind::byte ? mpi().byte : mpi().double_type;
  }
  const auto peers = static_cast<std::size_t>(std::max(c.peers(), 1));
  types_ = MpiArray<MpiType>(peers, type_);
  if (!row_of(c.collective).of_mpi) {
    same_counts_.assign(peers, send_.counts()[0]);
    same_places_.assign(peers, 0);
  }
}

BenchData::~BenchData() {
  if (own_type_) mpi().Type_free(&type_);
}

BenchData::Pair BenchData::another_pair() const {
  Pair pair{{1, 1, 1}, {1, 1, 1}};
  pair.send.set_block(0, send_.size());
  pair.recv.set_block(0, recv_.size());
  for (BlockBuffer* buffer : {&pair.send, &pair.recv}) {
    // The frame has no room for more.
    buffer->allocate(case_.memory == BufferMemory::stack ? BufferMemory::private_memory : case_.memory);
    std::memset(buffer->data(), 1, buffer->size());  // memory that is not written is all one page
  }
  return pair;
}

bool BenchData::gathers() const { return is_allgather(case_.collective); }

std::vector<BlockBuffer::Expected> BenchData::expected_sent() const {
  if (gathers()) return {{case_.me, 0}};
  std::vector<BlockBuffer::Expected> blocks;
  // Between neighbours the number of the block stands for the destination, which may be there
  // twice.
  for (int peer = 0; peer < case_.destinations(); ++peer) {
    const bool has_edges = case_.edges != nullptr;
    blocks.push_back({case_.me, has_edges ? case_.edges->destinations[static_cast<std::size_t>(peer)] : peer});
  }
  return blocks;
}

std::vector<BlockBuffer::Expected> BenchData::expected_received() const {
  std::vector<BlockBuffer::Expected> blocks;
  if (case_.edges != nullptr) {
    for (const int source : case_.edges->sources) blocks.push_back({source, gathers() ? 0 : case_.me});
    return blocks;
  }
  for (int peer = 0; peer < case_.peers(); ++peer) {
    const int source = case_.neighbors != nullptr ? case_.neighbors->sources[static_cast<std::size_t>(peer)] : peer;
    const int destination = case_.neighbors != nullptr ? peer : case_.me;
    blocks.push_back({source, gathers() ? 0 : destination});
  }
  return blocks;
}

void BenchData::fill(std::uint64_t call) {
  case_.in_place ? send_.poison(call) : send_.poison_around(call);
  recv_.poison(~call);
  const auto sent = expected_sent();
  if (!case_.in_place) {
    for (std::size_t b = 0; b < sent.size(); ++b) {
      send_.write(static_cast<int>(b), case_.seed, sent[b].source, sent[b].destination, call);
    }
  } else if (gathers()) {
    recv_.write(case_.me, case_.seed, case_.me, 0, call);
  } else {
    for (int rank = 0; rank < case_.ranks; ++rank) {
      recv_.write(rank, case_.seed, case_.me, rank, call);
    }
  }
  send_.put();
  recv_.put();
}

std::uint64_t BenchData::mismatches(std::uint64_t call) const {
  return send_.mismatches(expected_sent(), case_.seed, call, call) +
         recv_.mismatches(expected_received(), case_.seed, call, ~call);
}

void BenchData::touch() {
  for (BlockBuffer* buffer : {&send_, &recv_}) {
    volatile std::byte* bytes = buffer->data();
    for (std::size_t i = 0; i < buffer->size(); i += 32) bytes[i] = bytes[i];
  }
}

void BenchData::write_sent(std::uint64_t value) {
  BlockBuffer& buffer = case_.in_place ? recv_ : send_;
  if (!case_.in_place || !gathers()) return buffer.overwrite(value, 0, buffer.size());
  const auto own = static_cast<std::size_t>(case_.me);
  buffer.overwrite(value, static_cast<std::size_t>(buffer.address_displacements()[own]), buffer.block_bytes(case_.me));
}

void BenchData::read_received() { recv_.read_all(); }

namespace {

// What the two call a collective, blocking and not.
struct OurBlocking {};
struct OurNonblocking {};
struct OurPersistent {};
struct TheirBlocking {};
struct TheirNonblocking {};
struct TheirPersistent {};

#define QUADRILLE_OUR_FUNCTIONS(collective, Name, ...)                                              \
  auto function_of(OurBlocking, Of<Collective::collective>) { return &Quadrille_##Name; }           \
  auto function_of(OurNonblocking, Of<Collective::collective>) { return &Quadrille_I##collective; } \
  auto function_of(OurPersistent, Of<Collective::collective>) { return &Quadrille_##Name##_init; }
QUADRILLE_COLLECTIVES(QUADRILLE_OUR_FUNCTIONS)
#undef QUADRILLE_OUR_FUNCTIONS

#define QUADRILLE_THEIR_FUNCTIONS(collective, Name, ...)                                         \
  auto function_of(TheirBlocking, Of<Collective::collective>) { return mpi().Name; }             \
  auto function_of(TheirNonblocking, Of<Collective::collective>) { return mpi().I##collective; } \
  auto function_of(TheirPersistent, Of<Collective::collective>) { return mpi().Name##_init; }
QUADRILLE_MPI_COLLECTIVES(QUADRILLE_THEIR_FUNCTIONS)
#undef QUADRILLE_THEIR_FUNCTIONS

using Side = SideArguments<MpiType, MpiTypes, MpiAint>;

Side side_of(BlockBuffer& buffer, std::byte* data, MpiType type, const MpiArray<MpiType>& types) {
  return {data,
          buffer.counts().empty() ? 0 : buffer.counts()[0],
          type,
          buffer.counts().data(),
          buffer.displacements().data(),
          buffer.byte_displacements().data(),
          buffer.address_displacements().data(),
          types.all()};
}

// Who has no neighbours on a side gives the count of the others: all ranks give the same one, as programs do.
void give_one_count(const BenchCase& c, Side& side) {
  if (c.edges != nullptr && is_regular(c.collective)) side.count = static_cast<int>(c.bytes);
}

// The last call's error.
template <class Call>
int repeat(long times, Call call) {
  int error = mpi_success;
  for (long i = 0; i < times; ++i) error = call();
  return error;
}

}  // namespace

template <class Their, class... Others>
int BenchData::with_mpi(long times, Their their, MpiComm comm, Others... others) {
  Side send = side_of(send_, send_.for_mpi(), type_, types_), recv = side_of(recv_, recv_.for_mpi(), type_, types_);
  give_one_count(case_, send);
  give_one_count(case_, recv);
  if (case_.in_place) send.buffer = mpi().in_place;
  return do_as(
      case_.collective,
      [&](auto collective) {
        if constexpr (row_of(collective).of_mpi) {
          const auto function = function_of(their, collective);
          if (function == nullptr) return mpi().err_other;
          return repeat(times, [&] { return call_with<collective>(function, send, recv, comm, others...); });
        } else {
          send.counts = same_counts_.data(), send.addresses = same_places_.data();
          constexpr auto instead = Collective::neighbor_alltoallw;
          const auto function = function_of(their, Of<instead>());
          if (function == nullptr) return mpi().err_other;
          return repeat(times, [&] { return call_with<instead>(function, send, recv, comm, others...); });
        }
      },
      mpi().err_other);
}

template <class Our, class... Others>
int BenchData::with_quadrille(long times, Our our, MpiComm comm, Others... others) {
  Side send = side_of(send_, send_.data(), type_, types_), recv = side_of(recv_, recv_.data(), type_, types_);
  give_one_count(case_, send);
  give_one_count(case_, recv);
  if (case_.in_place) send.buffer = mpi().in_place;
  return do_as(
      case_.collective,
      [&](auto collective) {
        const auto function = function_of(our, collective);
        return repeat(times, [&] { return call_with<collective>(function, send, recv, comm, others...); });
      },
      mpi().err_other);
}

int BenchData::call_mpi(MpiComm comm, long times) {
  return case_.stages_mpi ? call_staged_mpi(comm, times) : with_mpi(times, TheirBlocking(), comm);
}

int BenchData::call_staged_mpi(MpiComm comm, long times) {
  // The gaps of the receive buffer go back with the rest.
  const bool reads_received = case_.in_place || case_.element == ElementKind::strided;
  return repeat(times, [&] {
    if (!case_.in_place) send_.bring_to_mpi();
    if (reads_received) recv_.bring_to_mpi();
    const int error = with_mpi(1, TheirBlocking(), comm);
    recv_.bring_from_mpi();
    return error;
  });
}

int BenchData::call_quadrille(MpiComm comm, long times) { return with_quadrille(times, OurBlocking(), comm); }

int BenchData::start_mpi(MpiComm comm, MpiRequest& request) { return with_mpi(1, TheirNonblocking(), comm, &request); }

int BenchData::start_quadrille(MpiComm comm, Quadrille_Request& request) {
  return with_quadrille(1, OurNonblocking(), comm, &request);
}

int BenchData::make_mpi(MpiComm comm, MpiRequest& request) {
  return with_mpi(1, TheirPersistent(), comm, mpi().info_null, &request);
}

int BenchData::make_quadrille(MpiComm comm, Quadrille_Request& request) {
  return with_quadrille(1, OurPersistent(), comm, mpi().info_null, &request);
}

}  // namespace quadrille::tools
