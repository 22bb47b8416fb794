#include "report.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/text.hpp"

namespace fft3d {
namespace {

using examples::format;
using examples::median;
using examples::time_text;

// A finaliser with full avalanche: every input bit changes about half of the output bits.
std::uint64_t mix(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

std::string grid_text(const Report& report) { return format("%dx%d", report.rows, report.columns); }

std::string size_text(const Report& report) {
  return format("%dx%dx%d", report.extents[0], report.extents[1], report.extents[2]);
}

}  // namespace

Difference compare(const Complex* found, const Complex* expected, std::size_t count, MPI_Comm world) {
  double largest[2] = {0, 0};
  double squares[2] = {0, 0};
  for (std::size_t i = 0; i < count; ++i) {
    const double difference = std::abs(found[i] - expected[i]);
    // This form keeps NaN, so that the final check sees it.
    if (!(difference <= largest[0])) largest[0] = difference;
    largest[1] = std::max(largest[1], std::abs(expected[i]));
    squares[0] += difference * difference;
    squares[1] += std::norm(expected[i]);
  }
  MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_DOUBLE, MPI_MAX, world);
  MPI_Allreduce(MPI_IN_PLACE, squares, 2, MPI_DOUBLE, MPI_SUM, world);
  return {largest[0] / largest[1], std::sqrt(squares[0] / squares[1])};
}

double energy(const Complex* numbers, std::size_t count, MPI_Comm world) {
  // Partial sums, because a running sum of millions of terms would lose three digits.
  constexpr std::size_t kChunk = 1024;
  double sum = 0;
  for (std::size_t begin = 0; begin < count; begin += kChunk) {
    double part = 0;
    for (std::size_t i = begin; i < std::min(begin + kChunk, count); ++i) {
      part += std::norm(numbers[i]);
    }
    sum += part;
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, world);
  return sum;
}

std::uint64_t checksum(const Complex* spectrum, const Layout& layout, const Extents& extents, MPI_Comm world) {
  std::uint64_t sum = 0;
  for_each_number(layout, extents, [&](std::size_t local, std::size_t global) {
    const auto real = std::bit_cast<std::uint64_t>(spectrum[local].real());
    const auto imaginary = std::bit_cast<std::uint64_t>(spectrum[local].imag());
    sum += mix(mix(mix(global + 1) ^ real) ^ imaginary);
  });
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, world);
  return sum;
}

bool within(const Report& report, double limit) {
  bool good = report.round_trip.max <= limit && report.round_trip.rms <= limit && report.parseval <= limit;
  if (report.verified) {
    good = good && report.verified->max <= limit && report.verified->rms <= limit;
  }
  return good;
}

std::string as_text(const Report& report) {
  std::string text = format("fft3d: %s, %d ranks as %s %s\n", size_text(report).c_str(), report.ranks,
                            grid_text(report).c_str(), report.decomposition.c_str());
  text += format("  blocks       %zu B (x-y), %zu B (y-z)\n", report.block_bytes[0], report.block_bytes[1]);
  if (report.device != "host") {
    text += format("  device       %s, lines by %s, exchanged by %s\n", report.device.c_str(), report.fft.c_str(),
                   report.exchanged_by.c_str());
  }
  text += format("  round trip   %s, of it in all-to-all %s (medians of %zu)\n",
                 time_text(median(report.total_seconds)).c_str(), time_text(median(report.alltoall_seconds)).c_str(),
                 report.total_seconds.size());
  text += format("  error        max %.2e, rms %.2e, Parseval %.2e\n", report.round_trip.max, report.round_trip.rms,
                 report.parseval);
  if (report.verified) {
    text += format("  to serial    max %.2e, rms %.2e\n", report.verified->max, report.verified->rms);
  }
  return text;
}

std::string as_json(const Report& report) {
  std::string line =
      format("{\"program\": \"fft3d\", \"ranks\": %d, \"grid\": \"%s\", ", report.ranks, grid_text(report).c_str());
  line += format("\"decomposition\": \"%s\", \"size\": \"%s\", \"block_bytes\": [%zu, %zu], ",
                 report.decomposition.c_str(), size_text(report).c_str(), report.block_bytes[0], report.block_bytes[1]);
  line += format("\"device\": \"%s\", \"fft\": \"%s\", \"exchanged_by\": \"%s\", ", report.device.c_str(),
                 report.fft.c_str(), report.exchanged_by.c_str());
  line += format("\"repeat\": %zu, \"total_s\": %.9g, \"alltoall_s\": %.9g, ", report.total_seconds.size(),
                 median(report.total_seconds), median(report.alltoall_seconds));
  line += format("\"error_max\": %.17g, \"error_rms\": %.17g, \"parseval\": %.17g, ", report.round_trip.max,
                 report.round_trip.rms, report.parseval);
  line += report.verified
              ? format("\"verify_max\": %.17g, \"verify_rms\": %.17g, ", report.verified->max, report.verified->rms)
              : std::string("\"verify_max\": null, \"verify_rms\": null, ");
  line += format("\"checksum\": \"%016llx\"}", static_cast<unsigned long long>(report.checksum));
  return line;
}

}  // namespace fft3d
