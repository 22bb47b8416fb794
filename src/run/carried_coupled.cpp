// Sizes::coupled: sizes and data in one message, whose length goes ahead.
#include "run/carried.hpp"

namespace quadrille::run {
namespace {

// Set in the length of a message whose sizes have 8 bytes.
constexpr std::uint64_t wide_flag = std::uint64_t{1} << 63;
// Stands for the length of one that does not come, because a block in it was dropped.
constexpr std::uint64_t lost_length = wide_flag - 1;

std::size_t bytes_in(std::uint64_t length) { return length == lost_length ? 0 : length & ~wide_flag; }
bool is_wide(std::uint64_t length) { return (length & wide_flag) != 0; }
std::size_t bytes_of_size(bool wide) { return wide ? sizeof(std::uint64_t) : sizeof(std::uint32_t); }

class SizesAtHead final : public CarriedBlocks {
 public:
  using CarriedBlocks::CarriedBlocks;

  int steps() const override { return 2; }
  std::span<const Place> received(std::size_t i) override;
  std::span<const Place> sent(std::size_t i) override;
  Place not_sent(std::size_t i) override {
    if (step_ == Step::lengths) memory_.lengths_out[i] = lost_length;
    return {};
  }

 private:
  enum Step : int { lengths, data };

  void prepare() override;
  void look_at(std::size_t i, std::size_t bytes) override;
  void conclude() override {
    if (step_ == Step::data) take_blocks();
  }
  bool has_slots() const override { return false; }

  void prepare_data();
  std::uint64_t length_of(const Message& m);
  std::span<const Place> data_message(std::size_t i);
  void append_sizes(std::byte*& at, const Message& m, bool wide);
  void take_blocks();

  bool staged_ = false;  // there is memory to bring sizes and blocks together; else for the sizes alone
};

void SizesAtHead::prepare() {
  if (step_ == Step::data) return prepare_data();
  memory_.lengths_out.assign(sends().size(), lost_length);
  memory_.lengths_in.assign(receives().size(), lost_length);
}

std::span<const Place> SizesAtHead::received(std::size_t i) {
  if (step_ == Step::data) return {&memory_.coming[i], memory_.coming[i].bytes > 0 ? 1U : 0U};
  return is_none(receives()[i]) ? std::span<const Place>{} : one(&memory_.lengths_in[i], sizeof(std::uint64_t));
}

std::span<const Place> SizesAtHead::sent(std::size_t i) {
  if (step_ == Step::data) return data_message(i);
  const Message& m = sends()[i];
  if (is_none(m)) return {};
  memory_.lengths_out[i] = length_of(m);
  return one(&memory_.lengths_out[i], sizeof(std::uint64_t));
}

void SizesAtHead::look_at(std::size_t i, std::size_t bytes) {
  const std::size_t expected = step_ == Step::lengths ? sizeof(std::uint64_t) : bytes_in(memory_.lengths_in[i]);
  if (bytes < expected) memory_.lengths_in[i] = lost_length;
}

std::uint64_t SizesAtHead::length_of(const Message& m) {
  if (is_lost(m)) return lost_length;
  std::uint64_t length = 0;
  bool wide = false;
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    length += held(m, s).bytes;
    wide = wide || held(m, s).bytes >= limits_.wide_from;
  }
  length += m.spans.count * bytes_of_size(wide);
  return length | (wide ? wide_flag : 0);
}

void SizesAtHead::prepare_data() {
  std::size_t coming = 0, going = 0, sizes = 0;
  for (const std::uint64_t length : memory_.lengths_in) coming += bytes_in(length);
  for (const std::uint64_t length : memory_.lengths_out) going += bytes_in(length);
  for (const Message& m : sends()) sizes += m.spans.count * sizeof(std::uint64_t);
  std::byte* at = take_landing(*memory_.landing[round_], coming);
  memory_.coming.assign(receives().size(), {});
  for (std::size_t i = 0; i < receives().size(); ++i) {
    const std::size_t bytes = bytes_in(memory_.lengths_in[i]);
    memory_.coming[i] = plain_place(at, bytes);
    if (at != nullptr) at += bytes;
    if (drops_) memory_.lengths_in[i] = lost_length;
  }
  staged_ = going == 0 || thrown_by([&] { next_out_ = memory_.staging.take(going); }) == mpi_success;
  if (!staged_) next_out_ = memory_.sent_heads.take(sizes);
}

std::span<const Place> SizesAtHead::data_message(std::size_t i) {
  const Message& m = sends()[i];
  const std::uint64_t length = memory_.lengths_out[i];
  if (bytes_in(length) == 0) return {};
  std::byte* const begin = next_out_;
  append_sizes(next_out_, m, is_wide(length));
  if (staged_) append_blocks(next_out_, m);
  one(begin, static_cast<std::size_t>(next_out_ - begin));
  if (!staged_) also_send_blocks(m);
  return memory_.going;
}

void SizesAtHead::append_sizes(std::byte*& at, const Message& m, bool wide) {
  for (std::uint32_t s = 0; s < m.spans.count; ++s) {
    const std::uint64_t large = held(m, s).bytes;
    const std::uint32_t small = narrow(large);
    append(at, wide ? static_cast<const void*>(&large) : &small, bytes_of_size(wide));
  }
}

// The messages are there: their heads tell where the blocks are.
void SizesAtHead::take_blocks() {
  for (std::size_t i = 0; i < receives().size(); ++i) {
    const Message& m = receives()[i];
    if (memory_.lengths_in[i] == lost_length) {
      for (std::uint32_t s = 0; s < m.spans.count; ++s) held(m, s) = {nullptr, unknown_bytes};
      continue;
    }
    const bool wide = is_wide(memory_.lengths_in[i]);
    const std::byte* sizes = memory_.coming[i].address;
    std::byte* at = memory_.coming[i].address + m.spans.count * bytes_of_size(wide);
    for (std::uint32_t s = 0; s < m.spans.count; ++s, sizes += bytes_of_size(wide)) {
      std::uint64_t large = 0;
      std::uint32_t small = 0;
      std::memcpy(wide ? static_cast<void*>(&large) : &small, sizes, bytes_of_size(wide));
      held(m, s) = {at, wide ? large : small};
      at += held(m, s).bytes;
    }
  }
}

}  // namespace

std::unique_ptr<CarriedBlocks> sizes_at_head(const plan::Schedule& schedule, const Binding& binding,
                                             Transport& transport, CarriedMemory& memory, const CarriedLimits& limits) {
  return std::make_unique<SizesAtHead>(schedule, binding, transport, memory, limits);
}

}  // namespace quadrille::run
