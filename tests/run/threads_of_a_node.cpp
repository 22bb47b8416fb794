#include "threads_of_a_node.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "fake_mpi.hpp"

namespace quadrille::test {
namespace {

// More than any test needs: nobody goes on.
constexpr std::uint64_t most_passes = 3'000'000;

memory::XpmemCalls calls_that(bool attach) {
  memory::XpmemCalls calls;
  calls.get = [](std::int64_t segment, int, int, void*) { return segment; };
  calls.release = [](std::int64_t) { return 0; };
  calls.detach = [](void*) { return 0; };
  if (attach) {
    calls.attach = [](memory::XpmemCalls::Address from, std::size_t, void*) {
      return reinterpret_cast<void*>(static_cast<std::uintptr_t>(from.offset));
    };
  } else {
    calls.attach = [](memory::XpmemCalls::Address, std::size_t, void*) { return reinterpret_cast<void*>(-1); };
  }
  return calls;
}
const memory::XpmemCalls attaching = calls_that(true), failing = calls_that(false);

// Of a process that was, and is no more.
pid_t dead_process() {
  static const pid_t gone = [] {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    return child;
  }();
  return gone;
}

std::size_t control_bytes(int ranks) {
  return memory::inbox_layout(ranks).segment_bytes() + memory::pairs_layout(ranks).segment_bytes();
}

}  // namespace

Turns::Turns(int ranks, unsigned seed) : alive_(static_cast<std::size_t>(ranks), true), random_(seed) {
  for (int r = 0; r < ranks; ++r) called_.push_back(std::make_unique<std::condition_variable>());
  turn_ = static_cast<int>(random_() % static_cast<unsigned>(ranks));
}

void Turns::begin(int me) {
  std::unique_lock lock(mutex_);
  called_[static_cast<std::size_t>(me)]->wait(lock, [&] { return turn_ == me; });
}

void Turns::pass(int me) {
  std::unique_lock lock(mutex_);
  if (++passes_ > most_passes) {
    std::fprintf(stderr, "no rank goes on\n");
    std::abort();
  }
  draw_next();
  called_[static_cast<std::size_t>(me)]->wait(lock, [&] { return turn_ == me; });
}

void Turns::end(int me) {
  const std::lock_guard lock(mutex_);
  alive_[static_cast<std::size_t>(me)] = false;
  draw_next();
}

void Turns::draw_next() {
  std::vector<int> there;
  for (std::size_t r = 0; r < alive_.size(); ++r) {
    if (alive_[r]) there.push_back(static_cast<int>(r));
  }
  if (there.empty()) return;
  turn_ = there[random_() % there.size()];
  called_[static_cast<std::size_t>(turn_)]->notify_one();
}

CommonMemory::CommonMemory(std::size_t bytes)
    : bytes_(bytes),
      base_(static_cast<std::byte*>(
          mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {}
CommonMemory::~CommonMemory() { munmap(base_, bytes_); }

struct ThreadsOfANode::Rank {
  ThreadsOfANode* node;
  int me;
  std::minstd_rand random;
  run::Group group;
};

ThreadsOfANode::ThreadsOfANode(const NodeSettings& settings)
    : settings_(settings), turns_(settings.ranks, settings.seed), made_(static_cast<std::size_t>(settings.ranks)) {
  use_fake_mpi();
  const int nodes =
      settings.node_of.empty() ? 1 : 1 + *std::max_element(settings.node_of.begin(), settings.node_of.end());
  for (int node = 0; node < nodes; ++node) {
    control_.push_back(std::make_unique<CommonMemory>(control_bytes(static_cast<int>(members_of(node).size()))));
  }
  for (int me = 0; me < settings.ranks; ++me) {
    ranks_.push_back(std::make_unique<Rank>());
    Rank& rank = *ranks_.back();
    rank.node = this;
    rank.me = me;
    rank.random.seed(settings.seed * 64 + static_cast<unsigned>(me) + 1);
    run::Group& group = rank.group;
    group.me = me;
    group.ranks = settings.ranks;
    const std::vector<int> here = members_of(node_of(me));
    if (nodes > 1) {
      group.change_reach().members = here;
      group.change_reach().local.assign(static_cast<std::size_t>(settings.ranks), -1);
      for (std::size_t i = 0; i < here.size(); ++i) {
        group.change_reach().local[static_cast<std::size_t>(here[i])] = static_cast<int>(i);
      }
    }
    group.change_messages().comm = group.change_messages().quiet = fake_comm(me);
    const int ranks_here = static_cast<int>(here.size()), local = group.local_of(me);
    std::byte* const control = control_[static_cast<std::size_t>(node_of(me))]->base();
    const memory::InboxLayout inboxes = memory::inbox_layout(ranks_here);
    group.inbox = memory::Inbox(control, inboxes, local);
    group.pairs = memory::Pairs(control + inboxes.segment_bytes(), memory::pairs_layout(ranks_here), local,
                                memory::meeting_tree(std::vector<sys::Place>(here.size()), local, settings.radix));
    group.change_reach().slot_limit = std::min(settings.slot_limit, group.inbox.capacity());
    group.change_reach().points.cma_from = settings.cma_from;
    if (settings.streams) group.copying.stream_from = group.copying.temporal_bytes = 0;
    group.waiter.spins = settings.drawn ? 0 : 1 + rank.random() % 8;
    if (!settings.drawn) group.waiter.longest_sleep_us = rank.random() % 2 == 0 ? 0 : 2000;
    group.waiter.looks_between_progress = 1;
    group.waiter.progress = wait_a_little;
    group.waiter.progress_data = &rank;
    set_reach(rank);
  }
  for (const auto& rank : ranks_) rank->group.change_reach().load_store = all_attach();
}

ThreadsOfANode::~ThreadsOfANode() = default;

void ThreadsOfANode::wait_a_little(void* data) {
  Rank& rank = *static_cast<Rank*>(data);
  if (rank.node->settings_.drawn) return rank.node->turns_.pass(rank.me);
  if (rank.random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(rank.random() % 100));
}

// The same whichever rank asks.
bool ThreadsOfANode::draw(int percent, int from, int to, unsigned salt) const {
  std::seed_seq seeds{settings_.seed, static_cast<unsigned>(from), static_cast<unsigned>(to), salt};
  unsigned drawn = 0;
  seeds.generate(&drawn, &drawn + 1);
  return static_cast<int>(drawn % 100) < percent;
}

int ThreadsOfANode::node_of(int rank) const {
  return settings_.node_of.empty() ? 0 : settings_.node_of[static_cast<std::size_t>(rank)];
}

std::vector<int> ThreadsOfANode::members_of(int node) const {
  std::vector<int> members;
  for (int rank = 0; rank < settings_.ranks; ++rank) {
    if (node_of(rank) == node) members.push_back(rank);
  }
  return members;
}

// As team::set_reach() does from what processes found out.
void ThreadsOfANode::set_reach(Rank& rank) {
  const Reaches& reaches = settings_.reaches;
  run::Group& group = rank.group;
  const int me = rank.me;
  enum Salt : unsigned { attach, read, write, attach_fails, cma_fails };
  group.change_reach().rings = reaches.rings && group.pairs.has_rings();
  const std::vector<int> here = members_of(node_of(me));
  group.change_reach().peers.assign(here.size(), {});
  group.attached.resize(here.size());
  group.change_reach().all_map_me = false;
  group.change_reach().all_attach_me = true;
  for (std::size_t local = 0; local < here.size(); ++local) {
    const int other = here[local];
    if (other == me) continue;
    memory::Peer& peer = group.change_reach().peers[local];
    peer.i_can.read = draw(reaches.read, me, other, read);
    peer.i_can.write = draw(reaches.write, me, other, write);
    peer.can.read = draw(reaches.read, other, me, read);
    peer.can.write = draw(reaches.write, other, me, write);
    group.change_reach().written_to |= peer.can.write && !peer.i_can.read;
    const bool lost = (peer.i_can.read || peer.i_can.write) && draw(reaches.cma_fails, me, other, cma_fails);
    peer.process = lost ? dead_process() : getpid();
    peer.can.attach = group.change_reach().rings && draw(reaches.attach, other, me, attach);
    group.change_reach().all_attach_me &= peer.can.attach;
    if (group.change_reach().rings && draw(reaches.attach, me, other, attach)) {
      const bool fails = draw(reaches.attach_fails, me, other, attach_fails);
      group.attached[local] = memory::XpmemPeer(fails ? failing : attaching, 1);
    }
  }
}

bool ThreadsOfANode::all_attach() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank->group.change_reach().all_attach_me; });
}

