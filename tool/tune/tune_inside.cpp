// Idea    As between nodes (tune_neighbors.cpp), with blocks where large ones of programs are: in the shared heap, if
//         all ranks map it. The send buffer is written before every other call, as in tune.cpp.
// Cost    A few seconds a neighbourhood.
#include "tool/tune/tune_inside.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "memory/measured_buffers.hpp"
#include "tool/tune/around.hpp"
#include "tool/tune/inside_ranges.hpp"

namespace quadrille::tools {
namespace {

constexpr std::size_t most_inside_bytes = std::size_t{64} << 20;  // of all blocks of a rank
const std::vector<std::size_t> inside_sizes = {64, 512, 1000, 2048, 5000, 16384, 50000, 131072, 262144};

class InsideTuner {
 public:
  InsideTuner(const Around& around, int batches)
      : around_(around), team_(around.team()), group_(team_.group), batches_(batches) {}

  // False if there is nobody to send to; else the entry, but for what is known of the communicator.
  bool run(Collective collective, choose::InsideEntry& entry) {
    entry.collective = collective;
    const bool gathers = is_allgather(collective);
    if (!choose::kind_of(around_.isomorphic().costs(gathers), entry.kind, 0)) return false;
    const std::vector<const choose::Algorithm*> orders = different_orders(collective);
    head(entry, orders);
    std::vector<std::size_t> sizes;
    std::vector<std::vector<double>> times(1 + orders.size());
    for (const std::size_t bytes : inside_sizes) {
      if (bytes * around_.blocks() > most_inside_bytes) break;
      const std::vector<double> medians = measure(collective, bytes, orders);
      show(bytes, medians);
      sizes.push_back(bytes);
      for (std::size_t way = 0; way < times.size(); ++way) times[way].push_back(medians[way]);
    }
    around_.force({}, collective);
    set_ranges(entry, sizes, orders, times);
    return true;
  }

 private:
  // Without those that are the same as one before, as a NUMA-aware order is on a machine of one NUMA domain. Agreed.
  std::vector<const choose::Algorithm*> different_orders(Collective collective) {
    std::vector<const choose::Algorithm*> found;
    std::vector<std::vector<plan::Copy>> copies;
    for (const choose::Algorithm* order : choose::inside_orders(collective)) {
      int error = mpi_success;
      const plan::Schedule* schedule = team::copy_plan_of(team_, {order, {}}, error);
      if (schedule == nullptr) continue;  // on all ranks: it is the MPI that failed
      bool is_new = true;
      for (const std::vector<plan::Copy>& other : copies) is_new = is_new && differ(schedule->copies, other);
      if (is_new) found.push_back(order), copies.push_back(schedule->copies);
    }
    return found;
  }
  // On some rank.
  bool differ(const std::vector<plan::Copy>& one, const std::vector<plan::Copy>& other) const {
    int here = one == other ? 0 : 1, anywhere = 0;
    mpi().Allreduce(&here, &anywhere, 1, mpi().int_type, mpi().op_max, around_.comm());
    return anywhere != 0;
  }

  // In two halves. The default counts with the better one, an order with the worse one: it must win twice, and
  // by its least time, so that a busy machine does not choose.
  std::vector<double> measure(Collective collective, std::size_t bytes,
                              const std::vector<const choose::Algorithm*>& orders) {
    const bool gathers = is_allgather(collective);
    memory::MeasuredBuffers buffers(bytes * around_.blocks(), group_.reach().heaps_mapped);
    int good = buffers.good() ? 1 : 0, all_good = 0;
    mpi().Allreduce(&good, &all_good, 1, mpi().int_type, mpi().op_min, around_.comm());
    if (all_good == 0) throw std::bad_alloc();
    const std::size_t sent = gathers ? bytes : bytes * around_.blocks();
    const NeighborCall call = {collective, bytes, [&] { return buffers.send(sent); }, buffers.recv()};
    const auto use = [&](std::size_t way) {
      around_.force(choose::plain(collective, way == 0 ? "rings" : orders[way - 1]->name), collective);
    };
    const std::vector<BatchTimes> one = measure_ways(around_, call, 1 + orders.size(), use, (batches_ + 1) / 2),
                                  two = measure_ways(around_, call, one.size(), use, (batches_ + 1) / 2);
    // By its least time an order may lose as well, but not win.
    const double least = std::min(one[0].least, two[0].least);
    std::vector<double> times = {std::min(one[0].median, two[0].median)};
    for (std::size_t way = 1; way < one.size(); ++way) {
      const double ratio = std::min(one[way].least, two[way].least) / least;
      times.push_back(std::max({one[way].median, two[way].median, times[0] * ratio}));
    }
    return times;
  }

  void head(const choose::InsideEntry& entry, const std::vector<const choose::Algorithm*>& orders) const {
    if (group_.me != 0) return;
    fmt::print("  {}: {} neighbours\n  {:>10} {:>12}", name_of(entry.collective), entry.kind.neighbors, "bytes",
               "default");
    for (const choose::Algorithm* order : orders) fmt::print(" {:>12}", order->name);
    fmt::print("   us\n");
  }
  void show(std::size_t bytes, const std::vector<double>& times) const {
    if (group_.me != 0) return;
    fmt::print("  {:>10}", bytes);
    for (const double time : times) fmt::print(" {:>12.2f}", time);
    fmt::print("\n");
    std::fflush(stdout);
  }

  const Around& around_;
  team::Team& team_;
  run::Group& group_;
  int batches_;
};

// "default up to 1000 bytes, sh-co up to 50000 bytes"
std::string said(const choose::InsideEntry& entry) {
  std::string text;
  for (const choose::SizedChoice& one : entry.choices) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} up to {} bytes", word_of(one), one.up_to);
  }
  return text;
}

}  // namespace

std::vector<choose::InsideEntry> tune_inside(team::Team& world, int batches,
                                             const std::vector<NamedNeighborhood>& neighborhoods) {
  const bool speaks = world.group.me == 0;
  if (speaks) {
    fmt::print("{} ranks, {}; neighbours inside a node, blocks {}\n", world.group.ranks,
               world.crowded ? "more than processors" : "a processor each",
               world.group.reach().heaps_mapped ? "in the shared heap" : "in private memory");
  }
  std::vector<choose::InsideEntry> entries;
  for (const NamedNeighborhood& one : neighborhoods) {
    const Around around(world, one.around);
    InsideTuner tuner(around, batches);
    if (speaks) fmt::print("{}\n", one.name);
    for (const Collective collective : those([](Collective c) { return is_neighbor(c) && is_regular(c); })) {
      choose::InsideEntry entry{collective, world.group.ranks, world.crowded, {}, {}};
      const bool sends = tuner.run(collective, entry);
      if (sends) entries.push_back(entry);
      if (!speaks) continue;
      fmt::print("  {}\n", sends ? said(entry) : fmt::format("{}: no neighbours", name_of(collective)));
      std::fflush(stdout);
    }
  }
  return entries;
}

}  // namespace quadrille::tools
