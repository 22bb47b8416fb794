// Bytes from each rank to each other; of many ranks, of groups of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace quadrille::tools {

class Matrix {
 public:
  static constexpr int most_rows = 256;  // more are not for looking at

  Matrix() = default;
  // Not `known`: nobody could add them all up.
  Matrix(int ranks, bool known) : known_(known) {
    if (!known) return;
    while (ranks > most_rows * bin_) ++bin_;
    rows_ = static_cast<std::size_t>((ranks + bin_ - 1) / bin_);
    bytes_.assign(rows_ * rows_, 0);
  }
  void add(int from, int to, std::uint64_t bytes) {
    if (known_) bytes_[static_cast<std::size_t>(from / bin_) * rows_ + static_cast<std::size_t>(to / bin_)] += bytes;
  }
  // "bytes" is null where they are not known.
  nlohmann::ordered_json json() const {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (std::size_t r = 0; r < rows_; ++r) {
      rows.push_back(std::vector<std::uint64_t>(bytes_.begin() + static_cast<std::ptrdiff_t>(r * rows_),
                                                bytes_.begin() + static_cast<std::ptrdiff_t>((r + 1) * rows_)));
    }
    return {{"bin", bin_}, {"bytes", known_ ? rows : nlohmann::ordered_json(nullptr)}};
  }

 private:
  bool known_ = false;
  int bin_ = 1;
  std::size_t rows_ = 0;
  std::vector<std::uint64_t> bytes_;
};

}  // namespace quadrille::tools
