#include "placed.hpp"

#include <algorithm>

namespace quadrille::test {
namespace {

// Of this thread: tests make calls in several.
std::vector<Placed*>& living() {
  static thread_local std::vector<Placed*> list;
  return list;
}

void invert(unsigned char& byte) { byte = static_cast<unsigned char>(~byte); }

}  // namespace

Placed::Placed(Image& image, const std::vector<Block>& blocks) : image_(image), blocks_(blocks) {
  living().push_back(this);
  if (!choose_memory) return;
  const bool empty = std::all_of(blocks.begin(), blocks.end(), [](const Block& block) { return block.bytes() == 0; });
  is_null_ = empty && may_be_null;
  if (is_null_) return;
  memory_ = choose_memory(image.bytes().size());
  put(false);
}

Placed::~Placed() { living().pop_back(); }

void* Placed::address() {
  if (is_null_) return nullptr;
  return memory_ == nullptr ? image_.address() : memory_->address() + image_.origin();
}

void Placed::put(bool inverted) {
  if (memory_ == nullptr) return;
  std::vector<unsigned char> bytes = image_.bytes();
  if (inverted) std::for_each(bytes.begin(), bytes.end(), invert);
  memory_->put(bytes.data());
  gaps_are_changed_ = false;
}

void Placed::change_gaps() {
  unsigned char* const view = memory_ != nullptr ? memory_->view() : nullptr;
  if (view == nullptr) return;
  gaps_are_changed_ = true;
  const std::vector<bool> described = image_.described(blocks_);
  for (std::size_t i = 0; i < described.size(); ++i) {
    if (!described[i]) invert(view[i]);
  }
}

void Placed::bring_back() {
  if (memory_ == nullptr) return;
  std::vector<unsigned char>& bytes = image_.bytes();
  memory_->get(bytes.data());
  if (!gaps_are_changed_) return;
  const std::vector<bool> described = image_.described(blocks_);
  for (std::size_t i = 0; i < described.size(); ++i) {
    if (!described[i]) invert(bytes[i]);
  }
}

const std::vector<Placed*>& Placed::all() { return living(); }

}  // namespace quadrille::test
