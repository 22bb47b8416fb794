// A message layer for many ranks in one process, without time or threads: each rank is advanced by hand,
// and messages are delivered in random order (in order for each pair of ranks, as MPI promises).
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <vector>

#include "run/transport.hpp"

namespace quadrille::test {

struct Posted {
  bool is_send = false;
  bool complete = true;
  bool reported = true;
  int peer = -1;
  std::vector<run::Place> places;
  std::size_t came = 0;  // bytes
  bool fails = false;    // on its way: nothing comes
  bool drops = false;    // what comes, of whatever length
};

// What goes wrong for one rank: the n-th send it starts cannot be started, or the n-th receive fails. From 1 on; 0:
// none.
struct Trouble {
  int send = 0, receive = 0;
  static constexpr int error = 17;
};

class Network;

class Loopback final : public run::Transport {
 public:
  Loopback(Network& network, int me) : network_(network), me_(me) {}
  int start_send(std::size_t slot, int peer, std::span<const run::Place> places) override;
  int start_receive(std::size_t slot, int peer, std::span<const run::Place> places) override;
  int all_done(std::size_t slots, bool block, bool& done) override;
  int any_done(std::size_t slots, bool block, bool poll, std::size_t& slot) override;
  int copy(const run::Place& from, const run::Place& to) override {
    std::memcpy(to.address, from.address, to.bytes);
    return 0;
  }
  void drop_received(bool drops) override { drops_ = drops; }
  std::size_t came(std::size_t slot) const override { return slots[slot].came; }
  std::vector<Posted> slots;
  Trouble trouble;

 private:
  int start(std::size_t slot, bool is_send, int peer, std::span<const run::Place> places);
  Network& network_;
  int me_;
  bool drops_ = false;
};

// All messages are rendezvous: a send is complete only when its data has been received.
class Network {
 public:
  bool may_be_shorter = false;  // a message than its receive

  Network(int ranks, unsigned seed) : random_(seed) {
    for (int r = 0; r < ranks; ++r) ranks_.emplace_back(*this, r);
  }
  Loopback& rank(int r) { return ranks_[static_cast<std::size_t>(r)]; }
  void post(int me, std::size_t slot) { order_.push_back({me, slot}); }

  // Delivers one message that can be delivered, chosen at random. False if there is none.
  bool deliver_one() {
    std::vector<std::pair<Entry, Entry>> ready;
    for (const Entry& send : order_) {
      if (!posted(send).is_send || !first_of_its_pair(send)) continue;
      for (const Entry& receive : order_) {
        const Posted& r = posted(receive);
        if (r.is_send || receive.rank != posted(send).peer || r.peer != send.rank) continue;
        ready.push_back({send, receive});
        break;  // the oldest matching receive
      }
    }
    if (ready.empty()) return false;
    const auto [send, receive] = ready[random_() % ready.size()];
    move_data(posted(send), posted(receive));
    posted(send).complete = posted(receive).complete = true;
    std::erase(order_, send);
    std::erase(order_, receive);
    return true;
  }
  std::mt19937& random() { return random_; }

 private:
  struct Entry {
    int rank;
    std::size_t slot;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  Posted& posted(const Entry& e) { return rank(e.rank).slots[e.slot]; }
  bool first_of_its_pair(const Entry& send) {
    for (const Entry& other : order_) {
      if (other == send) return true;
      if (posted(other).is_send && other.rank == send.rank && posted(other).peer == posted(send).peer) {
        return false;
      }
    }
    return true;
  }
  void move_data(const Posted& send, Posted& receive) {
    if (receive.fails || receive.drops) return;
    std::vector<std::byte> data;
    for (const run::Place& p : send.places) data.insert(data.end(), p.address, p.address + p.bytes);
    std::size_t at = 0;
    for (const run::Place& p : receive.places) {
      if (at + p.bytes > data.size() && !may_be_shorter) {
        throw std::logic_error("receive is larger than its send");
      }
      const std::size_t bytes = std::min(p.bytes, data.size() - at);
      if (bytes > 0) std::memcpy(p.address, data.data() + at, bytes);
      at += bytes;
    }
    if (at != data.size()) throw std::logic_error("receive is smaller than its send");
    receive.came = at;
  }
  std::vector<Entry> order_;
  std::deque<Loopback> ranks_;
  std::mt19937 random_;
};

inline int Loopback::start(std::size_t slot, bool is_send, int peer, std::span<const run::Place> places) {
  if (slot >= slots.size()) slots.resize(slot + 1);
  if (!slots[slot].complete) throw std::logic_error("a slot in use was started again");
  int& left = is_send ? trouble.send : trouble.receive;
  const bool fails = left > 0 && --left == 0;
  if (fails && is_send) return Trouble::error;
  slots[slot] = {is_send, false, false, peer, {places.begin(), places.end()}, 0, fails, drops_};
  network_.post(me_, slot);
  return 0;
}
inline int Loopback::start_send(std::size_t slot, int peer, std::span<const run::Place> places) {
  return start(slot, true, peer, places);
}
inline int Loopback::start_receive(std::size_t slot, int peer, std::span<const run::Place> places) {
  return start(slot, false, peer, places);
}
inline int Loopback::all_done(std::size_t count, bool, bool& done) {
  done = true;
  for (std::size_t s = 0; s < std::min(count, slots.size()); ++s) done = done && slots[s].complete;
  int error = 0;
  for (std::size_t s = 0; done && s < std::min(count, slots.size()); ++s) {
    if (slots[s].fails && !slots[s].reported) error = Trouble::error;
    slots[s].reported = true;
  }
  return error;
}
inline int Loopback::any_done(std::size_t count, bool, bool, std::size_t& slot) {
  slot = count;
  for (std::size_t s = 0; s < std::min(count, slots.size()); ++s) {
    if (slots[s].complete && !slots[s].reported) {
      slots[s].reported = true;
      slot = s;
      return slots[s].fails ? Trouble::error : 0;
    }
  }
  return 0;
}

}  // namespace quadrille::test
