// Blocks whose sizes travel, for the executor: two-phase Bruck, SLOAV, mn-co of uneven blocks.
//
// The messages of a round go in steps. First the sizes, at the head of a message, one number of 4 bytes for each block;
// then the data. If the data of a message are at most `eager` bytes, they go behind the sizes in one message: the
// receiver sees by the sizes that they are there. A number too large for 4 bytes is replaced by a mark, and all sizes
// of that message follow once more in 8 bytes, in a step between. With `coupled`, the length of the first message goes
// ahead in one more step, so data of any length go behind its sizes, but those of a message with a mark. A receiver
// takes all sizes from its sender, also those of its own blocks: where a program expects other sizes than are sent,
// only its own block is cut, when it is copied out.
//
// A block of scratch is nothing but an address and a size. What arrives stays where it arrived until it is
// sent on or copied out.
//
// Working memory of a rank, where N is the largest block and b the bytes that a round brings it:
//   by need      what a round sends, and the sum of b over the rounds; for even data about N/2 * P/2 * log2 P.
//                For each message up to `eager` bytes more
//   monolithic   what a round sends and brings, and N for each slot of blocks that wait; N is agreed first. Bounded
//                whatever the data are, and wasteful if N is far above the mean
// By need is the standard: it never takes more than the data that pass through the rank.
//
// A rank that finds no memory for what a round brings drops that, but for sizes without data behind them, which say
// what else comes. It goes on, as the others wait for it. A message that was to hold a block that was dropped comes
// with its sizes alone, and then its blocks count as dropped there, too. Who misses a block of its own returns
// MPI_ERR_NO_MEM, and so does who dropped one. It is the same with a message that could not be started, or that failed
// on its way. Of one that could not be started the sizes are sent once more, without data. If sizes failed on their
// way, or with `coupled` their length, nobody knows how long the blocks were: what moves on of them comes empty from
// the first step on.
#pragma once

#include <cstring>
#include <numeric>

#include "mpi/mpi.hpp"
#include "plan/schedule.hpp"
#include "run/executor.hpp"
#include "run/transport.hpp"

namespace quadrille::run {

// What the executor needs to know of such blocks. For each step it asks for all messages of the round, in their order;
// then it tells what came, in any order, and then that the step is over.
class CarriedBlocks {
 public:
  using Message = plan::Message;

  // All must outlive it, but for the limits.
  CarriedBlocks(const plan::Schedule& schedule, const Binding& binding, Transport& transport, CarriedMemory& memory,
                const CarriedLimits& limits)
      : schedule_(schedule),
        coupled_(schedule.sizes == plan::Sizes::coupled),
        binding_(binding),
        transport_(transport),
        memory_(memory),
        limits_(limits) {}
  CarriedBlocks& operator=(CarriedBlocks&&) = delete;

  // A start: no block is held.
  void begin() {
    memory_.held.assign(schedule_.scratch_blocks, {nullptr, 0});
    while (memory_.landing.size() < schedule_.rounds.size()) {
      memory_.landing.push_back(std::make_unique<memory::Pool>());
      memory_.heads.push_back(std::make_unique<memory::Pool>());
    }
  }

  // `after` the messages of a round. Before them, scratch blocks are brought together for these alone.
  int copy(const plan::Copy& copy, bool after) {
    if (copy.to.buffer == Buffer::recv) return copy_out(copy);
    keep(copy);
    if (after && has_slots()) move_to_slot(copy.to);
    return 0;
  }

  int steps() const { return coupled_ ? 4 : 3; }
  // Both this and copy() return an MPI error code; the call goes on.
  int begin_step(std::size_t round, int step) {
    round_ = round;
    step_ = static_cast<Step>(step + (coupled_ ? 0 : 1));
    error_ = 0;
    if (step_ == Step::lengths) prepare_lengths();
    if (step_ == Step::heads) prepare_heads();
    if (step_ == Step::wide) prepare_wide();
    if (step_ == Step::data) prepare_receives(), prepare_sends();
    if (drops_) transport_.drop_received(true);
    return error_;
  }

