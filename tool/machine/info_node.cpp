#include "tool/machine/info_node.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "memory/control_memory.hpp"
#include "memory/copy_kernels.hpp"
#include "memory/heap.hpp"
#include "sys/sys.hpp"
#include "team/config.hpp"
#include "team/numa.hpp"
#include "tool/launch/process.hpp"
#include "tool/machine/topology.hpp"

namespace quadrille::tools {
namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t word_before = 41, word_of_owner = 42, word_written = 43;

// What the two children of a trial and their parent share.
struct Trial {
  std::uint64_t word_at = 0;  // address of a word in the owner's private memory
  int error = 0;              // of the visitor; 0: it worked
};

// The child whose memory is visited: puts a word on its stack, says where, and waits to be told to
// end. Its exit status says what became of the word.
[[noreturn]] void own_a_word(Trial& trial, int ready, int end) {
  volatile std::uint64_t word = word_of_owner;
  trial.word_at = reinterpret_cast<std::uintptr_t>(&word);
  char byte = 0;
  if (write(ready, &byte, 1) != 1 || read(end, &byte, 1) < 0) _exit(1);
  _exit(word == word_of_owner ? 0 : word == word_written ? 2 : 1);
}

[[noreturn]] void visit(Trial& trial, Access access, pid_t owner) {
  std::uint64_t word = access == Access::read ? word_before : word_written;
  auto* bytes = reinterpret_cast<std::byte*>(&word);
  errno = 0;
  const bool moved = access == Access::read ? sys::read_process(owner, trial.word_at, bytes, sizeof word)
                                            : sys::write_process(owner, trial.word_at, bytes, sizeof word);
  const bool right = access == Access::write || word == word_of_owner;
  trial.error = moved ? (right ? 0 : EILSEQ) : (errno != 0 ? errno : EIO);
  _exit(0);
}

// Waits for a child; its exit status, or -1 if it did not end by itself.
int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int try_siblings(Trial& trial, Access access, int ready[2], int end[2]) {
  const pid_t owner = fork();
  if (owner < 0) return errno;
  if (owner == 0) {
    close(end[1]);  // so that it ends if this process does
    own_a_word(trial, ready[1], end[0]);
  }
  close(ready[1]);
  close(end[0]);
  ready[1] = end[0] = -1;
  char byte = 0;
  const pid_t visitor = read(ready[0], &byte, 1) == 1 ? fork() : -1;
  if (visitor == 0) visit(trial, access, owner);
  const int error = visitor < 0 || status_of(visitor) != 0 ? ECHILD : trial.error;
  close(end[1]);
  end[1] = -1;
  const int wanted = access == Access::write && error == 0 ? 2 : 0;
  return status_of(owner) != wanted && error == 0 ? EILSEQ : error;
}

Reach cma(Access access) {
  const bool reads = access == Access::read;
  const char* name = reads ? "cma-read" : "cma-write";
  const char* function = reads ? "process_vm_readv" : "process_vm_writev";
  const int error = error_of_sibling_access(access);
  if (error == 0) return {name, true, fmt::format("{} works between ranks", function)};
  const std::string scope = first_line("/proc/sys/kernel/yama/ptrace_scope");
  std::string advice;
  if (!scope.empty() && scope != "0") {
    advice = fmt::format("; /proc/sys/kernel/yama/ptrace_scope is {}, 0 would allow it", scope);
  } else if (error == EPERM) {
    advice = "; ptrace is not allowed here (a container without CAP_SYS_PTRACE?)";
  }
  const char* const problem = error == EILSEQ   ? "wrong data"
                              : error == ECHILD ? "the process that tried it did not start, or was ended"
                                                : std::strerror(error);
  return {name, false, fmt::format("{} between ranks fails: {}{}", function, problem, advice)};
}

// A block of the heap is written through one mapping and read through another, as by a peer.
Reach heap() {
  Reach reach{"heap", false, ""};
  if (!memory::heap_start()) {
    reach.detail = text::words_of(memory::heap_why_not());
    return reach;
  }
  const memory::HeapSegment segment = memory::heap_segment();
  constexpr std::size_t bytes = 1 << 16;
  auto* block = static_cast<volatile std::byte*>(memory::heap_allocate(bytes, 4096));
  std::byte* peer = memory::heap_map_peer(segment.descriptor, segment.bytes);
  if (block == nullptr) {
    reach.detail = "the segment gives no memory";
  } else if (peer == nullptr) {
    reach.detail = "the heap of another process cannot be mapped (RLIMIT_AS?)";
  } else {
    block[bytes - 1] = std::byte{42};
    const std::size_t at = memory::heap_offset(const_cast<std::byte*>(block)) + bytes - 1;
    reach.available = peer[at] == std::byte{42};
    reach.detail = reach.available ? fmt::format(
                                         "load and store; segments of {} MiB, memory is "
                                         "taken page by page",
                                         segment.bytes >> 20)
                                   : "the mapping of another process shows other data";
  }
  if (peer != nullptr) memory::heap_unmap_peer(peer, segment.bytes);
  if (block != nullptr) memory::heap_free(const_cast<std::byte*>(block));
  return reach;
}

Reach xpmem() {
  const std::string obstacle = xpmem_obstacle("libxpmem.so.0", "/dev/xpmem");
  if (!obstacle.empty()) return {"xpmem", false, obstacle};
  return {"xpmem", true,
          "load and store, by attachments (seen with a stand-in of the library only, never with the kernel module)"};
}

// Most ranks on a node for which there are rings.
int most_ranks_with_rings() {
  int least = 1, most = 1 << 15;
  while (least < most) {
    const int middle = least + (most - least + 1) / 2;
    if (memory::pairs_layout(middle).ring_bytes > 0) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return least;
}

// Rings and inboxes need a segment, and a socket through which ranks get its descriptor.
Reach ring() {
  Reach reach{"ring", false, ""};
  constexpr std::size_t bytes = 1 << 16;
  const int segment = sys::create_segment(bytes);
  if (segment < 0) {
    reach.detail = fmt::format("no shared segment (memfd_create): {}", std::strerror(errno));
    return reach;
  }
  std::byte* one = sys::map_segment(segment, bytes);
  std::byte* other = sys::map_segment(segment, bytes);
  sys::Address address;
  const int socket = sys::listen_local(1, address);
  const int client = socket < 0 ? -1 : sys::connect_local(address);
  if (one == nullptr || other == nullptr) {
    reach.detail = "a shared segment cannot be mapped (RLIMIT_AS?)";
  } else if (client < 0) {
    reach.detail = "local sockets do not work: ranks cannot hand segments to each other";
  } else {
    *const_cast<volatile std::byte*>(one) = std::byte{42};
    reach.available = *const_cast<volatile std::byte*>(other) == std::byte{42};
    reach.detail = reach.available ? fmt::format(
                                         "copies through shared memory; {} KiB a pair for 2 ranks, "
                                         "for at most {} ranks",
                                         memory::pairs_layout(2).ring_bytes >> 10, most_ranks_with_rings())
                                   : "two mappings of a segment show different data";
  }
  sys::close_descriptor(client);
  sys::close_descriptor(socket);
  if (one != nullptr) sys::unmap_segment(one, bytes);
  if (other != nullptr) sys::unmap_segment(other, bytes);
  sys::close_descriptor(segment);
  return reach;
}

Reach left_out(const char* name) { return {name, false, "QUADRILLE_REACH leaves it out"}; }

ordered_json settings() {
  ordered_json json;
  for (const char* name : {"QUADRILLE_HEAP", "QUADRILLE_HEAP_FROM", "QUADRILLE_HEAP_BYTES", "QUADRILLE_HEAP_PAGES",
                           "QUADRILLE_REACH", "QUADRILLE_INBOX", "QUADRILLE_TOPOLOGY"}) {
    const std::string value = sys::environment(name);
    json[name] = value.empty() ? ordered_json(nullptr) : ordered_json(value);
  }
  return json;
}

}  // namespace

int error_of_sibling_access(Access access) {
  void* shared = mmap(nullptr, sizeof(Trial), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return errno;
  auto* trial = new (shared) Trial;
  int ready[2] = {-1, -1}, end[2] = {-1, -1};
  const bool piped = pipe2(ready, O_CLOEXEC) == 0 && pipe2(end, O_CLOEXEC) == 0;
  const int error = piped ? try_siblings(*trial, access, ready, end) : errno;
  for (const int descriptor : {ready[0], ready[1], end[0], end[1]}) {
    if (descriptor >= 0) close(descriptor);
  }
  munmap(shared, sizeof(Trial));
  return error;
}

std::string xpmem_obstacle(const std::string& library, const std::string& device) {
  void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  const bool found = handle != nullptr;
  if (found) dlclose(handle);
  if (access(device.c_str(), F_OK) != 0) {
    return fmt::format("no {}: the kernel module xpmem is not loaded{}", device,
                       found ? "" : fmt::format("; no {}", library));
  }
  if (!found) return fmt::format("no {}", library);
  const int file = open(device.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return fmt::format("{}: {}", device, std::strerror(errno));
  close(file);
  return "";
}

std::vector<Reach> ways_of_node(const memory::Ways& allowed) {
  // The trials that fork come before the heap is started.
  const Reach reads = allowed.cma_read ? cma(Access::read) : left_out("cma-read");
  const Reach writes = allowed.cma_write ? cma(Access::write) : left_out("cma-write");
  return {allowed.heap ? heap() : left_out("heap"), allowed.xpmem ? xpmem() : left_out("xpmem"), reads, writes,
          allowed.ring ? ring() : left_out("ring")};
}

ordered_json describe_node() {
  ordered_json json;
  const team::Config config = team::read_config(sys::environment);
  json["ways"] = ordered_json::array();
  for (const Reach& way : ways_of_node(config.ways)) {
    json["ways"].push_back({{"name", way.name}, {"available", way.available}, {"detail", way.detail}});
  }
  json["copy_kernels"] = memory::copy_kernels().isa;
  json["all_copy_kernels"] = ordered_json::array();
  for (const memory::CopyKernels& kernels : memory::all_supported_kernels()) {
    json["all_copy_kernels"].push_back(kernels.isa);
  }
  json["largest_inbox_block_2_ranks"] = memory::inbox_layout(2).capacity();
  json["cache_bytes"] = {{"L1", sys::cache_bytes(1)}, {"L2", sys::cache_bytes(2)}, {"L3", sys::cache_bytes(3)}};
  json["processors_allowed"] = sys::count(sys::allowed_processors());
  std::vector<int> domains;
  if (read_topology(domains).empty() && !domains.empty()) {
    const bool caches = std::ranges::max(domains) >= team::first_cache_label;
    json[caches ? "domains" : "numa_domains"] = std::set<int>(domains.begin(), domains.end()).size();
    json["domains_by"] = "QUADRILLE_TOPOLOGY";
  }
  json["settings"] = settings();
  json["warnings"] = config.warnings;
  return json;
}

std::string node_text(const ordered_json& node) {
  std::string text = "Inside a node: how a rank reaches the memory of another\n";
  for (const ordered_json& way : node["ways"]) {
    text += fmt::format("  {:<14} {:<4} {}\n", way["name"].get<std::string>(),
                        way["available"].get<bool>() ? "yes" : "no", way["detail"].get<std::string>());
  }
  std::string kernels;
  for (const ordered_json& isa : node["all_copy_kernels"]) {
    kernels += (kernels.empty() ? "" : " ") + isa.get<std::string>();
  }
  text +=
      fmt::format("  copy kernels   {} (this machine can run {})\n", node["copy_kernels"].get<std::string>(), kernels);
  text += fmt::format(
      "  caches used    L1 {} KiB, L2 {} KiB, L3 {} KiB\n", node["cache_bytes"]["L1"].get<std::size_t>() >> 10,
      node["cache_bytes"]["L2"].get<std::size_t>() >> 10, node["cache_bytes"]["L3"].get<std::size_t>() >> 10);
  // L3 caches may be among the domains of a described machine.
  for (const auto& [key, title] : {std::pair("numa_domains", "NUMA domains"), std::pair("domains", "domains")}) {
    if (!node.contains(key)) continue;
    text += fmt::format("  {:<14} {}{}\n", title, node[key].get<std::size_t>(),
                        node.contains("domains_by") ? fmt::format(" ({})", node["domains_by"].get<std::string>()) : "");
  }
  for (const auto& [name, value] : node["settings"].items()) {
    text += fmt::format("  {:<22} {}\n", name, value.is_string() ? value.get<std::string>() : "not set");
  }
  for (const ordered_json& warning : node["warnings"]) {
    text += fmt::format("  warning: {}\n", warning.get<std::string>());
  }
  return text;
}

}  // namespace quadrille::tools
