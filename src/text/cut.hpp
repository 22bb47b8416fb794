// Texts that are cut where there is no room for all of them.
#pragma once

#include <cstddef>
#include <string_view>

namespace quadrille::text {

// The beginning of a text, at most so many bytes, without a part of a character in UTF-8 at its end.
inline std::string_view beginning_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  constexpr std::size_t longest = 4;
  std::size_t cut = most;
  while (cut > 0 && most - cut < longest && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;
  // More bytes in a row that only follow others are in no such character: the text is in another code.
  return text.substr(0, most - cut < longest ? cut : most);
}

}  // namespace quadrille::text
