#include "report.hpp"

#include <bit>
#include <cinttypes>
#include <cstdio>

namespace heat {
namespace {

template <class... Arguments>
std::string format(const char* pattern, Arguments... arguments) {
  char line[512];
  std::snprintf(line, sizeof line, pattern, arguments...);
  return line;
}

// A finaliser of the kind of SplitMix64: each bit of the input changes half of the bits.
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

}  // namespace

std::string as_text(const Report& report) {
  const int dimensions = report.dimensions;
  std::string text =
      format("%s: %s points, %d-point stencil, %s boundary, %d ranks as %s, exchange %s\n", report.program.c_str(),
             product_text(report.extents, dimensions, " x ").c_str(), report.stencil, report.boundary.c_str(),
             report.ranks, product_text(report.grid, dimensions).c_str(), report.exchange.c_str());
  text += format("field: %d iterations, checksum %016" PRIx64 ", min %.6g, max %.6g, mean %.6g\n", report.iterations,
                 report.checksum, report.min, report.max, report.mean);
  text += format("time: total %.6f s, communication %.6f s\n", report.total_seconds, report.communication_seconds);
  if (report.check == "passed") {
    text += format("check passed: all %zu points as the sequential program finds them, in every bit\n",
                   point_count(report.extents));
  } else if (!report.check.empty()) {
    text += "check failed: " + report.check + "\n";
  }
  return text;
}

std::string as_json(const Report& report) {
  const int dimensions = report.dimensions;
  std::string text = format(R"({"program": "%s", "extents": [%s], "grid": [%s], "ranks": %d, "stencil": %d, )",
                            report.program.c_str(), product_text(report.extents, dimensions, ", ").c_str(),
                            product_text(report.grid, dimensions, ", ").c_str(), report.ranks, report.stencil);
  text += format(R"("boundary": "%s", "exchange": "%s", "iterations": %d, )", report.boundary.c_str(),
                 report.exchange.c_str(), report.iterations);
  // The checksum is text, because many readers of JSON keep only 53 bits of a number.
  text += format(R"("checksum": "%016)" PRIx64 R"(", "min": %.17g, "max": %.17g, "mean": %.17g, )", report.checksum,
                 report.min, report.max, report.mean);
  text += format(R"("total_s": %.9f, "communication_s": %.9f)", report.total_seconds, report.communication_seconds);
  if (!report.check.empty()) text += R"(, "check": ")" + report.check + R"(")";
  return text + "}\n";
}

std::uint64_t checksum_of(std::uint64_t place, double value) {
  return mixed(mixed(place + 1) ^ std::bit_cast<std::uint64_t>(value));
}

std::string difference(const Field& found, const Field& expected, int dimensions) {
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const double is = found.values[i], should = expected.values[i];
    if (std::bit_cast<std::uint64_t>(is) == std::bit_cast<std::uint64_t>(should)) continue;
    const std::size_t row = expected.extents[0], plane = row * expected.extents[1];
    const Extents point{static_cast<int>(i % row), static_cast<int>(i % plane / row), static_cast<int>(i / plane)};
    return format("point (%s) is %.17g, the sequential program finds %.17g",
                  product_text(point, dimensions, ", ").c_str(), is, should);
  }
  return {};
}

}  // namespace heat
