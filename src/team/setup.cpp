// Making a team ready: private communicator, node map, agreement on settings, inboxes. Collective.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "mpi/mpi.hpp"
#include "sys/descriptors.hpp"
#include "team/config.hpp"
#include "team/reach.hpp"
#include "team/switch_points.hpp"
#include "team/team.hpp"

namespace quadrille::team {
namespace {

bool all_true(MPI_Comm comm, bool mine) {
  int value = mine ? 1 : 0, least = 0;
  mpi().Allreduce(&value, &least, 1, mpi().int_type, mpi().op_min, comm);
  return least == 1;
}

// A communicator of the same ranks for our own messages. Not by MPI_Comm_dup: that would run the
// copy callbacks of the user's attributes.
int make_private(Team& team) {
  MPI_Group group;
  int error = mpi().Comm_group(team.user, &group);
  if (error != MPI_SUCCESS) return error;
  error = mpi().Comm_create(team.user, group, &team.group.comm);
  mpi().Group_free(&group);
  if (error != MPI_SUCCESS) return error;
  return mpi().Comm_set_errhandler(team.group.comm, mpi().errors_return);
}

// Which ranks share memory, as the MPI says. The label of a node is its lowest rank.
plan::NodeMap real_nodes(const run::Group& group, MPI_Comm& node) {
  mpi().Comm_split_type(group.comm, MPI_COMM_TYPE_SHARED, group.me, mpi().info_null, &node);
  int label = group.me;
  mpi().Bcast(&label, 1, mpi().int_type, 0, node);
  std::vector<int> labels(static_cast<std::size_t>(group.ranks));
  mpi().Allgather(&label, 1, mpi().int_type, labels.data(), 1, mpi().int_type, group.comm);
  return plan::node_map_from_labels(labels);
}

// More ranks on this node than processors they may use? Ranks of other communicators count too: the
// launchers tell how many live here.
bool oversubscribed(MPI_Comm node, int node_ranks) {
  const sys::ProcessorSet mine = sys::allowed_processors();
  sys::ProcessorSet all;
  mpi().Allreduce(mine.words, all.words, sys::max_processors / 64, mpi().uint64, mpi().op_bor,
                  node);
  int ranks_here = node_ranks;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    ranks_here = std::max(ranks_here, std::atoi(sys::environment(name).c_str()));
  }
  // A rank bound to some processors leaves the others to ranks outside this communicator.
  return node_ranks > sys::count(all) ||
         (ranks_here > node_ranks && ranks_here > sys::count(all) && sys::count(mine) > 1);
}

void drive_mpi(void* data) {
  const auto* group = static_cast<const run::Group*>(data);
  int flag = 0;
  mpi().Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, group->comm, &flag, MPI_STATUS_IGNORE);
}

void set_waiting(run::Group& group, bool crowded) {
  if (crowded) group.waiter.spins = 8;
  group.waiter.progress = drive_mpi;
  group.waiter.progress_data = &group;
}

// The node's first rank makes the segment and hands its descriptor to the others. Every step that can fail is agreed
// upon before the next. Returns an empty string, or why there are no inboxes.
std::string make_inboxes(const NodeView& node, run::Group& group) {
  const memory::InboxLayout layout = memory::inbox_layout(node.ranks);
  if (layout.capacity() == 0) return "there are too many ranks for inboxes";
  const std::size_t bytes = control_bytes(node.ranks);
  const bool leader = node.me == 0;
  int segment = -1, socket = -1;
  sys::Address address;
  if (leader) {
    segment = sys::create_segment(bytes);
    if (segment >= 0) socket = sys::listen_local(node.ranks, address);
  }
  mpi().Bcast(&address, sizeof address, mpi().byte, 0, node.comm);
  if (!leader && address.length > 0) socket = sys::connect_local(address);
  std::byte* base = nullptr;
  std::string obstacle = "shared memory cannot be reached by all ranks";
  if (all_true(node.comm, socket >= 0)) {
    if (leader) {
      if (sys::hand_out(socket, node.ranks - 1, segment)) {
        base = sys::map_segment(segment, bytes);
      }
    } else {
      segment = sys::take_descriptor(socket);
      if (segment >= 0) base = sys::map_segment(segment, bytes);
    }
    if (all_true(node.comm, base != nullptr)) {
      group.inbox = memory::Inbox(base, layout, node.me);
      group.pairs = memory::Pairs(base + layout.segment_bytes(), memory::pairs_layout(node.ranks),
                                  node.me);
      obstacle.clear();
    } else if (base != nullptr) {
      sys::unmap_segment(base, bytes);
    }
  }
  sys::close_descriptor(socket);
  sys::close_descriptor(segment);
  return obstacle;
}

