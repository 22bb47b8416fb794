#include "tool/bench/device/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "mpi/device_support.hpp"
#include "team/config.hpp"
#include "team/team.hpp"

namespace quadrille::tools {

using Identity = std::array<unsigned char, 16>;

Sharing find_sharing(const Gpu& gpu, const World& world) {
  const Identity mine = gpu.identity();
  std::vector<Identity> all(static_cast<std::size_t>(world.ranks));
  constexpr int bytes = sizeof(Identity);
  mpi().Gather(mine.data(), bytes, mpi().byte, all.data(), bytes, mpi().byte, 0, world.comm);
  mpi().Bcast(all.data(), bytes * world.ranks, mpi().byte, 0, world.comm);
  std::map<Identity, int> ranks;
  Sharing sharing;
  for (int rank = 0; rank < world.ranks; ++rank) {
    const int before = ranks[all[static_cast<std::size_t>(rank)]]++;
    if (rank == world.rank) sharing.place = before;
  }
  sharing.ranks = ranks[mine];
  sharing.gpus = static_cast<int>(ranks.size());
  for (const auto& [identity, count] : ranks) sharing.most = std::max(sharing.most, count);
  return sharing;
}

namespace {

// In what the MPIs of all ranks take pointers to a device's memory.
DeviceUse least_use(DeviceUse mine, const World& world) {
  int use = static_cast<int>(mine), least = use;
  mpi().Allreduce(&use, &least, 1, mpi().int_type, mpi().op_min, world.comm);
  return static_cast<DeviceUse>(least);
}

}  // namespace

DeviceFacts find_facts(const Gpu& gpu, bool stages_mpi, const GpuRates& rates, const World& world) {
  const Sharing sharing = find_sharing(gpu, world);
  DeviceFacts facts;
  facts.kind = gpu.kind();
  facts.name = gpu.name();
  facts.driver_version = gpu.driver_version();
  facts.devices = gpu.devices();
  facts.gpus = sharing.gpus;
  facts.ranks_a_gpu = sharing.most;
  facts.standin = sum_over_ranks(gpu.is_standin() ? 1 : 0, world) > 0;
  facts.mpi_device = least_use(team::mpi_device_use(), world);
  if (facts.mpi_device != DeviceUse::none) {
    facts.said_by = team::config().mpi_device ? "QUADRILLE_MPI_DEVICE" : std::string(device_support().said_by);
  }
  facts.stages_mpi = stages_mpi || facts.mpi_device != DeviceUse::all;
  facts.rates = rates;
  return facts;
}

namespace {

std::string mpi_text(const DeviceFacts& facts) {
  if (!facts.stages_mpi) return fmt::format("mpi receives device memory (support reported by {})", facts.said_by);
  const std::string why = facts.mpi_device == DeviceUse::all        ? "by --stage-mpi"
                          : facts.mpi_device == DeviceUse::messages ? "it supports device memory in messages only"
                                                                    : "it reports no support for device memory";
  return fmt::format("mpi receives host memory, and the benchmark copies to and from it: {}", why);
}

}  // namespace

std::string facts_text(const DeviceFacts& facts) {
  std::string text = fmt::format("# {}: {}, driver {}, {} GPU{}, {} rank{} a GPU; {}\n", name_of(facts.kind),
                                 facts.name, facts.driver_version, facts.gpus, facts.gpus == 1 ? "" : "s",
                                 facts.ranks_a_gpu, facts.ranks_a_gpu == 1 ? "" : "s", mpi_text(facts));
  if (facts.standin) text += "# stand-in driver: the times are meaningless\n";
  if (!facts.rates.are_measured()) return text;
  return text +
         fmt::format(
             "# ceilings of the slowest GPU, 10^9 bytes a second: device copy {:.1f}, to the device {:.1f}, to the "
             "host {:.1f}, both ways {:.1f}\n",
             facts.rates.device_copy, facts.rates.to_device, facts.rates.to_host, facts.rates.both_ways);
}

nlohmann::ordered_json to_json(const DeviceFacts& facts) {
  constexpr std::string_view uses[] = {"no", "in messages", "yes"};
  nlohmann::ordered_json json = {{"kind", name_of(facts.kind)},
                                 {"name", facts.name},
                                 {"driver", facts.driver_version},
                                 {"devices", facts.devices},
                                 {"gpus", facts.gpus},
                                 {"ranks_a_gpu", facts.ranks_a_gpu},
                                 {"standin", facts.standin},
                                 {"mpi_takes_devices", uses[static_cast<std::size_t>(facts.mpi_device)]},
                                 {"mpi_takes_devices_says", facts.said_by},
                                 {"mpi_memory", facts.stages_mpi ? "host" : "device"}};
  const auto rate = [](double value) {
    return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
  };
  json["ceilings"] = {{"device_copy_GBps", rate(facts.rates.device_copy)},
                      {"to_device_GBps", rate(facts.rates.to_device)},
                      {"to_host_GBps", rate(facts.rates.to_host)},
                      {"both_ways_GBps", rate(facts.rates.both_ways)},
                      {"copy_bytes", facts.rates.are_measured() ? nlohmann::ordered_json(facts.rates.bytes) : nullptr}};
  return json;
}

}  // namespace quadrille::tools
