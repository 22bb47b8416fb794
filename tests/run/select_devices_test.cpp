#include <gtest/gtest.h>

#include <string>

#include "choose/select.hpp"
#include "tool/explain/assumed.hpp"

namespace quadrille::choose {
namespace {

GlobalKey node_key(Collective collective, std::size_t bytes) { return {collective, 4, 1, bytes, true, 4096, 4096}; }

std::string piped_by(const char* inner, int leader = 0) {
  return "pipelined-copy-to-cpu:chunk=0,depth=4,leader=" + std::to_string(leader) + ",inner=" + inner;
}

// What stands at first, and what is tried against it.
template <class Key>
std::string candidates(const Key& k, const char* host) {
  const Selection of = select_for_devices(k, plain(k.collective, host));
  for (const Choice& rival : of.rivals) EXPECT_EQ(to_string(plain(k.collective, to_string(rival))), to_string(rival));
  std::string all = to_string(of.choice);
  for (const Choice& rival : of.rivals) all += " " + to_string(rival);
  return all;
}

// Where the MPI takes a device's memory its own comes first, if its collectives do; else what serves the host.
TEST(SelectForDevices, TriesBothFamilies) {
  GlobalKey k = node_key(Collective::alltoallv, 0);
  EXPECT_EQ(candidates(k, "inbox"), "inbox") << "nothing may be tried";
  k.tries = true;
  EXPECT_EQ(candidates(k, "inbox"), "inbox") << "nor is there anything to try";
  k.direct = true;
  EXPECT_EQ(candidates(k, "inbox"),
            "inbox ipc-pull:leader=0 ipc-pull:leader=1 " + piped_by("mpi") + " " + piped_by("mpi", 1));
  k.direct = false, k.mpi_sends_devices = true;
  EXPECT_EQ(candidates(k, "inbox"), "inbox spread-out pairwise waitany-stride:stride=5");
  EXPECT_EQ(candidates(k, "spread-out"), "spread-out pairwise waitany-stride:stride=5");
  k.mpi_collects_devices = true;
  EXPECT_EQ(candidates(k, "inbox"), "cuda-aware-mpi inbox spread-out pairwise waitany-stride:stride=5");
  EXPECT_EQ(candidates(k, "mpi"), "cuda-aware-mpi spread-out pairwise waitany-stride:stride=5") << "the same";
  k.tries = false;
  EXPECT_EQ(candidates(k, "inbox"), "cuda-aware-mpi");
  k.nodes = 2, k.tries_between = k.direct = true;
  EXPECT_EQ(candidates(k, "mpi"), "cuda-aware-mpi spread-out pairwise waitany-stride:stride=5 " + piped_by("mpi"))
      << "between nodes by no leader";
  k.collective = Collective::allgather;
  EXPECT_EQ(candidates(k, "mpi"), "cuda-aware-mpi spread-out ring " + piped_by("mpi"));
  // Also by what serves the host.
  EXPECT_EQ(candidates(k, "bruck:radix=3"),
            "cuda-aware-mpi bruck:radix=3 spread-out ring " + piped_by("mpi") + " " + piped_by("bruck,radix=3"));
  k.tries_between = false;
  EXPECT_EQ(candidates(k, "bruck:radix=3"), "cuda-aware-mpi");
}

// Among neighbours likewise. Where the MPI may be wrong its own does not come into question.
TEST(SelectForDevices, TriesBothFamiliesAmongNeighbors) {
  NeighborKey k{Collective::neighbor_alltoallv, false, false, true, true, true, false, 0, nullptr};
  EXPECT_EQ(candidates(k, "rings"), "rings");
  k.tries = k.mpi_sends_devices = true;
  EXPECT_EQ(candidates(k, "rings"), "rings direct") << "straightforward sends the same messages, one after the other";
  EXPECT_EQ(candidates(k, "direct"), "direct");
  k.mpi_collects_devices = true;
  EXPECT_EQ(candidates(k, "rings"), "cuda-aware-mpi rings direct");
  k.tries = false;
  EXPECT_EQ(candidates(k, "rings"), "cuda-aware-mpi");
  k.by_ourselves = true;
  EXPECT_EQ(candidates(k, "rings"), "rings");
}

TEST(SelectForDevices, ObeysWhatWasMeasured) {
  GlobalKey k = node_key(Collective::alltoall, 100);
  k.tries = k.mpi_collects_devices = k.mpi_sends_devices = true;
  const SizedChoices measured = {
      {64, plain(k.collective, "cuda-aware-mpi")}, {128, plain(k.collective, "pairwise")}, {256, {}}};
  const auto chosen = [&] {
    const Selection of = select_for_devices(k, plain(k.collective, "inbox"), &measured);
    return to_string(of.choice) + (of.rivals.empty() ? "" : " and others");
  };
  EXPECT_EQ(chosen(), to_string(plain(k.collective, "pairwise")));
  k.bytes = 200;
  EXPECT_EQ(chosen(), "cuda-aware-mpi and others") << "the default way was measured there";
  k.bytes = 300;
  EXPECT_EQ(chosen(), "cuda-aware-mpi and others") << "nothing was measured there";
  k.bytes = 64;
  EXPECT_EQ(chosen(), "cuda-aware-mpi");
  k.mpi_collects_devices = false;
  EXPECT_EQ(chosen(), "inbox and others") << "the MPI does not take such memory any more";
  k.collective = Collective::alltoallv, k.bytes = 0;
  EXPECT_EQ(chosen(), "inbox and others") << "no rank knows the size";
}

plan::NodeMap a_node_each(int ranks) {
  plan::NodeMap map;
  plan::parse_node_map("blocked:1", ranks, map);
  return map;
}

// A bus of no cost, and messages from devices that cost as much as those from the host.
struct Modelled {
  Model host = tools::aries();
  DeviceModel devices{tools::aries(), {1e-12, 1e-9}};
  Costs costs;
  GlobalKey key;
  Modelled(Collective collective, std::size_t bytes)
      : costs(collective, a_node_each(8), {}), key{collective, 8, 8, bytes, false, 0, 0} {
    key.model = &host;
    key.device_model = &devices;
    key.costs = &costs;
    key.mpi_sends_devices = true;
  }
  Selection of(const char* host_way) const { return select_for_devices(key, plain(key.collective, host_way)); }
  std::string choice(const char* host_way) const { return std::string(of(host_way).choice.algorithm->name); }
};

TEST(SelectForDevices, TheModelWeighsTheBusBetweenNodes) {
  Modelled m(Collective::alltoall, 100000);
  EXPECT_EQ(m.choice("spread-out"), "spread-out");
  EXPECT_EQ(m.of("spread-out").why.then.at(0).reason, Reason::nothing_modelled_faster);
  // 1.6 MB over the bus at 1 ns a byte, beside 0.4 ms of messages at 0.5.
  m.devices.bus.byte = 1e-9;
  const Selection straight = m.of("zero-rotation-bruck");
  EXPECT_TRUE(straight.choice.algorithm->from_device) << to_string(straight.choice);
  EXPECT_EQ(straight.why.reason, Reason::modelled_on_devices) << text::words_of(straight.why);
  // Small blocks go over the host, by few messages, if the way there is short.
  m.key.bytes = 8;
  EXPECT_EQ(m.choice("zero-rotation-bruck"), "zero-rotation-bruck");
  m.devices.bus.call = 1e-3;
  EXPECT_TRUE(m.of("zero-rotation-bruck").choice.algorithm->from_device);
  // Messages from devices that take long.
  m.devices.straight.quadrille.alpha = m.devices.straight.mpi.alpha = 1e-3;
  EXPECT_EQ(m.choice("zero-rotation-bruck"), "zero-rotation-bruck");
}

// What goes straight has no way over the bus, however dear that is; the fastest of its kind stays what it is.
TEST(SelectForDevices, TheModelKnowsThatMessagesOfTheHostsWayGoStraight) {
  Modelled m(Collective::alltoall, 100000);
  m.devices.bus.call = 1;
  m.key.tries_between = true;
  const Selection slow_bus = m.of("zero-rotation-bruck");
  ASSERT_FALSE(slow_bus.rivals.empty());
  const std::string best(slow_bus.rivals[0].algorithm->name);
  ASSERT_TRUE(slow_bus.rivals[0].algorithm->from_device);
  const Selection of_itself = m.of(best.c_str());
  EXPECT_EQ(of_itself.why.then.at(0).reason, Reason::nothing_modelled_faster);
  for (const Choice& rival : of_itself.rivals) EXPECT_NE(to_string(rival), to_string(of_itself.choice));
  // Without the MPI's help the same way goes over the bus, and there is nothing else.
  m.key.mpi_sends_devices = false;
  EXPECT_NE(m.of(best.c_str()).why.reason, Reason::modelled_on_devices);
}

TEST(SelectForDevices, TheModelWeighsTheMpisOwn) {
  Modelled m(Collective::alltoall, 100000);
  m.key.mpi_collects_devices = true;
  EXPECT_EQ(m.choice("spread-out"), "cuda-aware-mpi") << "none is a tenth faster";
  m.devices.straight.mpi.alpha = m.devices.straight.mpi.beta = 1e-2;
  EXPECT_TRUE(m.of("mpi").choice.algorithm->from_device);
  m.devices.straight.quadrille = {};  // nothing is known of messages
  EXPECT_EQ(m.choice("zero-rotation-bruck"), "zero-rotation-bruck") << "over the host";
  EXPECT_EQ(m.choice("mpi"), "cuda-aware-mpi") << "the MPI's own over the host is no other way: it gets the pointers";
  m.devices.straight.mpi = {};
  EXPECT_EQ(m.choice("spread-out"), "cuda-aware-mpi") << "nothing is known of it";
}

TEST(SelectForDevices, TheModelsChoiceIsTriedFirst) {
  Modelled m(Collective::allgather, 100000);
  m.devices.bus.byte = 1e-9;
  m.key.tries_between = true;
  const Selection tries = m.of("mpi");
  EXPECT_EQ(tries.choice.algorithm->name, "mpi");
  ASSERT_FALSE(tries.rivals.empty());
  EXPECT_TRUE(tries.rivals[0].algorithm->from_device);
  for (std::size_t i = 1; i < tries.rivals.size(); ++i)
    EXPECT_NE(to_string(tries.rivals[i]), to_string(tries.rivals[0]));
  m.key.tries_between = false;
  EXPECT_EQ(to_string(m.of("mpi").choice), to_string(tries.rivals[0]));
}

TEST(SelectForDevices, WithoutAModelOfBothNothingIsWeighed) {
  Modelled m(Collective::alltoall, 100000);
  m.devices.bus.byte = 1;
  m.key.model = nullptr;
  const auto stays = [&] { return m.choice("zero-rotation-bruck") == "zero-rotation-bruck"; };
  EXPECT_TRUE(stays());
  m.key.model = &m.host, m.key.device_model = nullptr;
  EXPECT_TRUE(stays());
  m.key.device_model = &m.devices, m.key.nodes = 1;
  EXPECT_TRUE(stays());
  m.key.nodes = 8, m.key.mpi_sends_devices = false;
  EXPECT_TRUE(stays());
  m.key.mpi_sends_devices = true;
  EXPECT_FALSE(stays()) << "now it is weighed";
}

}  // namespace
}  // namespace quadrille::choose
