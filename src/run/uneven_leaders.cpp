// Runs an Alltoallv or Alltoallw through leaders, in one turn (memory/leaders.hpp).
//
// A place has room for the size of a block and `most_` bytes. Blocks that stay in the node have a place each. What goes
// to another node by one leader, a stream, is a table of sizes and then a region for each source, large enough for all
// its blocks; in it they lie one behind the other:
//
//   sizes[destination][source]   region of source 0: block for destination 0, for 1, ...   region of source 1: ...
//
// The leader sends the table and what is used of each region, as one message. So a block costs what it has, the
// receiver learns the sizes with the blocks, and no rank need know those of others. If nothing moves on a stream there
// is no message: each rank says in the scratch part of the area from which nodes it expects anything.
//
// A block of more than `most_` bytes is a message from rank to rank; its size in the table has a mark. The receiver
// begins to receive when it has seen the mark, so both sides go by the same. In place such a block is copied first; a
// rank without memory for that drops what comes instead, and returns an error.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "memory/copy_kernels.hpp"
#include "run/leaders.hpp"

namespace quadrille::run {
namespace {

using plan::LeadersPart;

// Of a block that is a message of its own; the rest is its size, or the largest that fits if it is larger.
constexpr std::uint32_t beside = std::uint32_t{1} << 31;

std::size_t most_through(const plan::LeadersPlan& plan, const memory::Leaders& area) {
  constexpr std::size_t size = sizeof(std::uint32_t);
  const std::size_t place = std::max(most_a_place(plan, area.parts()), 2 * size);
  return std::min(plan.piece, place - size) / size * size;
}

class UnevenLeaders final : public LeadersCall {
 public:
  UnevenLeaders(const Call& call, const plan::LeadersPlan& plan, memory::Leaders& area, LeadersWork& work, Group& group,
                memory::Packing& packing)
      : LeadersCall(call, plan, area, work, group, packing), most_(most_through(plan, area)) {
    if (!call.in_place) return;
    std::size_t staged = 0;
    for (int r = 0; r < plan.ranks; ++r) staged += is_beside(send_[r].bytes()) && r != group.me ? send_[r].bytes() : 0;
    has_room_ = send_room_.reserve(staged);
  }

  // No message may be in flight to memory that the caller frees. Where a rank may fail, ~LeadersCall() sees to that.
  ~UnevenLeaders() override {
    bool done = true;
    if (messages_ > 0 && !reports_faults()) work_.beside.all_done(messages_, true, done);
  }

  int start() override {
    error_ = has_room_ ? mpi_success : mpi().err_no_mem;
    send_room_.begin_again();
    work_.beside.drop_received(!has_room_);
    area_.begin();
    say_what_is_expected();
    pack_own();
    for (const plan::LeadersOut& out : plan_.outs) pack_stream(out);
    begin_exchange(false);
    return advance();
  }

  int advance() override {
    if (phase_ == Phase::exchanging) {
      if (!advance_exchange()) return mpi_success;
      unpack_all();
      phase_ = Phase::ending;
    }
    if (phase_ == Phase::ending && !messages_are_done()) return mpi_success;
    phase_ = Phase::idle;
    return error_;
  }

 private:
  using Size = std::uint32_t;

  // Where things are in a stream of `destinations` and `sources`.
  struct Stream {
    Size* sizes;
    std::byte* data;
    std::size_t destinations, sources;
    Size& size(std::size_t destination, std::size_t source) const { return sizes[destination * sources + source]; }
    std::size_t header() const { return destinations * sources * sizeof(Size); }
    // Of the blocks of one source, without those that go beside.
    std::size_t bytes_of(std::size_t source) const {
      std::size_t bytes = 0;
      for (std::size_t d = 0; d < destinations; ++d) bytes += in_stream(size(d, source));
      return bytes;
    }
    static std::size_t in_stream(Size size) { return (size & beside) != 0 ? 0 : size; }
  };

  bool is_beside(std::size_t bytes) const { return bytes > most_; }
  std::size_t place_bytes() const { return sizeof(Size) + most_; }

  std::byte* at(std::size_t place) const {
    const std::size_t part = part_of(place);
    return area_.part(part) + (place - plan_.parts[part]) * place_bytes();
  }

  Stream stream_at(std::size_t place, std::size_t destinations, std::size_t sources) const {
    std::byte* base = at(place);
    return {reinterpret_cast<Size*>(base), base + destinations * sources * sizeof(Size), destinations, sources};
  }

  std::byte* region(const Stream& stream, std::size_t source) const {
    return stream.data + source * stream.destinations * most_;
  }

  // ---- What each rank does ----

  // A byte for each member and node.
  std::uint8_t* expected(int member) const {
    return reinterpret_cast<std::uint8_t*>(area_.part(static_cast<std::size_t>(LeadersPart::scratch))) +
           static_cast<std::size_t>(member) * plan_.nodes;
  }

  bool expects_from(const plan::LeadersIn& in) const {
    return std::any_of(in.from.begin(), in.from.end(), [&](int rank) { return recv_.bytes_of(rank) > 0; });
  }

  void say_what_is_expected() {
    std::uint8_t* mine = expected(plan_.number);
    for (const plan::LeadersIn& in : plan_.ins) mine[in.node] = expects_from(in) ? 1 : 0;
  }

  // Writes a block where it goes through the area, or sends it. Returns what its size says.
  Size put(int to, std::byte* where) {
    const Block block = send_[to];
    const std::size_t bytes = block.bytes();
    if (is_beside(bytes)) {
      send_beside(to, block);
      return beside | static_cast<Size>(std::min<std::size_t>(bytes, beside - 1));
    }
    if (bytes > 0) pack_block(block, where);
    return static_cast<Size>(bytes);
  }