// The settings of this process if all ranks have the same, else none.
Config agreed_config(run::Group& group) {
  if (all_agree(group.comm, fingerprint(config()))) return config();
  if (group.me == 0) say("QUADRILLE_* variables differ among the ranks and are ignored");
  return {};
}

void apply_node_map(Team& team, const Config& settings, plan::NodeMap real) {
  team.nodes = std::move(real);
  if (settings.nodes.empty()) return;
  plan::NodeMap asked;
  const std::string why = plan::parse_node_map(settings.nodes, team.group.ranks, asked);
  if (why.empty()) {
    team.nodes = std::move(asked);
  } else if (team.group.me == 0) {
    say(fmt::format("QUADRILLE_NODES=\"{}\" is ignored: {}", settings.nodes, why));
  }
}

// May the ranks of each node of `map` share memory? Known to all ranks alike.
bool lies_within(const plan::NodeMap& map, const plan::NodeMap& real) {
  std::vector<int> real_of(static_cast<std::size_t>(map.nodes), -1);
  for (std::size_t r = 0; r < map.node_of.size(); ++r) {
    int& known = real_of[static_cast<std::size_t>(map.node_of[r])];
    if (known >= 0 && known != real.node_of[r]) return false;
    known = real.node_of[r];
  }
  return true;
}

// Prepares what the ranks of each node share. Returns an empty string, or why there is nothing.
std::string share_nodes(Team& team, const Config& settings) {
  run::Group& group = team.group;
  NodeView node{group.comm, group.me, group.ranks};
  if (team.nodes.nodes > 1) {
    const std::vector<int>& node_of = team.nodes.node_of;
    const int mine = node_of[static_cast<std::size_t>(group.me)];
    int next = 0;
    group.local.assign(node_of.size(), -1);
    for (std::size_t r = 0; r < node_of.size(); ++r) {
      if (node_of[r] == mine) group.local[r] = next++;
    }
    node.me = group.local_of(group.me);
    node.ranks = next;
    const int error = mpi().Comm_split(group.comm, mine, group.me, &node.comm);
    if (error != MPI_SUCCESS) return "the ranks of a node get no communicator";
  }
  std::string obstacle = make_inboxes(node, group);
  if (group.inbox.usable()) find_reach(node, group, settings.ways);
  if (team.nodes.nodes > 1) {
    mpi().Comm_free(&node.comm);
    group.load_store = false;  // not all ranks reach all heaps
  }
  // Either all nodes have it, or nobody uses it.
  group.direct = all_true(group.comm, group.direct);
  return obstacle;
}

}  // namespace

std::size_t control_bytes(int ranks) {
  return memory::inbox_layout(ranks).segment_bytes() + memory::pairs_layout(ranks).segment_bytes();
}

int setup(Team& team) {
  run::Group& group = team.group;
  if (const int error = make_private(team); error != MPI_SUCCESS) return error;
  print_warnings(config(), group.me);
  const Config settings = agreed_config(group);

  MPI_Comm node;
  const plan::NodeMap real = real_nodes(group, node);
  int node_ranks = 0;
  mpi().Comm_size(node, &node_ranks);
  const bool crowded = !all_true(group.comm, !oversubscribed(node, node_ranks));
  set_waiting(group, crowded);
  mpi().Comm_free(&node);
  apply_node_map(team, settings, real);

  if (settings.inbox_limit == 0) {
    team.inbox_obstacle = "inboxes are switched off";
  } else if (!lies_within(team.nodes, real)) {
    team.inbox_obstacle = "the ranks do not share a node";
  } else {
    team.inbox_obstacle = share_nodes(team, settings);
    group.points = agree_on_switch_points(group.comm, crowded);
    team.crowded = crowded;
    group.copying = memory::copy_plan(settings.stream, sys::cache_bytes(2), node_ranks);
  }
  group.slot_limit = std::min(settings.inbox_limit, group.inbox.capacity());
  // What the user set comes before the table.
  if (settings.inbox_limit != SIZE_MAX) group.points.inbox_limit.fill(settings.inbox_limit);
  team.forced = settings.forced;
  team.ready = true;
  return MPI_SUCCESS;
}

}  // namespace quadrille::team
