#include "report.hpp"

#include <algorithm>

#include "common/text.hpp"

namespace fft2d {
namespace {

using examples::bytes_text;
using examples::format;
using examples::median;
using examples::time_text;

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }
double most(const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); }

std::string list(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + format("%.9g", value);
  return "[" + text + "]";
}

// A device's name may have any characters.
std::string quoted(const std::string& text) {
  std::string safe;
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') safe += '\\';
    if (static_cast<unsigned char>(letter) >= ' ') safe += letter;
  }
  return "\"" + safe + "\"";
}

std::string place_text(const Report& report) {
  if (report.device == "host") return "host";
  return report.device + " (" + report.device_name + "), exchanged by " + report.exchanged_by;
}

}  // namespace

bool within(const Report& report, double limit) {
  return report.spectrum.max <= limit && report.spectrum.rms <= limit && report.round_trip.max <= limit &&
         report.round_trip.rms <= limit;
}

std::string as_text(const Report& report) {
  const std::vector<double>& of_rank = report.alltoall_seconds_of_rank;
  std::string text = format("fft2d: %dx%d (%s), %d ranks, %s, %s\n", report.mesh, report.mesh, report.scaling.c_str(),
                            report.ranks, report.fft.c_str(), place_text(report).c_str());
  text += format("  exchange     %s, blocks of %s to %s\n", report.collective.c_str(),
                 bytes_text(static_cast<double>(report.block_bytes[0])).c_str(),
                 bytes_text(static_cast<double>(report.block_bytes[1])).c_str());
  text += format("  round trip   %s (median of %zu, slowest rank)\n", time_text(median(report.total_seconds)).c_str(),
                 report.total_seconds.size());
  text +=
      format("  all-to-all   %s, %s, %s (least, median, most of the ranks; of each the median)\n",
             time_text(least(of_rank)).c_str(), time_text(median(of_rank)).c_str(), time_text(most(of_rank)).c_str());
  text += format("  error        spectrum max %.2e, rms %.2e; round trip max %.2e, rms %.2e\n", report.spectrum.max,
                 report.spectrum.rms, report.round_trip.max, report.round_trip.rms);
  return text;
}

std::string as_json(const Report& report) {
  const std::vector<double>& of_rank = report.alltoall_seconds_of_rank;
  std::string line = format("{\"program\": \"fft2d\", \"ranks\": %d, \"mesh\": %d, \"scaling\": \"%s\", ", report.ranks,
                            report.mesh, report.scaling.c_str());
  line += format("\"collective\": \"%s\", \"device\": \"%s\", ", report.collective.c_str(), report.device.c_str());
  line += "\"device_name\": " + quoted(report.device_name) + ", ";
  line += format("\"fft\": \"%s\", \"exchanged_by\": \"%s\", ", report.fft.c_str(), report.exchanged_by.c_str());
  line += format("\"block_bytes\": [%zu, %zu], \"repeat\": %zu, ", report.block_bytes[0], report.block_bytes[1],
                 report.total_seconds.size());
  line += format("\"total_s\": %.9g, \"alltoall_s\": {\"min\": %.9g, \"median\": %.9g, \"max\": %.9g}, ",
                 median(report.total_seconds), least(of_rank), median(of_rank), most(of_rank));
  line += "\"alltoall_s_of_rank\": " + list(of_rank) + ", ";
  line += "\"totals_s\": " + list(report.total_seconds) + ", ";
  line += "\"alltoalls_s\": " + list(report.alltoall_seconds) + ", ";
  line += format("\"spectrum_max\": %.17g, \"spectrum_rms\": %.17g, ", report.spectrum.max, report.spectrum.rms);
  line += format("\"round_trip_max\": %.17g, \"round_trip_rms\": %.17g}", report.round_trip.max, report.round_trip.rms);
  return line;
}

}  // namespace fft2d
