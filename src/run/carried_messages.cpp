// Blocks whose sizes travel: the messages of a round, step by step (carried.hpp).
#include <numeric>

#include "run/carried.hpp"

namespace quadrille::run {
namespace {

// Stands for a size that does not fit 4 bytes.
constexpr std::uint32_t wide_mark = UINT32_MAX;

// Of the sizes.
std::size_t head_bytes(const plan::Message& m) { return m.spans.count * sizeof(std::uint32_t); }

std::uint32_t size_at(const std::byte* head, std::uint32_t index) {
  std::uint32_t size;
  std::memcpy(&size, head + index * sizeof size, sizeof size);
  return size;
}

// Whether a mark stands for one of the sizes.
bool has_mark(const plan::Message& m, const std::byte* head) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    if (size_at(head, s) == wide_mark) return true;
  }
  return false;
}

}  // namespace

int CarriedBlocks::begin_step(std::size_t round, int step) {
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

void CarriedBlocks::end_step() {
  if (drops_) transport_.drop_received(false);
  for (std::size_t i = 0; step_ == Step::heads && i < receives().size(); ++i) {
    if (is_dropped(i)) memory_.lengths_in[i] = 0;
  }
  drops_ = false;
}

// Sizes without data behind them are never dropped: their marks tell which messages follow.
bool CarriedBlocks::is_dropped(std::size_t i) const {
  return drops_ && (step_ != Step::heads || memory_.lengths_in[i] > head_bytes(receives()[i]));
}

std::span<const Place> CarriedBlocks::received(std::size_t i) {
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

std::span<const Place> CarriedBlocks::sent(std::size_t i) {
  if (step_ == Step::lengths) return length_message(i);
  if (step_ == Step::heads) return head_message(i);
  return step_ == Step::wide ? wide_message(i) : data_message(i);
}

// Its sizes once more, without the data that went with them: a block of unknown size would empty all messages that it
// is forwarded in, although it may be empty itself.
Place CarriedBlocks::not_sent(std::size_t i) {
  if (step_ == Step::lengths) memory_.lengths_out[i] = 0;
  if (step_ == Step::lengths || step_ == Step::data || memory_.lengths_out[i] == 0) return {};
  const Message& m = sends()[i];
  if (step_ == Step::heads) return plain_place(memory_.heads_out[i], head_bytes(m));
  const std::size_t sizes = m.spans.count;
  return plain_place(reinterpret_cast<std::byte*>(next_wide_out_ - sizes), sizes * sizeof(std::uint64_t));
}

void CarriedBlocks::look_at(std::size_t i, std::size_t bytes) {
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

// ---- Sizes ----

void CarriedBlocks::prepare_lengths() {
  memory_.lengths_in.assign(receives().size(), 0);
  memory_.lengths_out.assign(sends().size(), 0);
}

std::span<const Place> CarriedBlocks::length_message(std::size_t i) {
  const Message& m = sends()[i];
  if (is_none(m)) return {};
  memory_.lengths_out[i] = has_unknown(m) ? 0 : head_bytes(m) + bytes_in_head(m);
  return one(&memory_.lengths_out[i], sizeof(std::uint64_t));
}

// Of the data that go behind the sizes.
std::size_t CarriedBlocks::bytes_in_head(const Message& m) {
  bool wide = false;
  for (const Held& block : held(m)) wide = wide || block.bytes >= limits_.wide_from;
  const std::size_t bytes = bytes_of(m);
  return wide || is_lost(m) || (!coupled_ && bytes > limits_.eager) ? 0 : bytes;
}

void CarriedBlocks::prepare_heads() {
  const auto know_lengths = [this](std::span<const Message> all, std::vector<std::uint64_t>& lengths) {
    lengths.clear();
    for (const Message& m : all) lengths.push_back(is_none(m) ? 0 : head_bytes(m) + limits_.eager);
  };
  if (!coupled_) know_lengths(receives(), memory_.lengths_in), know_lengths(sends(), memory_.lengths_out);
  packs_ = lay_out(sends(), memory_.lengths_out, memory_.heads_out, memory_.sent_heads) || !coupled_;
  drops_ = !lay_out(receives(), memory_.lengths_in, memory_.heads_in, *memory_.heads[round_]) && coupled_;
  if (drops_) error_ = mpi().err_no_mem;
}

// False if there is no memory for all together. Then each has its own for sizes and eager data, which is so little that
// the reserve has it.
bool CarriedBlocks::lay_out(std::span<const Message> all, const std::vector<std::uint64_t>& lengths,
                            std::vector<std::byte*>& heads, memory::Pool& pool) {
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

std::span<const Place> CarriedBlocks::head_message(std::size_t i) {
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
bool CarriedBlocks::comes_with_sizes(const Message& m, const std::byte* head) {
  return !has_mark(m, head) && (coupled_ || bytes_of(m) <= limits_.eager);
}

// For messages with a size that 4 bytes cannot hold.
void CarriedBlocks::prepare_wide() {
  const auto room_for = [](std::span<const Message> all, std::vector<std::uint64_t>& numbers) {
    std::size_t sizes = 0;
    for (const Message& m : all) sizes += m.spans.count;
    numbers.resize(sizes);
    return numbers.data();
  };
  next_wide_in_ = room_for(receives(), memory_.wide_in);
  next_wide_out_ = room_for(sends(), memory_.wide_out);
}

std::span<const Place> CarriedBlocks::wide_message(std::size_t i) {
  const Message& m = sends()[i];
  std::uint64_t* const at = next_wide_out_;
  next_wide_out_ += m.spans.count;
  if (memory_.lengths_out[i] == 0 || !has_mark(m, memory_.heads_out[i])) return {};
  std::size_t count = 0;
  for (const Held& block : held(m)) at[count++] = block.bytes;
  return one(at, count * sizeof *at);
}

// The sizes of the blocks of a message that comes. `wide_sizes` has them, if they came in 8 bytes.
void CarriedBlocks::take_sizes(std::size_t i, const std::uint64_t* wide_sizes) {
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

void CarriedBlocks::prepare_receives() {
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

void CarriedBlocks::prepare_sends() {
  std::size_t total = 0;
  for (std::size_t i = 0; i < sends().size(); ++i) {
    const Message& m = sends()[i];
    if (m.spans.count < 2 || memory_.lengths_out[i] == 0 || is_lost(m)) continue;
    if (!comes_with_sizes(m, memory_.heads_out[i])) total += bytes_of(m);
  }
  memory::Pool& staging = has_slots() ? memory_.monolithic.send : memory_.staging;
  packs_ = total == 0 || thrown_by([&] { next_out_ = staging.take(total); }) == mpi_success;
}

std::span<const Place> CarriedBlocks::data_message(std::size_t i) {
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
std::byte* CarriedBlocks::take_landing(memory::Pool& pool, std::size_t bytes) {
  std::byte* landing = nullptr;
  if (bytes > 0) error_ = thrown_by([&] { landing = pool.take(bytes); });
  drops_ = error_ != mpi_success;
  return landing;
}

std::span<const Place> CarriedBlocks::one(void* at, std::size_t bytes) {
  memory_.going.assign(1, plain_place(static_cast<std::byte*>(at), bytes));
  return memory_.going;
}

// Where they lie, behind what goes already.
void CarriedBlocks::also_send_blocks(const Message& m) {
  for (const Held& block : held(m)) {
    if (block.bytes > 0) memory_.going.push_back(plain_place(block.at, block.bytes));
  }
}

}  // namespace quadrille::run