  // The places of a message. Nothing: there is no such message in this step, on either side.
  std::span<const Place> received(std::size_t i) {
    const Message& m = receives()[i];
    const std::span<const Place> none;
    if (step_ == Step::lengths) return is_none(m) ? none : one(&memory_.lengths_in[i], sizeof(std::uint64_t));
    if (step_ == Step::heads) {
      const std::uint64_t length = memory_.lengths_in[i];
      if (drops_) transport_.drop_received(is_dropped(i));
      return length == 0 ? none : one(memory_.heads_in[i], length);
    }
    if (step_ == Step::data) return {&memory_.coming[i], memory_.coming[i].bytes > 0 ? 1U : 0U};
    std::uint64_t* const at = next_wide_in_;
    next_wide_in_ += m.spans.count;
    const bool comes = memory_.lengths_in[i] > 0 && has_mark(m, memory_.heads_in[i]);
    return comes ? one(at, m.spans.count * sizeof *at) : none;
  }

  std::span<const Place> sent(std::size_t i) {
    if (step_ == Step::lengths) return length_message(i);
    if (step_ == Step::heads) return head_message(i);
    return step_ == Step::wide ? wide_message(i) : data_message(i);
  }

  // A received message is complete. Fewer bytes than were expected came if a block was dropped on its way.
  void came(std::size_t message, std::size_t bytes) {
    if (!is_dropped(message)) look_at(message, bytes);
  }

  // It could not be started: returns what is to go instead, for the receiver waits for something. That is its sizes
  // once more, without the data that went with them: a block of unknown size would empty all messages that it is
  // forwarded in, although it may be empty itself.
  Place not_sent(std::size_t i) {
    if (step_ == Step::lengths) memory_.lengths_out[i] = 0;
    if (step_ == Step::lengths || step_ == Step::data || memory_.lengths_out[i] == 0) return {};
    const Message& m = sends()[i];
    if (step_ == Step::heads) return plain_place(memory_.heads_out[i], head_bytes(m));
    const std::size_t sizes = m.spans.count;
    return plain_place(reinterpret_cast<std::byte*>(next_wide_out_ - sizes), sizes * sizeof(std::uint64_t));
  }

  void end_step() {
    if (drops_) transport_.drop_received(false);
    for (std::size_t i = 0; step_ == Step::heads && i < receives().size(); ++i) {
      if (is_dropped(i)) memory_.lengths_in[i] = 0;
    }
    drops_ = false;
  }

 private:
  using Buffer = plan::Buffer;
  using Held = CarriedMemory::Held;
  enum class Step : std::uint8_t { lengths, heads, wide, data };

  const plan::Round& round() const { return schedule_.rounds[round_]; }
  std::span<const Message> sends() const { return schedule_.messages_of(round().sends); }
  std::span<const Message> receives() const { return schedule_.messages_of(round().receives); }
  Held& held(const plan::Span& span) { return memory_.held[static_cast<std::size_t>(span.block)]; }
  // The blocks of a message.
  struct BlocksOf {
    struct Iterator {
      const plan::Span* span;
      Held* all;
      Held& operator*() const { return all[span->block]; }
      Iterator& operator++() { return ++span, *this; }
      bool operator==(const Iterator&) const = default;
    };
    std::span<const plan::Span> spans;
    Held* all;
    Iterator begin() const { return {spans.data(), all}; }
    Iterator end() const { return {spans.data() + spans.size(), all}; }
  };
  BlocksOf held(const Message& message) { return {schedule_.spans_of(message), memory_.held.data()}; }

  // ---- Copies ----

  // A block of scratch becomes what another block is; nothing moves.
  void keep(const plan::Copy& copy) {
    Held& to = held(copy.to);
    if (copy.from.buffer == Buffer::scratch) {
      to = held(copy.from);
    } else {
      const auto& blocks = copy.from.buffer == Buffer::send ? binding_.send : binding_.recv;
      const Place& from = blocks[static_cast<std::size_t>(copy.from.block)];
      to = {from.address, from.bytes};
    }
  }

  // Has a block that came and stays a slot in scratch, into which it is moved?
  bool has_slots() const { return binding_.scratch != nullptr; }

  void move_to_slot(const plan::Span& span) {
    Held& kept = held(span);
    if (is_lost(kept)) return;
    std::byte* const slot = binding_.scratch + static_cast<std::size_t>(span.block) * binding_.block_bytes;
    move(kept.at, slot, kept.bytes);
    kept.at = slot;
  }

