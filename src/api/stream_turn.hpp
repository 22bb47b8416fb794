// The place of a request in streams of a device (api/enqueue.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "memory/device_streams.hpp"

namespace quadrille::api {

// Its starts by streams have numbers, one after the other. A start is a turn: the stream says when it has come, the
// request does its work, and lets the stream go on.
struct StreamTurn {
  memory::StreamWords* words = nullptr;
  memory::DevicePlace place;  // of the stream of the last turn
  // Under the lock of run::UnderWay: the turn that is awaited or in flight, and the last enqueued one.
  std::uint32_t now = 0, last = 0;
  bool is_listed = false;  // among those that are not over
  // The driver has refused something in the middle: the request goes through all its turns without its streams, and its
  // memory is not used again, as some stream may still do so.
  bool is_broken = false;

  StreamTurn& operator=(StreamTurn&&) = delete;
  ~StreamTurn() {
    if (words != nullptr && !is_broken) memory::give_words_back(*words);
  }
  bool has_come() const { return is_broken || words->ready.load(std::memory_order_acquire) == now; }
  // The streams have passed all turns.
  bool is_over() const { return !is_broken && words->over.load(std::memory_order_acquire) == last; }
};

}  // namespace quadrille::api
