// What the commands that measure end with.
#pragma once

namespace quadrille::tools {

inline constexpr int wrong_result = 1;  // or a file that could not be written
inline constexpr int bad_options = 2;

}  // namespace quadrille::tools
