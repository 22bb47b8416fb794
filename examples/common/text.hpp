// Numbers as text.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace examples {

__attribute__((format(printf, 1, 2))) inline std::string format(const char* pattern, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(line, sizeof line, pattern, arguments);
  va_end(arguments);
  return line;
}

inline std::string time_text(double seconds) {
  return seconds < 1e-3 ? format("%.2f us", seconds * 1e6) : format("%.3f ms", seconds * 1e3);
}

inline std::string bytes_text(double bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  return format(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

// The median; for an even number of values the upper one of the two in the middle.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace examples
