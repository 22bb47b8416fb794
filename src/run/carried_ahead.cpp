// Sizes::carried: sizes go ahead of the data, small data with them.
#include "run/carried.hpp"

namespace quadrille::run {
namespace {

std::uint32_t size_at(const std::byte* head, std::uint32_t index) {
  std::uint32_t size;
  std::memcpy(&size, head + index * sizeof size, sizeof size);
  return size;
}

class SizesAhead final : public CarriedBlocks {
 public:
  using CarriedBlocks::CarriedBlocks;

  int steps() const override { return 3; }
  std::span<const Place> received(std::size_t i) override;
  std::span<const Place> sent(std::size_t i) override;
  Place not_sent(std::size_t i) override;

 private:
  enum Step : int { sizes, wide, data };

  void prepare() override;
  void look_at(std::size_t i, std::size_t bytes) override;
  bool has_slots() const override { return binding_.scratch != nullptr; }

  void prepare_sizes();
  void prepare_wide();
  void prepare_receives();
  void prepare_sends();
  std::span<const Place> size_message(std::size_t i);
  std::span<const Place> wide_message(std::size_t i);
  std::span<const Place> data_message(std::size_t i);
  std::size_t room_of(const Message& m) const { return head_bytes(m) + limits_.eager; }
  static std::size_t head_bytes(const Message& m) { return m.spans.count * sizeof(std::uint32_t); }
  static bool has_wide(const Message& m, const std::byte* head);
  bool comes_with_sizes(const Message& m, const std::byte* head);
  void take_sizes(std::size_t i, const std::uint64_t* wide_sizes);

  std::uint64_t* next_wide_in_ = nullptr;
  std::uint64_t* next_wide_out_ = nullptr;
  bool staged_ = false;  // there is memory to bring blocks together
};

void SizesAhead::prepare() {
  if (step_ == Step::sizes) prepare_sizes();
  if (step_ == Step::wide) prepare_wide();
  if (step_ == Step::data) prepare_receives(), prepare_sends();
}

std::span<const Place> SizesAhead::received(std::size_t i) {
  const Message& m = receives()[i];
  if (step_ == Step::sizes) return is_none(m) ? std::span<const Place>{} : one(memory_.heads_in[i], room_of(m));
  if (step_ == Step::data) return {&memory_.coming[i], memory_.coming[i].bytes > 0 ? 1U : 0U};
  std::uint64_t* const at = next_wide_in_;
  next_wide_in_ += m.spans.count;
  const bool comes = memory_.cut_in[i] == 0 && has_wide(m, memory_.heads_in[i]);
  return comes ? one(at, m.spans.count * sizeof *at) : std::span<const Place>{};
}

std::span<const Place> SizesAhead::sent(std::size_t i) {
  if (step_ == Step::sizes) return size_message(i);
  return step_ == Step::wide ? wide_message(i) : data_message(i);
}

// Its sizes once more, without the data that went with them: a block of unknown size would empty all messages that it
// is forwarded in, although it may be empty itself.
Place SizesAhead::not_sent(std::size_t i) {
  if (step_ == Step::data || memory_.cut_out[i] != 0) return {};
  const Message& m = sends()[i];
  if (step_ == Step::sizes) return plain_place(memory_.heads_out[i], head_bytes(m));
  const std::size_t sizes = m.spans.count;
  return plain_place(reinterpret_cast<std::byte*>(next_wide_out_ - sizes), sizes * sizeof(std::uint64_t));
}

void SizesAhead::look_at(std::size_t i, std::size_t bytes) {
  const Message& m = receives()[i];
  if (step_ == Step::sizes) {
    memory_.head_came[i] = bytes;
    if (bytes < head_bytes(m)) memory_.cut_in[i] = 1;
  } else if (step_ == Step::wide) {
    if (bytes < m.spans.count * sizeof(std::uint64_t)) memory_.cut_in[i] = 1;
  } else if (bytes < memory_.coming[i].bytes) {
    lose(m);
  }
}

// ---- Sizes ----

void SizesAhead::prepare_sizes() {
  memory_.heads_in.assign(receives().size(), nullptr);
  memory_.heads_out.assign(sends().size(), nullptr);
  memory_.head_came.assign(receives().size(), 0);
  memory_.cut_in.assign(receives().size(), 0);
  memory_.cut_out.assign(sends().size(), 0);
  const auto lay_out = [this](std::span<const Message> all, std::vector<std::byte*>& heads, memory::Pool& pool) {
    std::size_t total = 0;
    for (const Message& m : all) total += is_none(m) ? 0 : room_of(m);
    std::byte* at = nullptr;
    const bool is_together = total > 0 && thrown_by([&] { at = pool.take(total); }) == mpi_success;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (is_none(all[i])) continue;
      // Each by itself is so little that the reserve has it.
      if (!is_together) at = memory_.single.emplace_back(std::make_unique<memory::Pool>())->take(room_of(all[i]));
      heads[i] = at;
      at += room_of(all[i]);
    }
  };
  lay_out(receives(), memory_.heads_in, *memory_.heads[round_]);
  lay_out(sends(), memory_.heads_out, memory_.sent_heads);
}

std::span<const Place> SizesAhead::size_message(std::size_t i) {
  const Message& m = sends()[i];
  if (is_none(m)) return {};
  std::byte* const head = memory_.heads_out[i];
  if (has_unknown(m)) {
    memory_.cut_out[i] = 1;
    return one(head, 0);
  }
  std::byte* at = head;
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    const std::uint32_t size = narrow(held(m, s).bytes);
    append(at, &size, sizeof size);
  }
  if (comes_with_sizes(m, head) && !is_lost(m)) append_blocks(at, m);
  return one(head, static_cast<std::size_t>(at - head));
}