  // To a receive block. More than it has room for is a mistake of the program.
  int copy_out(const plan::Copy& copy) {
    const Place& to = binding_.recv[static_cast<std::size_t>(copy.to.block)];
    if (copy.from.buffer != Buffer::scratch) {
      const Place& from = binding_.send[static_cast<std::size_t>(copy.from.block)];
      if (to.bytes == 0) return 0;
      if (from.address == nullptr || to.address == nullptr) return mpi().err_no_mem;
      return from.address == to.address ? 0 : transport_.copy(from, to);
    }
    const Held& from = held(copy.from);
    const std::size_t bytes = std::min(from.bytes, to.bytes);
    if (bytes > 0 && (is_lost(from) || to.address == nullptr)) return mpi().err_no_mem;
    move(from.at, to.address, bytes);
    return from.bytes > to.bytes && from.bytes != unknown_bytes ? mpi().err_truncate : 0;
  }

  // Large blocks go through the transport, so that a test can move blocks of gibibytes that are not there.
  void move(std::byte* from, std::byte* to, std::size_t bytes) {
    constexpr std::size_t large = 65536;
    if (bytes == 0) return;
    if (bytes < large) {
      std::memcpy(to, from, bytes);
    } else {
      transport_.copy(plain_place(from, bytes), plain_place(to, bytes));
    }
  }

  void append_blocks(std::byte*& at, const Message& m) {
    for (const Held& block : held(m)) {
      move(block.at, at, block.bytes);
      at += block.bytes;
    }
  }

  // ---- The blocks of a message ----

  // Nowhere: it was dropped, could not be packed, or did not come.
  static bool is_lost(const Held& block) { return block.at == nullptr && block.bytes > 0; }
  static constexpr std::size_t unknown_bytes = SIZE_MAX;

  bool is_lost(const Message& m) {
    return std::ranges::any_of(schedule_.spans_of(m), [this](const plan::Span& span) { return is_lost(held(span)); });
  }

  bool has_unknown(const Message& m) {
    const auto is_unknown = [this](const plan::Span& span) { return held(span).bytes == unknown_bytes; };
    return std::ranges::any_of(schedule_.spans_of(m), is_unknown);
  }

  void lose(const Message& m) {
    for (Held& block : held(m)) block.at = nullptr;
  }

  // None of them unknown.
  std::size_t bytes_of(const Message& m) {
    std::size_t bytes = 0;
    for (const Held& block : held(m)) bytes += block.bytes;
    return bytes;
  }

  // ---- Sizes ----

  // Stands for a size that does not fit 4 bytes.
  static constexpr std::uint32_t wide_mark = UINT32_MAX;

  // Of the sizes.
  static std::size_t head_bytes(const Message& m) { return m.spans.count * sizeof(std::uint32_t); }

  static std::uint32_t size_at(const std::byte* head, std::uint32_t index) {
    std::uint32_t size;
    std::memcpy(&size, head + index * sizeof size, sizeof size);
    return size;
  }

  // Whether a mark stands for one of the sizes.
  static bool has_mark(const Message& m, const std::byte* head) {
    for (std::uint32_t s = 0; s < m.spans.count; ++s) {
      if (size_at(head, s) == wide_mark) return true;
    }
    return false;
  }

  // Sizes without data behind them are never dropped: their marks tell which messages follow.
  bool is_dropped(std::size_t i) const {
    return drops_ && (step_ != Step::heads || memory_.lengths_in[i] > head_bytes(receives()[i]));
  }

  void look_at(std::size_t i, std::size_t bytes) {
    const Message& m = receives()[i];
    if (step_ == Step::lengths) {
      if (bytes < sizeof(std::uint64_t)) memory_.lengths_in[i] = 0;
    } else if (step_ == Step::heads) {
      memory_.lengths_in[i] = bytes < head_bytes(m) ? 0 : bytes;
    } else if (step_ == Step::wide) {
      if (bytes < m.spans.count * sizeof(std::uint64_t)) memory_.lengths_in[i] = 0;
    } else if (bytes < memory_.coming[i].bytes) {
      lose(m);
    }
  }

  void prepare_lengths() {
    memory_.lengths_in.assign(receives().size(), 0);
    memory_.lengths_out.assign(sends().size(), 0);
  }

  std::span<const Place> length_message(std::size_t i) {
    const Message& m = sends()[i];
    if (is_none(m)) return {};
    memory_.lengths_out[i] = has_unknown(m) ? 0 : head_bytes(m) + bytes_in_head(m);
    return one(&memory_.lengths_out[i], sizeof(std::uint64_t));
  }

