#include "choose/verdicts.hpp"

#include <utility>

#include "text/hash.hpp"

namespace quadrille::choose {

Shape shape_of(const plan::NodeMap& nodes, bool crowded) {
  return {nodes.ranks(), nodes.nodes, nodes.ranks_on_fullest_node(), crowded,
          text::Hash().add_all(nodes.node_of).value()};
}

Case case_of(const Shape& shape, Collective collective, int kind, int load, std::span<const Choice> candidates) {
  text::Hash names;
  for (const Choice& one : candidates) names.add(to_string(one));
  return {shape, collective, kind, load, names.value()};
}

void keep_verdict(Verdicts& verdicts, const Case& of, Verdict verdict) {
  if (verdicts.size() < most_verdicts || verdicts.contains(of)) verdicts.insert_or_assign(of, std::move(verdict));
}

}  // namespace quadrille::choose
