#include "lab/simulate/network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace quadrille::simulate {
namespace {

constexpr std::string_view kAssumed = "assumed";
constexpr std::string_view kSlingshot =
    "De Sensi et al., An In-Depth Analysis of the Slingshot Interconnect, SC20: ports of 200 Gb/s";
constexpr std::string_view kHops =
    "De Sensi et al., SC20: about 350 ns a switch, at most three hops; adapters, and the most, assumed";
constexpr std::string_view kHdr = "HDR: 200 Gb/s; ConnectX-6 data sheet: up to 215 million messages a second";
constexpr std::string_view kLogGops = "standard values of LogGOPSim (Hoefler, Schneider and Lumsdaine, LSAP 2010)";
constexpr std::string_view kLanes =
    "four lanes of QDR, FDR or EDR: InfiniBand Architecture Specification, volume 2; usual is FDR";
constexpr std::string_view kGiven = "given, where the others were fitted: docs/results/between-nodes.md";
constexpr std::string_view kFitted =
    "fitted to times of Fan et al. (HPDC 2022), by a factor of 1.25 up and down: docs/results/between-nodes.md";

// Nodes of today, of two sockets. The memory takes a byte read and written.
void add_node(std::vector<NamedConstant>& list) {
  for (const NamedConstant& one : std::initializer_list<NamedConstant>{{"near_latency", 100, 200, 400, kAssumed},
                                                                       {"near_overhead", 100, 200, 400, kAssumed},
                                                                       {"near_byte", 0.05, 0.1, 0.2, kAssumed},
                                                                       {"near_eager", 4096, 4096, 4096, kAssumed},
                                                                       {"copied_block", 2, 5, 20, kAssumed},
                                                                       {"copied_byte", 0.05, 0.1, 0.2, kAssumed},
                                                                       {"shared_block", 10, 30, 100, kAssumed},
                                                                       {"shared_byte", 0.05, 0.1, 0.2, kAssumed},
                                                                       {"memory_byte", 0.0033, 0.005, 0.01, kAssumed},
                                                                       {"fence", 100, 200, 500, kAssumed}}) {
    list.push_back(one);
  }
}

NamedNetwork with_node(NamedNetwork network) {
  add_node(network.constants);
  return network;
}

// A Cray Aries with nodes of 64 slow cores. What is fitted stands in docs/results/between-nodes/theta.json, too.
NamedNetwork theta() {
  NamedNetwork network = with_node({"theta",
                                    "Theta, a Cray XC40: Aries, nodes of a Xeon Phi of 64 cores",
                                    {{"latency", 1000, 1500, 2500, kAssumed},
                                     {"gap", 10, 20, 40, kAssumed},
                                     {"gap_byte", 0.07, 0.1, 0.14, kAssumed},
                                     {"eager", 1024, 1024, 1024, kGiven}}});
  for (const NamedConstant& fitted : std::initializer_list<NamedConstant>{{"overhead", 1900, 2370, 2960, kFitted},
                                                                          {"overhead_byte", 28.1, 35.1, 43.9, kFitted},
                                                                          {"near_overhead", 1900, 2370, 2960, kFitted},
                                                                          {"copied_block", 79.4, 99.3, 124, kFitted},
                                                                          {"copied_byte", 4.7, 5.87, 7.34, kFitted}}) {
    std::erase_if(network.constants, [&](const NamedConstant& one) { return one.field == fitted.field; });
    network.constants.push_back(fitted);
  }
  return network;
}

std::string check(const Network& network, std::string_view where) {
  for (const NetworkField& field : network_fields()) {
    const double value = network.*(field.value);
    if (!std::isfinite(value) || value < 0 || value > 1e12) {
      return fmt::format("{}: {} must be from 0 to 1e12, not {}", where, field.name, value);
    }
  }
  // Without them messages would take no time, and their order would mean nothing.
  if (network.latency < 0.001) return fmt::format("{}: latency must be 0.001 ns at least", where);
  return {};
}

constexpr std::array<std::string_view, 4> kEnds = {"fast", "slow", "copying", "sending"};

double value_at(const NamedConstant& constant, std::string_view end) {
  constexpr std::array<std::string_view, 5> copies = {"copied_block", "copied_byte", "shared_block", "shared_byte",
                                                      "memory_byte"};
  const bool of_copies = std::find(copies.begin(), copies.end(), constant.field) != copies.end();
  if (end == "fast" || (of_copies ? end == "sending" : end == "copying")) return constant.least;
  return end.empty() ? constant.usual : constant.most;
}

std::string from_file(std::ifstream& file, const std::string& path, Network& network) {
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) return fmt::format("'{}' is not a JSON object", path);
  network.name = path;
  for (const auto& [key, value] : json.items()) {
    if (key == "name" && value.is_string()) network.name = value.get<std::string>();
    if (key == "name" || key == "source") continue;
    const auto& fields = network_fields();
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&name = key](const NetworkField& one) { return one.name == name; });
    if (field == fields.end()) return fmt::format("{}: '{}' is not a constant of a network", path, key);
    if (!value.is_number()) return fmt::format("{}: {} must be a number", path, key);
    network.*(field->value) = value.get<double>();
  }
  return check(network, path);
}

}  // namespace

