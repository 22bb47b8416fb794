// copy_ceiling --bytes 512K --threads 2
//
// What this machine moves by plain parallel copies of a given footprint: the mark that no
// collective of the same footprint can pass. One line for each kind of copy, in 10^6 bytes a
// second.
#include "tool/bench/copy_ceiling.hpp"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <string>

#include "memory/copy_kernels.hpp"
#include "tool/bench/options.hpp"

using quadrille::tools::Copy;

namespace {

std::string name_of(Copy by) {
  if (by == Copy::streaming) return fmt::format("NT {}", quadrille::memory::copy_kernels().isa);
  return by == Copy::libc ? "memcpy" : "ordinary";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Bandwidth of plain parallel copies, in 10^6 bytes copied a second.");
  std::string size = "512K";
  int threads = 1;
  app.add_option("--bytes", size, "bytes that each thread copies from one buffer to another")->capture_default_str();
  app.add_option("--threads", threads, "pinned threads that copy at the same time")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::size_t bytes = 0;
  std::string error = quadrille::tools::parse_size(size, bytes);
  if (error.empty() && bytes == 0) error = "--bytes: nothing to copy";
  if (!error.empty()) {
    fmt::print(stderr, "copy_ceiling: {}\n", error);
    return 2;
  }
  try {
    for (const Copy by : {Copy::libc, Copy::ordinary, Copy::streaming}) {
      const double rate = quadrille::tools::copy_ceiling(bytes, threads, by);
      fmt::print("{:<14} {:>8} B x {} threads: {:>9.0f} MB/s\n", name_of(by), bytes, threads, rate / 1e6);
    }
  } catch (const std::exception& problem) {
    fmt::print(stderr, "copy_ceiling: {}\n", problem.what());
    return 1;
  }
  return 0;
}
