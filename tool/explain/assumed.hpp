// Models of networks whose constants are assumed. Nothing was measured or cited for them.
#pragma once

#include "choose/model.hpp"

namespace quadrille::tools {

// Latency 1.5 us and 2 GB/s a rank: assumed for a Cray Aries network, as the paper's machine had it. The paper's own
// times are longer (docs/results/bruck.md).
inline choose::Model aries() {
  const plan::Machine machine = plan::one_class({1.5e-6, 0.5e-9, 0});
  return {machine, machine};
}

// The same network with what the paper leaves out, for nodes of several ranks. One adapter of 10 GB/s and 10 million
// messages a second, messages inside a node at half a microsecond, copies at 10 GB/s.
inline choose::Model aries_nodes() {
  plan::Machine machine{1.4e-6, 0.4e-9, 0.1e-9, 10e-9, 0.5e-6};
  machine.node_message = 0.1e-6;
  machine.node_byte = 0.1e-9;
  machine.near_message = 0.5e-6;
  machine.near_byte = 0.2e-9;
  machine.shared_byte = 0.2e-9;
  machine.shared_block = 20e-9;
  machine.fence = 0.5e-6;
  return {machine, machine};
}

}  // namespace quadrille::tools
