#include "world.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

namespace quadrille::test {

namespace {

constexpr int problems_printed = 3;
int problems = 0;

std::vector<Communicator>& made_communicators() {
  static std::vector<Communicator> made;
  return made;
}

void add(const char* name, MPI_Comm comm) {
  if (comm != MPI_COMM_NULL) made_communicators().push_back(describe(name, comm));
}

MPI_Comm split(int color, int key) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
  return comm;
}

void make_communicators() {
  const int rank = world().rank;
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  add("world", MPI_COMM_WORLD);
  add("self", MPI_COMM_SELF);
  add("reversed", split(0, -rank));
  add("odd", split(rank % 2 == 1 ? 0 : MPI_UNDEFINED, rank));
  add("duplicated", copy);
  add("half", split(rank < (world().size + 1) / 2 ? 0 : 1, rank));
}

}  // namespace

World& world() {
  static World facts;
  return facts;
}

const std::vector<Communicator>& communicators() {
  if (made_communicators().empty()) make_communicators();
  return made_communicators();
}

const Communicator& communicator_named(const std::string& name) {
  for (const Communicator& communicator : communicators()) {
    if (communicator.name == name) return communicator;
  }
  std::abort();  // every rank is in those that tests ask for by name
}

Communicator duplicate(const std::string& name, MPI_Comm of) {
  MPI_Comm comm;
  MPI_Comm_dup(of, &comm);
  return describe(name, comm);
}

void release(Communicator& communicator) { MPI_Comm_free(&communicator.comm); }

void free_communicators() {
  for (Communicator& communicator : made_communicators()) {
    if (communicator.name != "world" && communicator.name != "self") release(communicator);
  }
  made_communicators().clear();
}

const std::vector<int>& hosts_of_ranks() {
  static const std::vector<int> found = [] {
    MPI_Comm host;
    int first = world().rank;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Bcast(&first, 1, MPI_INT, 0, host);
    MPI_Comm_free(&host);
    std::vector<int> hosts(static_cast<std::size_t>(world().size));
    hosts[static_cast<std::size_t>(world().rank)] = first;
    // No allgather: that may be Quadrille's.
    MPI_Allreduce(MPI_IN_PLACE, hosts.data(), world().size, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return hosts;
  }();
  return found;
}

int count_hosts() {
  const std::vector<int>& hosts = hosts_of_ranks();
  return static_cast<int>(std::set<int>(hosts.begin(), hosts.end()).size());
}

bool on_one_node() { return std::getenv("QUADRILLE_NODES") == nullptr && count_hosts() == 1; }

int repeats(int full, int least) {
  static const int effort = [] {
    const char* const text = std::getenv("QUADRILLE_TEST_EFFORT");
    return text != nullptr ? std::max(1, std::atoi(text)) : 100;
  }();
  const int size = world().size;
  const int percent = size <= 2 ? 100 : size <= 5 ? 30 : size <= 8 ? 12 : 4;
  return std::max(least, static_cast<int>(static_cast<long>(full) * percent * effort / 10000));
}

bool is_served_by_default(const Communicator& communicator) {
  const auto is = [](const char* name, const char* value) {
    const char* const set = std::getenv(name);
    return set == nullptr || *set == 0 || std::string(set) == value;
  };
  // Through the drop-in door the first calls are the MPI's, unless it is told otherwise.
  const bool first_too = can_force || std::getenv("QUADRILLE_SETUP_AFTER") != nullptr;
  const bool by_default = is("QUADRILLE", "on") && is("QUADRILLE_ALGORITHM", "") && is("QUADRILLE_SETUP_AFTER", "0") &&
                          first_too && (std::getenv("QUADRILLE_INBOX") == nullptr || !is("QUADRILLE_INBOX", "0"));
  return on_one_node() && communicator.size > 1 && by_default;
}

int error_class(int code) {
  int result = MPI_SUCCESS;
  MPI_Error_class(code, &result);
  return result;
}

void meet(MPI_Comm comm) { MPI_Barrier(comm); }

void MpiTest::SetUp() {
  problems = 0;
  meet();
}

void MpiTest::TearDown() {
  const int own = HasFailure() ? world().rank : world().size;
  int first = own;
  MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first < world().size && !HasFailure()) ADD_FAILURE() << "the test failed at rank " << first;
  if (problems > problems_printed) ADD_FAILURE() << problems << " problems in all";
}

void DuplicateTest::SetUp() {
  MpiTest::SetUp();
  MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
}

void DuplicateTest::TearDown() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  MpiTest::TearDown();
}

void expect_good(const std::string& problem) {
  if (problem.empty()) return;
  if (++problems <= problems_printed) ADD_FAILURE() << problem;
}

}  // namespace quadrille::test
