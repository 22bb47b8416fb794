#include "choose/select.hpp"

#include <fmt/format.h>

namespace quadrille::choose {
namespace {

// Do all ranks know the largest block?
bool is_sized(Collective c) {
  return c != Collective::alltoallv && c != Collective::alltoallw;
}

Choice plain(Collective collective, std::string_view name) {
  Choice choice;
  parse_choice(collective, name, choice);
  return choice;
}

// Empty if inboxes can serve the call, else why not.
std::string why_no_inbox(const GlobalKey& key) {
  if (key.nodes != 1) return fmt::format("the ranks live on {} nodes", key.nodes);
  if (!key.inbox) return "there are no inboxes";
  if (is_sized(key.collective) && key.bytes == 0) return "there is nothing to move";
  if (is_sized(key.collective) && key.bytes > key.inbox_limit) {
    return fmt::format("a block of {} bytes is larger than {}", key.bytes, key.inbox_limit);
  }
  return {};
}

}  // namespace

Selection select(const GlobalKey& key, const Choice& forced) {
  const std::string obstacle = why_no_inbox(key);
  if (forced.algorithm != nullptr) {
    if (forced.algorithm->engine == Engine::node) {
      return {plain(key.collective, "mpi"), "nothing carries out node copies yet"};
    }
    if (!forced.algorithm->needs.one_node || obstacle.empty()) return {forced, "forced"};
    return {plain(key.collective, "mpi"), "the forced inbox cannot serve it: " + obstacle};
  }
  if (obstacle.empty()) {
    return {plain(key.collective, "inbox"), is_sized(key.collective)
                                                ? "one node, and the block fits the inboxes"
                                                : "one node; blocks that fit go through inboxes"};
  }
  return {plain(key.collective, "mpi"), obstacle};
}

}  // namespace quadrille::choose
