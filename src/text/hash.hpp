// A hash of what ranks compare: FNV-1a, a number at a time.
#pragma once

#include <cstdint>
#include <string_view>

namespace quadrille::text {

class Hash {
 public:
  Hash& add(std::uint64_t number) {
    value_ = (value_ ^ number) * 0x100000001b3ULL;
    return *this;
  }
  Hash& add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    return add(std::uint64_t{0xff});  // so that the next begins
  }
  // A number of 32 bits, whatever its sign.
  Hash& add(int number) { return add(std::uint64_t{static_cast<std::uint32_t>(number)}); }
  template <class Numbers>
  Hash& add_all(const Numbers& numbers) {
    for (const auto number : numbers) add(number);
    return *this;
  }
  std::uint64_t value() const { return value_; }

 private:
  Hash& add(unsigned char byte) { return add(std::uint64_t{byte}); }
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace quadrille::text
