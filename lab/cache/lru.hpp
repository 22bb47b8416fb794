// A cache as the cache-oblivious paper's analysis sees one: fully associative, the line that was used least recently
// goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrille::lab {

class LruCache {
 public:
  // Holds `lines` lines, at least one.
  explicit LruCache(std::size_t lines);

  // Uses a line; whether it was there. It is there afterwards, and is the last that goes.
  bool use(std::uint64_t line);

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Place {
    std::uint64_t line = 0;
    std::uint32_t newer = none, older = none;  // in the order of use
    std::uint32_t next = none;                 // of the lines of a bucket
  };

  std::size_t bucket_of(std::uint64_t line) const;
  void unlink(std::uint32_t place);
  void make_newest(std::uint32_t place);
  std::uint32_t free_place();

  std::vector<Place> places_;
  std::vector<std::uint32_t> buckets_;
  std::uint32_t used_ = 0, newest_ = none, oldest_ = none;
};

}  // namespace quadrille::lab