  std::size_t own_place(std::size_t destination, std::size_t source) const {
    return (area_.set() == 1 ? plan_.own_places() : 0) + destination * plan_.members.size() + source;
  }

  void pack_own() {
    for (std::size_t d = 0; d < plan_.members.size(); ++d) {
      if (plan_.members[d] == group_.me) continue;
      std::byte* place = at(own_place(d, static_cast<std::size_t>(plan_.number)));
      *reinterpret_cast<Size*>(place) = put(plan_.members[d], place + sizeof(Size));
    }
  }

  void unpack_own() {
    for (std::size_t s = 0; s < plan_.members.size(); ++s) {
      const int source = plan_.members[s];
      if (source == group_.me) {
        // A function that is always inlined has no address without optimisation.
        const auto copy = [](std::byte* to, const std::byte* from, std::size_t bytes) {
          memory::copy_bytes(to, from, bytes);
        };
        if (!call_.in_place) copy_mine(send_[source], recv_[source], packing_.own, copy);
        continue;
      }
      const std::byte* place = at(own_place(static_cast<std::size_t>(plan_.number), s));
      take(source, *reinterpret_cast<const Size*>(place), place + sizeof(Size));
    }
  }

  void pack_stream(const plan::LeadersOut& out) {
    const Stream stream = stream_at(out.at, out.to.size(), plan_.members.size());
    const auto me = static_cast<std::size_t>(plan_.number);
    std::byte* next = region(stream, me);
    for (std::size_t d = 0; d < out.to.size(); ++d) {
      const Size size = put(out.to[d], next);
      stream.size(d, me) = size;
      next += Stream::in_stream(size);
    }
  }

  void unpack_all() {
    unpack_own();
    keep(error_, leaders_error_);
    if (leaders_error_ != mpi_success) return;  // there may be no table of sizes
    for (const plan::LeadersIn& in : plan_.ins) {
      if (expects_from(in)) unpack_stream(in);
    }
  }

  // What came has its regions one behind the other.
  void unpack_stream(const plan::LeadersIn& in) {
    const Stream stream = stream_at(in.at, static_cast<std::size_t>(in.share), in.from.size());
    const auto me = static_cast<std::size_t>(in.number);
    const std::byte* next = stream.data;
    for (std::size_t s = 0; s < in.from.size(); ++s) {
      for (std::size_t d = 0; d < stream.destinations; ++d) {
        const Size size = stream.size(d, s);
        if (d == me) take(in.from[s], size, next);
        next += Stream::in_stream(size);
      }
    }
  }

  void take(int from, Size size, const std::byte* bytes) {
    if ((size & beside) != 0) return receive_beside(from, size & ~beside);
    const Block block = recv_[from];
    const std::size_t fits = fitting(size, block.bytes());
    if (fits > 0 && has_room_) unpack_block(bytes, fits, block);
  }

  // ---- Blocks beside the leaders ----

  void send_beside(int to, const Block& block) {
    Place place = typed_place(block);
    if (call_.in_place && has_room_) place = packed_place(block, packed(block, send_room_));
    keep(error_, work_.beside.start_send(messages_++, to, {&place, 1}));
  }

  void receive_beside(int from, std::size_t sent) {
    const Block block = recv_[from];
    if (sent > block.bytes()) {
      keep(error_, mpi().err_truncate);
      return keep(error_, work_.beside.start_dropping(messages_++, from, sent));
    }
    const Place place = typed_place(block);
    keep(error_, work_.beside.start_receive(messages_++, from, {&place, 1}));
  }

  bool messages_are_done() {
    if (messages_ == 0) return true;
    bool done = false;
    keep(error_, work_.beside.all_done(messages_, false, done));
    if (done) messages_ = 0;
    return done;
  }

  // ---- A leader's ----

  void bind() override {
    std::fill(work_.sent.begin(), work_.sent.end(), Place{});
    std::fill(work_.received.begin(), work_.received.end(), Place{});
    for (std::size_t s = 0; s < plan_.streams.size(); ++s) bind_stream(s);
    work_.binding.send = work_.sent;
    work_.binding.recv = work_.received;
  }

  void bind_stream(std::size_t number) {
    const plan::LeadersStream& stream = plan_.streams[number];
    const std::size_t members = plan_.members.size(), parts = 1 + members;
    if (stream.send_count == 0) return;
    const Stream out = stream_at(stream.send_at, stream.send_count / members, members);
    const bool sends = std::any_of(out.sizes, out.sizes + stream.send_count, [](Size size) { return size != 0; });
    for (std::size_t p = 0; p < parts && sends; ++p) {
      std::byte* part = p == 0 ? at(stream.send_at) : region(out, p - 1);
      const std::size_t bytes = p == 0 ? out.header() : out.bytes_of(p - 1);
      work_.sent[number * parts + p] = plain_place(part, bytes);
    }
    bool receives = false;
    for (int m = stream.share_first; m < stream.share_first + stream.share_count; ++m) {
      receives = receives || expected(m)[stream.node] != 0;
    }
    const std::size_t room = receives ? stream.recv_count * place_bytes() : 0;
    work_.received[number] = plain_place(at(stream.recv_at), room);
  }

  const std::size_t most_;  // bytes of a block that goes through the area
  bool has_room_ = true;
};

}  // namespace

std::unique_ptr<LeadersCall> uneven_leaders(const Call& call, const plan::LeadersPlan& plan, memory::Leaders& area,
                                            LeadersWork& work, Group& group, memory::Packing& packing) {
  return std::make_unique<UnevenLeaders>(call, plan, area, work, group, packing);
}

}  // namespace quadrille::run
