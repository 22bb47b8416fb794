// Copies of plain bytes inside devices and between them, which the driver is given at once: many small ones as one
// kernel (memory/device_pieces.hpp), others by its function for batches (CUDA 12.8), or as a graph if they are made
// more than once, however many blocks there are. Where it has none of these, or refuses, one by one. Copies that calls
// repeat are kept (RepeatedCopies).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/device_pieces.hpp"

namespace quadrille::memory {

class DeviceBatch {
 public:
  DeviceBatch& operator=(DeviceBatch&&) = delete;
  ~DeviceBatch();

  void clear() { keep(0); }
  // No more than so many will be added at a time: then add() does not throw.
  void reserve(std::size_t copies) { to_.reserve(copies), from_.reserve(copies), bytes_.reserve(copies); }
  void add(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
    to_.push_back(to), from_.push_back(from), bytes_.push_back(bytes);
  }
  // The same, joined with the copy before if it continues that on both sides.
  void add_behind(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
    const bool joins = size() > 0 && to == to_.back() + bytes_.back() && from == from_.back() + bytes_.back();
    if (joins) {
      bytes_.back() += bytes;
    } else {
      add(to, from, bytes);
    }
  }
  std::size_t size() const { return bytes_.size(); }
  bool has_same(const DeviceBatch& other) const {
    return bytes_ == other.bytes_ && to_ == other.to_ && from_ == other.from_;
  }
  // Only the first so many stay, and no kernel or graph.
  void keep(std::size_t copies) {
    to_.resize(copies), from_.resize(copies), bytes_.resize(copies), pieces_.forget(), forget_graph();
  }
  // When all were added: looks whether a kernel of that place is to make them, and has it loaded. What it reads is kept
  // until the next time, and was to be done by then. While AtDevice lives. Throws std::bad_alloc.
  //   in_one_device  all are inside that place's device
  //   many_times     a graph can make them as well
  void take_kernel(const DevicePlace& place, bool in_one_device, bool many_times);
  // Likewise, for what is submitted many times, and no kernel is to make. The driver keeps the copies as a graph: made
  // once, and put into a stream by one call however many they are, with no work for any of them on the host. They have
  // no order among each other, so the device may make several at a time. If the driver refuses, there is none.
  void make_graph(const DevicePlace& place);
  // For what has turned out to be submitted many times inside that place's device: in the place of a kernel and of
  // anything else, where a graph is faster. That was measured with CUDA alone.
  void put_graph_in_place(const DevicePlace& place);
  // What was made still is what the driver knows: its context was not destroyed.
  bool is_good(const DevicePlace& place) const {
    return (!pieces_.are_there() || pieces_.are_good(place)) && (!has_graph() || token_.is_alive());
  }
  // Puts all into the stream, once or many times. The function for batches serves only streams that are in order with
  // the program's NULL stream, or that no other stream is in order with, and not the NULL stream itself, which drivers
  // refuse. False if a copy was refused; then some may be in flight. While AtDevice lives.
  //   one_too  a single copy goes by that function as well
  bool submit(void* stream, bool one_too = false);
  // Can they be put there by one launch of a kernel or a graph, if by anything? A launch waits for nothing, where a
  // copy of memory that other processes have open may wait for the stream to come to it.
  bool is_one_launch() const { return size() == 0 || pieces_.are_there() || has_graph(); }
  // False if the driver refused; then no copy is in flight. While AtDevice lives.
  bool launch(void* stream) const;

 private:
  bool submit_at_once(void* stream);
  CopiesTogether together(bool in_one_device, bool many_times) const;
  bool has_graph() const { return graph_ != nullptr; }
  bool take_token(const DevicePlace& place);
  void build_graph(const DevicePlace& place);
  void forget_graph();
  std::vector<std::uintptr_t> to_, from_;
  std::vector<std::size_t> bytes_;
  DevicePieces pieces_;
  void* graph_ = nullptr;  // to be launched
  ContextToken token_;     // of the context that it was made in
};

// What calls have copied lately inside a device, with what puts it there by one call of the driver.
// A program most often exchanges the same buffers again. So what was made for such a list of copies is kept: the list
// that a kernel reads, and, if a program repeats it, a graph, where that is faster than the kernel
// (memory/device_pieces.hpp). To make a graph takes some hundred microseconds, which a list that comes once or twice
// would not win back.
class RepeatedCopies {
 public:
  // Two buffers each way, there and back.
  static constexpr std::size_t most = 4;
  static constexpr unsigned before_graph = 8;  // so many calls have the same list first

  // For the copies of the next call; empty.
  DeviceBatch& fresh();
  // When all were added to fresh(). A call before had the same copies at that place, and what was made for them is
  // still good: then it is that batch, else the fresh one, which is kept. `listed` tells memory from other memory that
  // is or was at the same addresses (DeviceSharing::all_listed()).
  DeviceBatch& take(const DevicePlace& place, std::uint64_t listed);
  // Of the batch that take() has given last: has it been the same so often that a graph is worth while? Says so once.
  bool is_for_graph() const { return kept_[last_].times == before_graph; }

 private:
  struct Kept {
    DeviceBatch batch;
    DevicePlace place;
    std::uint64_t listed = 0, used = 0;
    unsigned times = 0;  // calls that had it; 0: none
  };
  std::array<Kept, most + 1> kept_;  // one of them is fresh
  std::size_t fresh_ = 0, last_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace quadrille::memory
