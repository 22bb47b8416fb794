// Options of `quadrille bench`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "choose/registry.hpp"
#include "memory/node_copy.hpp"
#include "plan/neighborhood.hpp"
#include "tool/bench/device/gpu.hpp"
#include "tool/bench/distribution.hpp"
#include "tool/bench/late.hpp"
#include "tool/plans/node_options.hpp"

namespace CLI {
class App;
}

namespace quadrille::tools {

// Elements that are sent. Sizes are bytes of data in a block, gaps not counted.
enum class ElementKind : std::uint8_t {
  byte,          // MPI_BYTE
  double_float,  // MPI_DOUBLE: sizes are rounded up to 8 bytes
  strided,       // 8 bytes of every 16: a datatype with a gap
};

// Whose memory the buffers are in. `mapped` is anonymous mmap of the program's own.
enum class BufferMemory : std::uint8_t { heap, private_memory, stack, mapped };
constexpr std::string_view memory_names[] = {"heap", "private", "stack", "mmap"};
constexpr std::string_view name_of(BufferMemory memory) { return memory_names[static_cast<int>(memory)]; }

struct DeviceRun;

struct BenchOptions {
  // As on the command line.
  std::string collective;
  std::string sizes = "8:64K";
  bool sizes_given = false;  // a traffic matrix is scaled to sizes only then
  std::string algorithms = "default";
  std::string iterations = "auto";
  std::string datatype = "byte";
  std::string distribution = "equal";
  std::string neighborhood = "moore:3,1";
  std::string grid;    // of neighbour collectives; empty: as even as MPI_Dims_create makes it
  NodeOptions layout;  // --nodes and --node-map
  std::string nodes;   // the node map of both, as in QUADRILLE_NODES; empty: the real one
  std::string memory = "heap";
  std::string device;  // whose memory the buffers are in: "cuda", "hip"; empty: the host's
  bool stage_mpi = false;
  std::string late;  // who enters the calls late, and how much
  std::string json_file, csv_file;
  int warmup = 10;
  std::uint64_t seed = 1;
  bool no_node = false, cold = false, in_place = false;
  bool no_ceiling = false, counters = false, touch = false;
  // For --overlap.
  bool overlap = false;
  int tests = 0;
  bool silent = false;             // no option: nothing is printed but problems
  std::vector<std::string> given;  // the options that the command line has, as "--sizes"
};

// A line of a figure: an algorithm, perhaps with another way to copy.
struct Variant {
  std::string label;
  std::string algorithm;                      // as Quadrille_Set_algorithm takes it, or "default"
  std::optional<memory::CopyPlan> copying{};  // none: what Quadrille takes by itself
};

// The same, understood.
struct BenchPlan {
  Collective collective = Collective::alltoall;
  std::vector<std::size_t> sizes;       // empty: the largest number of the traffic matrix
  std::vector<std::string> algorithms;  // "default", or as Quadrille_Set_algorithm takes them
  std::vector<Variant> variants;        // of a figure, in place of algorithms
  long iterations = 0;                  // calls; 0: as many as fit a fixed time
  ElementKind element = ElementKind::byte;
  Traffic traffic{};
  plan::Neighborhood neighborhood{};  // of neighbour collectives
  std::vector<int> extents{};         // of their torus; empty: as MPI_Dims_create makes it
  std::optional<DeviceKind> device{};
  std::shared_ptr<const DeviceRun> device_run = nullptr;  // when MPI has started
  bool stages_mpi = false;                                // though the MPI takes a device's memory
  bool checks_timed_calls = false;                        // some batches are checked
  double seconds = 0;          // enough for each implementation and size; 0: as TimingOptions says
  std::optional<Late> late{};  // one rank enters the measured calls late
  BufferMemory memory = BufferMemory::heap;
};

// "64", "4K", "1M", "2G" in bytes. Returns an empty string, or one line that says what is wrong.
std::string parse_size(std::string_view text, std::size_t& bytes);

// "8:1M" (doubling), "8:1M:x4" (times four), "0:64:+8" (steps of 8), or "8,64,100". Same return
// rule.
std::string parse_sizes(std::string_view text, std::vector<std::size_t>& sizes);
// Whose driver: cuda or hip. Empty, or what is wrong.
std::string parse_device(const std::string& text, DeviceKind& kind);

// Splits "ring,bruck:radix=4,window=2,pairwise" between algorithms, not between parameters.
std::vector<std::string> split_algorithms(std::string_view text);

// Understands the options. Same return rule.
std::string understand(const BenchOptions& options, BenchPlan& plan);

// Declares the options on the subcommand.
void add_bench_options(CLI::App& command, BenchOptions& options);

// The parts of these that the laboratory has, too. Of calls: --iterations, --warmup, --device, --stage-mpi, --late,
// --memory, --in-place, --datatype, --seed, --progress.
void add_call_options(CLI::App& command, BenchOptions& options);
// Of blocks: --sizes, --cold, --counters, --neighborhood, --grid, --json.
void add_block_options(CLI::App& command, BenchOptions& options);

// The options that the command line has, as "--sizes".
std::vector<std::string> given_options(const CLI::App& command);

// For options whose empty value would otherwise be taken for none. Same return rule.
std::string not_empty(const std::string& value);

}  // namespace quadrille::tools