  // Of the data that go behind the sizes.
  std::size_t bytes_in_head(const Message& m) {
    bool wide = false;
    for (const Held& block : held(m)) wide = wide || block.bytes >= limits_.wide_from;
    const std::size_t bytes = bytes_of(m);
    return wide || is_lost(m) || (!coupled_ && bytes > limits_.eager) ? 0 : bytes;
  }

  void prepare_heads() {
    const auto know_lengths = [this](std::span<const Message> all, std::vector<std::uint64_t>& lengths) {
      lengths.clear();
      for (const Message& m : all) lengths.push_back(is_none(m) ? 0 : head_bytes(m) + limits_.eager);
    };
    if (!coupled_) know_lengths(receives(), memory_.lengths_in), know_lengths(sends(), memory_.lengths_out);
    packs_ = lay_out(sends(), memory_.lengths_out, memory_.heads_out, memory_.sent_heads) || !coupled_;
    drops_ = !lay_out(receives(), memory_.lengths_in, memory_.heads_in, *memory_.heads[round_]) && coupled_;
    if (drops_) error_ = mpi().err_no_mem;
  }

  // False if there is no memory for all together. Then each has its own for sizes and eager data, which is so little
  // that the reserve has it.
  bool lay_out(std::span<const Message> all, const std::vector<std::uint64_t>& lengths, std::vector<std::byte*>& heads,
               memory::Pool& pool) {
    const std::uint64_t total = std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0});
    std::byte* at = nullptr;
    const bool is_together = total == 0 || thrown_by([&] { at = pool.take(total); }) == mpi_success;
    heads.assign(all.size(), nullptr);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (lengths[i] == 0) continue;
      if (is_together) {
        heads[i] = at;
        at += lengths[i];
      } else {
        memory::Pool& own = *memory_.single.emplace_back(std::make_unique<memory::Pool>());
        heads[i] = own.take(head_bytes(all[i]) + limits_.eager);
      }
    }
    return is_together;
  }

  std::span<const Place> head_message(std::size_t i) {
    const Message& m = sends()[i];
    std::byte* const head = memory_.heads_out[i];
    if (memory_.lengths_out[i] == 0) return {};
    if (has_unknown(m)) {
      memory_.lengths_out[i] = 0;
      return one(head, 0);
    }
    std::byte* at = head;
    for (const Held& block : held(m)) {
      const std::uint32_t size = block.bytes < limits_.wide_from ? static_cast<std::uint32_t>(block.bytes) : wide_mark;
      std::memcpy(at, &size, sizeof size);
      at += sizeof size;
    }
    const bool has_data = bytes_in_head(m) > 0;
    if (has_data && packs_) append_blocks(at, m);
    one(head, static_cast<std::size_t>(at - head));
    if (has_data && !packs_) also_send_blocks(m);
    return memory_.going;
  }

  // Do the data of this message follow its sizes? Its blocks are known on the side that asks.
  bool comes_with_sizes(const Message& m, const std::byte* head) {
    return !has_mark(m, head) && (coupled_ || bytes_of(m) <= limits_.eager);
  }

  // For messages with a size that 4 bytes cannot hold.
  void prepare_wide() {
    const auto room_for = [](std::span<const Message> all, std::vector<std::uint64_t>& numbers) {
      std::size_t sizes = 0;
      for (const Message& m : all) sizes += m.spans.count;
      numbers.resize(sizes);
      return numbers.data();
    };
    next_wide_in_ = room_for(receives(), memory_.wide_in);
    next_wide_out_ = room_for(sends(), memory_.wide_out);
  }

  std::span<const Place> wide_message(std::size_t i) {
    const Message& m = sends()[i];
    std::uint64_t* const at = next_wide_out_;
    next_wide_out_ += m.spans.count;
    if (memory_.lengths_out[i] == 0 || !has_mark(m, memory_.heads_out[i])) return {};
    std::size_t count = 0;
    for (const Held& block : held(m)) at[count++] = block.bytes;
    return one(at, count * sizeof *at);
  }

  // The sizes of the blocks of a message that comes. `wide_sizes` has them, if they came in 8 bytes.
  void take_sizes(std::size_t i, const std::uint64_t* wide_sizes) {
    const Message& m = receives()[i];
    const std::byte* const head = memory_.heads_in[i];
    const bool is_cut = memory_.lengths_in[i] == 0, is_marked = !is_cut && has_mark(m, head);
    std::uint32_t s = 0;
    for (Held& block : held(m)) {
      block.bytes = is_cut ? unknown_bytes : is_marked ? wide_sizes[s] : size_at(head, s);
      ++s;
    }
  }

  // ---- Data ----

  void prepare_receives() {
    const std::uint64_t* wide_sizes = memory_.wide_in.data();
    std::size_t total = 0;
    for (std::size_t i = 0; i < receives().size(); ++i) {
      const Message& m = receives()[i];
      take_sizes(i, wide_sizes);
      wide_sizes += m.spans.count;
      if (memory_.lengths_in[i] > 0 && !comes_with_sizes(m, memory_.heads_in[i])) total += bytes_of(m);
    }
    // What moves on is copied out of the monolithic buffer in the same round; by need it stays until the end.
    std::byte* landing = take_landing(has_slots() ? memory_.monolithic.recv : *memory_.landing[round_], total);
    memory_.coming.assign(receives().size(), {});
    for (std::size_t i = 0; i < receives().size(); ++i) {
      const Message& m = receives()[i];
      if (memory_.lengths_in[i] == 0) {
        lose(m);
        continue;
      }
      const bool is_here = comes_with_sizes(m, memory_.heads_in[i]);
      std::byte* const begin = is_here ? memory_.heads_in[i] + head_bytes(m) : landing;
      std::size_t bytes = 0;
      for (Held& block : held(m)) {
        block.at = begin == nullptr ? nullptr : begin + bytes;
        bytes += block.bytes;
      }
      if (is_here) {
        if (memory_.lengths_in[i] < head_bytes(m) + bytes) lose(m);
        continue;
      }
      if (landing != nullptr) landing += bytes;
      memory_.coming[i] = plain_place(begin, bytes);
    }
  }

  void prepare_sends() {
    std::size_t total = 0;
    for (std::size_t i = 0; i < sends().size(); ++i) {
      const Message& m = sends()[i];
      if (m.spans.count < 2 || memory_.lengths_out[i] == 0 || is_lost(m)) continue;
      if (!comes_with_sizes(m, memory_.heads_out[i])) total += bytes_of(m);
    }
    memory::Pool& staging = has_slots() ? memory_.monolithic.send : memory_.staging;
    packs_ = total == 0 || thrown_by([&] { next_out_ = staging.take(total); }) == mpi_success;
  }

  std::span<const Place> data_message(std::size_t i) {
    const Message& m = sends()[i];
    if (memory_.lengths_out[i] == 0) return {};
    const std::size_t bytes = bytes_of(m);
    if (bytes == 0 || comes_with_sizes(m, memory_.heads_out[i])) return {};
    if (is_lost(m)) return one(nullptr, 0);
    // One block is sent from where it is, and so are all without memory to bring them together.
    if (m.spans.count == 1 || !packs_) {
      memory_.going.clear();
      also_send_blocks(m);
      return memory_.going;
    }
    std::byte* const begin = next_out_;
    append_blocks(next_out_, m);
    return one(begin, bytes);
  }

  // ---- Places ----

  // Room for what comes now. Without memory all that comes in this step is dropped.
  std::byte* take_landing(memory::Pool& pool, std::size_t bytes) {
    std::byte* landing = nullptr;
    if (bytes > 0) error_ = thrown_by([&] { landing = pool.take(bytes); });
    drops_ = error_ != mpi_success;
    return landing;
  }

  std::span<const Place> one(void* at, std::size_t bytes) {
    memory_.going.assign(1, plain_place(static_cast<std::byte*>(at), bytes));
    return memory_.going;
  }

  // Where they lie, behind what goes already.
  void also_send_blocks(const Message& m) {
    for (const Held& block : held(m)) {
      if (block.bytes > 0) memory_.going.push_back(plain_place(block.at, block.bytes));
    }
  }

  const plan::Schedule& schedule_;
  const bool coupled_;
  const Binding& binding_;
  Transport& transport_;
  CarriedMemory& memory_;
  const CarriedLimits limits_;
  std::size_t round_ = 0;
  Step step_ = Step::lengths;
  int error_ = 0;                           // of this step
  bool drops_ = false;                      // what comes in this step
  bool packs_ = false;                      // there is memory to bring the blocks of a message together
  std::byte* next_out_ = nullptr;           // where the next message that is brought together begins
  std::uint64_t* next_wide_in_ = nullptr;   // sizes of the next message
  std::uint64_t* next_wide_out_ = nullptr;  // likewise
};

}  // namespace quadrille::run