void ThreadsOfANode::run(const std::function<void(int me, run::Group& group)>& work) {
  std::vector<std::thread> threads;
  for (const auto& rank : ranks_) {
    threads.emplace_back([&, me = rank->me] {
      if (settings_.drawn) turns_.begin(me);
      work(me, ranks_[static_cast<std::size_t>(me)]->group);
      if (settings_.drawn) turns_.end(me);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::byte* ThreadsOfANode::own_memory(int me, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t request = made_[static_cast<std::size_t>(me)]++;
  if (request == requests_.size()) requests_.push_back(std::make_unique<CommonMemory>(bytes));
  return requests_[request]->base();
}

memory::Inbox ThreadsOfANode::own_inbox(int me) {
  const memory::InboxLayout layout = memory::inbox_layout(settings_.ranks);
  return {own_memory(me, layout.segment_bytes()), layout, me};
}

memory::Leaders ThreadsOfANode::own_leaders(int me, const plan::LeadersPlan& plan,
                                            const memory::Leaders::Parts& parts) {
  const std::size_t most = memory::Leaders::bytes(settings_.ranks, parts);  // of any group
  std::byte* const base = own_memory(me, most * plan.nodes);
  return {base + most * plan.node, plan.here(), parts};
}

memory::Pairs ThreadsOfANode::own_pairs(int me, std::size_t ring_bytes) {
  const memory::PairsLayout layout = memory::pairs_layout_with(settings_.ranks, ring_bytes);
  return {
      own_memory(me, layout.segment_bytes()), layout, me,
      memory::meeting_tree(std::vector<sys::Place>(static_cast<std::size_t>(settings_.ranks)), me, settings_.radix)};
}

}  // namespace quadrille::test
