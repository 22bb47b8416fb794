// Where the bytes of a buffer lie while a call is made: in the image itself, or in other memory, such as a device's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "oracle.hpp"

namespace quadrille::test {

// As many bytes as an image has.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual unsigned char* address() = 0;  // what MPI is given
  virtual void put(const unsigned char* bytes) = 0;
  virtual void get(unsigned char* bytes) = 0;
  // The same bytes, where the processor may touch them, also while a call is in flight; null if it may nowhere.
  virtual unsigned char* view() = 0;
};

// Chooses memory for the next buffer. Null, or not set: the image's own. Ranks may choose differently.
using ChooseMemory = std::function<std::unique_ptr<Memory>(std::size_t bytes)>;
inline ChooseMemory choose_memory;
// Gives buffers without any data no address, if memory is chosen at all.
inline bool may_be_null = true;

// An image in the memory that was chosen for it, from here to bring_back().
class Placed {
 public:
  Placed(Image& image, const std::vector<Block>& blocks);
  Placed(const Placed&) = delete;
  Placed& operator=(const Placed&) = delete;
  ~Placed();
  void* address();
  // Puts the image there once more, with all of its bytes as they are, or inverted.
  void put(bool inverted);
  // Changes the bytes that belong to no block, as a program may while a call is in flight. Not in the image's own
  // memory, nor where the processor may not touch it.
  void change_gaps();
  void bring_back();
  // Those of this thread that live.
  static const std::vector<Placed*>& all();

 private:
  Image& image_;
  const std::vector<Block>& blocks_;
  std::unique_ptr<Memory> memory_;
  bool is_null_ = false, gaps_are_changed_ = false;
};

}  // namespace quadrille::test
