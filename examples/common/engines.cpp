#include "engines.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "text.hpp"

namespace examples {
namespace {

// The ranks of this node.
class Node {
 public:
  explicit Node(const World& world) {
    MPI_Comm_split_type(world.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
  }
  ~Node() { MPI_Comm_free(&comm); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int ranks = 1;
};

// Whether Quadrille serves the exchanges, with any memory: the first MPI_Alltoallv is in the library that has
// Quadrille's own names.
bool is_under_quadrille() {
  Dl_info called{}, own{};
  void* const call = dlsym(RTLD_DEFAULT, "MPI_Alltoallv");
  void* const name = dlsym(RTLD_DEFAULT, "Quadrille_Alltoallv");
  return call != nullptr && name != nullptr && dladdr(call, &called) != 0 && dladdr(name, &own) != 0 &&
         called.dli_fbase == own.dli_fbase;
}

// "system,mpi,cuda:device" has "cuda".
bool has_kind(std::string_view kinds, std::string_view kind) {
  while (!kinds.empty()) {
    const std::size_t end = std::min(kinds.find(','), kinds.size());
    const std::string_view one = kinds.substr(0, end);
    if (one.substr(0, one.find(':')) == kind) return true;
    kinds.remove_prefix(std::min(end + 1, kinds.size()));
  }
  return false;
}

// MPI 4.1 reports the supported kinds of memory by an info key, other MPIs by a function of their own.
bool mpi_takes(const std::string& device) {
  const std::string kind = device == "cuda" ? "cuda" : "rocm";
  char kinds[MPI_MAX_INFO_VAL + 1] = {};
  char key[] = "mpi_memory_alloc_kinds";
  int found = 0;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm_get_info(MPI_COMM_WORLD, &info);
  if (info != MPI_INFO_NULL) {
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, kinds, &found);
    MPI_Info_free(&info);
  }
  if (found != 0 && has_kind(kinds, kind)) return true;
  const std::string name = "MPIX_Query_" + kind + "_support";
  auto* const query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, name.c_str()));
  return query != nullptr && query() == 1;
}

std::string exchanged_by(const EngineOptions& options) {
  if (options.device == "host") return "host";
  if (options.staged) return "staged";
  if (is_under_quadrille()) return "quadrille";
  if (options.direct) return "direct";
  if (mpi_takes(options.device)) return "mpi";
  throw std::runtime_error(
      "the MPI does not report support for device memory, and may crash: start the program under `quadrille run` or "
      "with --staged, or with --direct if the MPI supports it nevertheless");
}

void check_options(const EngineOptions& options) {
  if (options.device == "host" && (options.staged || options.direct)) {
    throw std::runtime_error(std::string(options.staged ? "--staged" : "--direct") + " is for --device cuda or hip");
  }
  if (options.fft == "cufft" && options.device != "cuda") {
    throw std::runtime_error("--fft cufft is for --device cuda");
  }
}

// cuFFT, if all ranks have it; some nodes may lack it. An installed library may still fail, if it is too new for the
// driver. Collective.
std::unique_ptr<Cufft> try_cufft(const World& world) {
  std::unique_ptr<Cufft> cufft;
  try {
    on_every_rank(world, [&] {
      cufft = std::make_unique<Cufft>();
      cufft->plan({2, 1, 1, 2});
    });
  } catch (const std::runtime_error& error) {
    cufft.reset();
    if (world.rank == 0) std::fprintf(stderr, "note: FFTW transforms lines, on the host: %s\n", error.what());
  }
  return cufft;
}

double available_on_host() {
  std::FILE* const file = std::fopen("/proc/meminfo", "r");
  if (file == nullptr) return -1;
  char line[256];
  double kibibytes = -1;
  while (kibibytes < 0 && std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "MemAvailable: %lf kB", &kibibytes) != 1) kibibytes = -1;
  }
  std::fclose(file);
  return kibibytes * 1024;
}

double sum_over(double value, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, comm);
  return value;
}

void compare(double each, double all, int ranks, double left, const std::string& what, const std::string& of) {
  if (left < 0 || all <= left) return;
  throw std::runtime_error(what + " takes " + bytes_text(each) + " of " + of + " on each rank; " +
                           std::to_string(ranks) + " of them share one that has " + bytes_text(left) + " left");
}

}  // namespace

void add_engine_options(CommandLine& line, EngineOptions& options) {
  line.choice("--device", options.device, {"host", "cuda", "hip"},
              "Memory of the exchanged data: host, or a GPU with the driver of cuda or hip");
  line.choice("--fft", options.fft, {"auto", "fftw", "cufft"},
              "Library that transforms lines: fftw, on the host; cufft, on the device; auto: cufft with --device cuda "
              "if cuFFT is found");
  line.flag("--staged", options.staged,
            "Copy device data to pinned host memory before each MPI call, and back after it");
  line.flag("--direct", options.direct, "Pass device memory to the MPI even if the MPI does not report support for it",
            {.excludes = {"--staged"}});
}

Engines open_engines(const EngineOptions& options, const World& world) {
  check_options(options);
  Engines engines;
  if (options.device != "host") {
    const Node node(world);
    on_every_rank(world, [&] { engines.device = open_device(options.device, node.rank); });
  }
  // After the driver is loaded, because errors of the machine come first.
  on_every_rank(world, [&] { engines.exchanged_by = exchanged_by(options); });
  engines.staged = engines.exchanged_by == "staged";
  if (options.fft == "cufft") on_every_rank(world, [&] { engines.cufft = std::make_unique<Cufft>(); });
  if (options.fft == "auto" && options.device == "cuda") engines.cufft = try_cufft(world);
  return engines;
}

void check_room(const Room& room, Device* device, const std::string& what, const World& world) {
  const Node node(world);
  const double on_node = sum_over(room.host, node.comm);
  MPI_Comm sharers;
  int ranks_of_device = 1;
  MPI_Comm_split(node.comm, device != nullptr ? device->number() : 0, 0, &sharers);
  MPI_Comm_size(sharers, &ranks_of_device);
  const double on_device = sum_over(room.device, sharers);
  MPI_Comm_free(&sharers);
  on_every_rank(world, [&] {
    if (device != nullptr) {
      const auto left = static_cast<double>(device->free_bytes());
      compare(room.device, on_device, ranks_of_device, left, what, "a device's memory");
    }
    compare(room.host, on_node, node.ranks, available_on_host(), what, "a node's memory");
  });
}

}  // namespace examples
