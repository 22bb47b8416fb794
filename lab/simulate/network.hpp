// A machine of many nodes as the simulation sees it: LogGOPS (Hoefler, Schneider and Lumsdaine, "LogGOPSim", LSAP 2010)
// with nodes. All times are nanoseconds.
//
//   L o O g G S   latency, overhead (a message, a byte), gap (a message, a byte), and the bytes that are sent at once
//   o and O are paid by a processor of the rank, on both sides
//   g and G by the adapter of the node, which all of its ranks share; one for each direction
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::simulate {

struct Network {
  std::string name;
  // Between nodes.
  double latency = 0;        // L
  double overhead = 0;       // o
  double overhead_byte = 0;  // O, of messages that are sent at once
  double gap = 0;            // g, of the adapter
  double gap_byte = 0;       // G, of the adapter
  double eager = 0;          // S, bytes; of longer messages the data wait until the receiver has answered
  // Messages inside a node. A byte of a message that is sent at once is copied in and out; else once, by the receiver.
  double near_latency = 0, near_overhead = 0, near_byte = 0, near_eager = 0;
  // Copies of a rank in its own memory, and in what a node's ranks share.
  double copied_block = 0, copied_byte = 0, shared_block = 0, shared_byte = 0;
  double memory_byte = 0;  // of the node's memory, for the copies of all its ranks together; both kinds
  double fence = 0;        // a doubling of the ranks that wait for each other
  // Processors of a node; 0: as many as ranks. Of all nodes together if one machine plays them.
  double processors = 0;
  double one_machine = 0;  // 1: yes
  double turn = 0;         // another rank takes a processor
  // A tapered tree, or the groups of a dragonfly: so many nodes a group, which share links to the others; 0: none.
  double group_nodes = 0;
  double group_latency = 0, group_byte = 0;
};

// A constant: its name in files, what it is, and whether it may be fitted.
struct NetworkField {
  std::string_view name;
  double Network::*value;
  std::string_view what;
};
const std::vector<NetworkField>& network_fields();

// Where a constant comes from: a source, or "assumed"; and between what it may lie.
struct NamedConstant {
  std::string_view field;
  double least, usual, most;
  std::string_view source;
};
struct NamedNetwork {
  std::string_view name, what;
  std::vector<NamedConstant> constants;  // those that are not named are 0
};
const std::vector<NamedNetwork>& named_networks();

// "slingshot", or at an end of its ranges: "slingshot:fast" (all constants at their least), "slingshot:slow" (at their
// most), "slingshot:copying" (copies at their most and messages at their least), "slingshot:sending" (the other way
// round). Or a file of JSON with names as in network_fields(). Returns an empty string, or one line that says what is
// wrong.
std::string read_network(std::string_view text, Network& network);
nlohmann::json to_json(const Network& network);

}  // namespace quadrille::simulate