bool SizesAhead::has_wide(const Message& m, const std::byte* head) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    if (size_at(head, s) == wide_mark) return true;
  }
  return false;
}

// Do the data of this message follow its sizes? Its blocks are known on the side that asks.
bool SizesAhead::comes_with_sizes(const Message& m, const std::byte* head) {
  return !has_wide(m, head) && bytes_of(m) <= limits_.eager;
}

// For messages with a size that 4 bytes cannot hold.
void SizesAhead::prepare_wide() {
  const auto room_for = [](std::span<const Message> all, std::vector<std::uint64_t>& numbers) {
    std::size_t sizes = 0;
    for (const Message& m : all) sizes += m.spans.count;
    numbers.resize(sizes);
    return numbers.data();
  };
  next_wide_in_ = room_for(receives(), memory_.wide_in);
  next_wide_out_ = room_for(sends(), memory_.wide_out);
}

std::span<const Place> SizesAhead::wide_message(std::size_t i) {
  const Message& m = sends()[i];
  std::uint64_t* const at = next_wide_out_;
  next_wide_out_ += m.spans.count;
  if (memory_.cut_out[i] != 0 || !has_wide(m, memory_.heads_out[i])) return {};
  for (std::uint32_t s = 0; s < m.spans.count; ++s) at[s] = held(m, s).bytes;
  return one(at, m.spans.count * sizeof *at);
}

// The sizes of the blocks of a message that comes. `wide_sizes` has them, if they came in 8 bytes.
void SizesAhead::take_sizes(std::size_t i, const std::uint64_t* wide_sizes) {
  const Message& m = receives()[i];
  const std::byte* const head = memory_.heads_in[i];
  const bool is_cut = memory_.cut_in[i] != 0, is_wide = !is_cut && has_wide(m, head);
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    held(m, s).bytes = is_cut ? unknown_bytes : is_wide ? wide_sizes[s] : size_at(head, s);
  }
}

// ---- Data ----

void SizesAhead::prepare_receives() {
  const std::uint64_t* wide_sizes = memory_.wide_in.data();
  std::size_t total = 0;
  for (std::size_t i = 0; i < receives().size(); ++i) {
    const Message& m = receives()[i];
    take_sizes(i, wide_sizes);
    wide_sizes += m.spans.count;
    if (memory_.cut_in[i] == 0 && !comes_with_sizes(m, memory_.heads_in[i])) total += bytes_of(m);
  }
  // What moves on is copied out of the monolithic buffer in the same round; by need it stays until the end.
  std::byte* landing = take_landing(has_slots() ? memory_.monolithic.recv : *memory_.landing[round_], total);
  memory_.coming.assign(receives().size(), {});
  for (std::size_t i = 0; i < receives().size(); ++i) {
    const Message& m = receives()[i];
    if (memory_.cut_in[i] != 0) {
      lose(m);
      continue;
    }
    const bool is_here = comes_with_sizes(m, memory_.heads_in[i]);
    std::byte* const begin = is_here ? memory_.heads_in[i] + head_bytes(m) : landing;
    std::size_t bytes = 0;
    for (std::uint32_t s = 0; s < m.spans.count; ++s) {
      held(m, s).at = begin == nullptr ? nullptr : begin + bytes;
      bytes += held(m, s).bytes;
    }
    if (is_here) {
      if (memory_.head_came[i] < head_bytes(m) + bytes) lose(m);
      continue;
    }
    if (landing != nullptr) landing += bytes;
    memory_.coming[i] = plain_place(begin, bytes);
  }
}

void SizesAhead::prepare_sends() {
  std::size_t total = 0;
  for (std::size_t i = 0; i < sends().size(); ++i) {
    const Message& m = sends()[i];
    if (m.spans.count < 2 || memory_.cut_out[i] != 0 || is_lost(m)) continue;
    if (!comes_with_sizes(m, memory_.heads_out[i])) total += bytes_of(m);
  }
  memory::Pool& staging = has_slots() ? memory_.monolithic.send : memory_.staging;
  staged_ = total == 0 || thrown_by([&] { next_out_ = staging.take(total); }) == mpi_success;
}

std::span<const Place> SizesAhead::data_message(std::size_t i) {
  const Message& m = sends()[i];
  if (memory_.cut_out[i] != 0) return {};
  const std::size_t bytes = bytes_of(m);
  if (bytes == 0 || comes_with_sizes(m, memory_.heads_out[i])) return {};
  if (is_lost(m)) return one(nullptr, 0);
  // One block is sent from where it is, and so are all without memory to bring them together.
  if (m.spans.count == 1 || !staged_) {
    memory_.going.clear();
    also_send_blocks(m);
    return memory_.going;
  }
  std::byte* const begin = next_out_;
  append_blocks(next_out_, m);
  return one(begin, bytes);
}

}  // namespace

std::unique_ptr<CarriedBlocks> sizes_ahead(const plan::Schedule& schedule, const Binding& binding, Transport& transport,
                                           CarriedMemory& memory, const CarriedLimits& limits) {
  return std::make_unique<SizesAhead>(schedule, binding, transport, memory, limits);
}

}  // namespace quadrille::run
