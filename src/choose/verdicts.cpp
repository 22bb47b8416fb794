#include "choose/verdicts.hpp"

#include <utility>

#include "text/hash.hpp"

namespace quadrille::choose {

Case case_of(const plan::NodeMap& nodes, bool crowded, Collective collective, Bytes bytes, int load,
             std::span<const Choice> candidates) {
  text::Hash names;
  for (const Choice& one : candidates) names.add(to_string(one));
  const std::uint64_t map = text::Hash().add_all(nodes.node_of).value();
  return {nodes.ranks(), nodes.nodes,  nodes.ranks_on_fullest_node(), crowded, map, collective, bytes,
          load,          names.value()};
}

void keep_verdict(Verdicts& verdicts, const Case& of, Verdict verdict) {
  if (verdicts.size() < most_verdicts || verdicts.contains(of)) verdicts.insert_or_assign(of, std::move(verdict));
}

}  // namespace quadrille::choose