const std::vector<NetworkField>& network_fields() {
  static const std::vector<NetworkField> list = {
      {"latency", &Network::latency, "between nodes"},
      {"overhead", &Network::overhead, "of a message between nodes, for a processor, on each side"},
      {"overhead_byte", &Network::overhead_byte, "of a byte that is sent at once, for a processor, on each side"},
      {"gap", &Network::gap, "of a message, for the adapter of a node"},
      {"gap_byte", &Network::gap_byte, "of a byte, for the adapter of a node"},
      {"eager", &Network::eager, "bytes that are sent at once; longer messages ask"},
      {"near_latency", &Network::near_latency, "inside a node"},
      {"near_overhead", &Network::near_overhead, "of a message inside a node, on each side"},
      {"near_byte", &Network::near_byte, "of a byte of a message inside a node, on each side"},
      {"near_eager", &Network::near_eager, "bytes that are sent at once inside a node"},
      {"copied_block", &Network::copied_block, "of a block copied in own memory"},
      {"copied_byte", &Network::copied_byte, "of a byte copied in own memory"},
      {"shared_block", &Network::shared_block, "of a block copied in shared memory"},
      {"shared_byte", &Network::shared_byte, "of a byte copied in shared memory"},
      {"memory_byte", &Network::memory_byte, "of a byte copied, for the memory of a node"},
      {"fence", &Network::fence, "of each doubling of ranks that wait for each other"},
      {"processors", &Network::processors, "of a node; 0: one a rank"},
      {"one_machine", &Network::one_machine, "1: all nodes share the processors"},
      {"turn", &Network::turn, "another rank takes a processor"},
      {"group_nodes", &Network::group_nodes, "nodes that share links to the others; 0: none do"},
      {"group_latency", &Network::group_latency, "between groups, beside the latency"},
      {"group_byte", &Network::group_byte, "of a byte, for the links of a group"}};
  return list;
}

const std::vector<NamedNetwork>& named_networks() {
  static const std::vector<NamedNetwork> list = {with_node({"slingshot",
                                                            "Slingshot 11, 200 Gb/s a node",
                                                            {{"latency", 800, 1500, 3700, kHops},
                                                             {"overhead", 100, 200, 600, kAssumed},
                                                             {"overhead_byte", 0, 0.02, 0.1, kAssumed},
                                                             {"gap", 5, 5, 40, kAssumed},
                                                             {"gap_byte", 0.04, 0.04, 0.05, kSlingshot},
                                                             {"eager", 16384, 16384, 16384, kAssumed}}}),
                                                 with_node({"hdr",
                                                            "InfiniBand HDR, 200 Gb/s a node",
                                                            {{"latency", 600, 1000, 1500, kAssumed},
                                                             {"overhead", 100, 250, 500, kAssumed},
                                                             {"overhead_byte", 0, 0.02, 0.1, kAssumed},
                                                             {"gap", 4.7, 6, 20, kHdr},
                                                             {"gap_byte", 0.04, 0.042, 0.05, kHdr},
                                                             {"eager", 8192, 8192, 8192, kAssumed}}}),
                                                 with_node({"fdr",
                                                            "InfiniBand of 2014, 32 to 100 Gb/s a node",
                                                            {{"latency", 600, 1000, 1500, kAssumed},
                                                             {"overhead", 100, 250, 500, kAssumed},
                                                             {"overhead_byte", 0, 0.05, 0.1, kAssumed},
                                                             {"gap", 10, 30, 100, kAssumed},
                                                             {"gap_byte", 0.08, 0.147, 0.25, kLanes},
                                                             {"eager", 8192, 8192, 8192, kAssumed}}}),
                                                 theta(),
                                                 with_node({"loggopsim",
                                                            "what LogGOPSim takes if nothing is said",
                                                            {{"latency", 2500, 2500, 2500, kLogGops},
                                                             {"overhead", 1500, 1500, 1500, kLogGops},
                                                             {"gap", 1000, 1000, 1000, kLogGops},
                                                             {"gap_byte", 6, 6, 6, kLogGops},
                                                             {"eager", 65535, 65535, 65535, kLogGops}}})};
  return list;
}

std::string read_network(std::string_view text, Network& network) {
  network = {};
  const std::string_view name = text.substr(0, text.find(':'));
  const std::string_view which = name.size() < text.size() ? text.substr(name.size() + 1) : "";
  std::string known;
  for (const NamedNetwork& one : named_networks()) {
    known += (known.empty() ? "" : ", ") + std::string(one.name);
    if (one.name != name) continue;
    if (!which.empty() && std::find(kEnds.begin(), kEnds.end(), which) == kEnds.end()) {
      return fmt::format("{0} is there as {0}, {0}:{1}", name, fmt::join(kEnds, fmt::format(", {}:", name)));
    }
    network.name = text;
    for (const NamedConstant& constant : one.constants) {
      for (const NetworkField& field : network_fields()) {
        if (field.name == constant.field) network.*(field.value) = value_at(constant, which);
      }
    }
    return check(network, text);
  }
  const std::string path(text);
  std::ifstream file(path);
  return file ? from_file(file, path, network) : fmt::format("there is no '{}'; known networks are {}", path, known);
}

nlohmann::json to_json(const Network& network) {
  nlohmann::json json = {{"name", network.name}};
  for (const NetworkField& field : network_fields()) json[std::string(field.name)] = network.*(field.value);
  return json;
}

}  // namespace quadrille::simulate
