// What differs from ABI to ABI, as a program sees it under Quadrille: handles as integers, attributes and their
// callbacks, statuses, and the special values of arguments. The program is linked to the MPI alone.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstddef>
#include <tuple>
#include <vector>

#include "door.hpp"
#include "returned_errors.hpp"
#include "ring.hpp"

namespace quadrille::test {
namespace {

int rank() {
  int answer = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &answer);
  return answer;
}
int size() {
  int answer = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &answer);
  return answer;
}
int next_rank() { return (rank() + 1) % size(); }
int previous_rank() { return (rank() + size() - 1) % size(); }

// Quadrille serves the nonblocking calls on a communicator that follow a forwarded one and a blocking one
// (src/api/taken.cpp).
void get_ready_for_nonblocking(MPI_Comm comm) {
  const std::vector<int> sent(static_cast<std::size_t>(size()));
  std::vector<int> got(sent.size());
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ialltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Alltoall(sent.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm);
}

// Each rank sends to the next one.
MPI_Comm graph_of_world() {
  const int from = previous_rank(), to = next_rank();
  MPI_Comm graph = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  get_ready_for_nonblocking(graph);
  return graph;
}

MPI_Comm duplicate_of_world() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return comm;
}

// As large as an int.
MPI_Datatype derived_type() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

// ---- Handles as integers ----

// X(what the kind is called in names of functions, its type)
#define QUADRILLE_KINDS(X) \
  X(Comm, MPI_Comm)        \
  X(Type, MPI_Datatype)    \
  X(Request, MPI_Request)  \
  X(Group, MPI_Group)      \
  X(Info, MPI_Info)        \
  X(Op, MPI_Op)            \
  X(Errhandler, MPI_Errhandler)
#if defined(MPI_ABI_VERSION)
#define QUADRILLE_TO_INT(Kind, handle) MPI_##Kind##_toint(handle)
#define QUADRILLE_FROM_INT(Kind, number) MPI_##Kind##_fromint(number)
#else
#define QUADRILLE_TO_INT(Kind, handle) MPI_##Kind##_c2f(handle)
#define QUADRILLE_FROM_INT(Kind, number) MPI_##Kind##_f2c(number)
#endif
// An MPI that gives another handle for the integer, without us as well, is not asked.
bool keeps_handles_as_integers() { return !is_intel_by_standard_abi(); }
#define QUADRILLE_THROUGH_INT(Kind, Handle)                                                                 \
  Handle through_int_##Kind(Handle handle) {                                                                \
    return keeps_handles_as_integers() ? QUADRILLE_FROM_INT(Kind, QUADRILLE_TO_INT(Kind, handle)) : handle; \
  }
QUADRILLE_KINDS(QUADRILLE_THROUGH_INT)
#undef QUADRILLE_THROUGH_INT

// ---- Statuses ----

int count_in(const MPI_Status& status, MPI_Datatype type) {
  int count = -1;
  MPI_Get_count(&status, type, &count);
  return count;
}
int elements_in(const MPI_Status& status, MPI_Datatype type) {
  int elements = -1;
  MPI_Get_elements(&status, type, &elements);
  return elements;
}
bool is_cancelled(const MPI_Status& status) {
  int flag = -1;
  MPI_Test_cancelled(&status, &flag);
  return flag != 0;
}

// Whether nonblocking calls are Quadrille's own: the MPI must call it while the program waits
// (src/mpi/progress.cpp).
bool serves_requests() {
  const auto has = [](const char* name) { return dlsym(RTLD_DEFAULT, name) != nullptr; };
#if defined(MPI_ABI_VERSION)
  return has("opal_progress_register");
#else
  return has("opal_progress_register") || (has("PMPIX_Async_start") && has("MPIX_Request_is_complete"));
#endif
}

// The MPIs leave the status of their own nonblocking collectives undefined.
void expect_of_a_collective(const MPI_Status& status) {
  if (!serves_requests()) return;
  EXPECT_FALSE(is_cancelled(status));
  EXPECT_EQ(count_in(status, MPI_INT), 0);
  EXPECT_EQ(elements_in(status, MPI_INT), 0);
}

// ---- Completion of one request ----

// Calls until a request is complete.
template <class Call>
int repeat(const Call& call_once) {
  int flag = 0, error = MPI_SUCCESS;
  while (flag == 0 && error == MPI_SUCCESS) error = call_once(&flag);
  return error;
}

int wait_any(MPI_Request* request, MPI_Status* status) {
  int index = -1;
  return MPI_Waitany(1, request, &index, status);
}
int wait_some(MPI_Request* request, MPI_Status* status) {
  int count = 0, index = -1;
  return MPI_Waitsome(1, request, &count, &index, status);
}
int wait_all(MPI_Request* request, MPI_Status* status) { return MPI_Waitall(1, request, status); }
int test_one(MPI_Request* request, MPI_Status* status) {
  return repeat([&](int* flag) { return MPI_Test(request, flag, status); });
}
int test_any(MPI_Request* request, MPI_Status* status) {
  int index = -1;
  return repeat([&](int* flag) { return MPI_Testany(1, request, &index, flag, status); });
}
int test_some(MPI_Request* request, MPI_Status* status) {
  int index = -1;
  return repeat([&](int* count) { return MPI_Testsome(1, request, count, &index, status); });
}
int test_all(MPI_Request* request, MPI_Status* status) {
  return repeat([&](int* flag) { return MPI_Testall(1, request, flag, status); });
}
int get_status(MPI_Request* request, MPI_Status* status) {
  const int error = repeat([&](int* flag) { return MPI_Request_get_status(*request, flag, status); });
  return error != MPI_SUCCESS ? error : MPI_Wait(request, MPI_STATUS_IGNORE);
}

using Completion = int (*)(MPI_Request*, MPI_Status*);
constexpr Completion completions[] = {wait_all, wait_any, wait_some, test_one,
                                      test_all, test_any, test_some, get_status};

// By a handle that has been an integer.
int complete(MPI_Request request, Completion by) {
  MPI_Request same = through_int_Request(request);
  EXPECT_TRUE(same == request);
  MPI_Status status;
  const int error = by(&same, &status);
  EXPECT_TRUE(same == MPI_REQUEST_NULL);
  expect_of_a_collective(status);
  return error;
}

// ---- Calls ----

int value(int from, int block) { return 100 * from + block + 1; }

// Blocks of one int, for all ranks or for the neighbours in graph_of_world(). `call` makes a call with these two sides,
// and completes it.
template <Collective collective, class Call>
void expect_right(const char* name, MPI_Datatype type, const Call& call) {
  const int blocks = is_neighbor(collective) ? 1 : size();
  const auto length = static_cast<std::size_t>(blocks);
  const std::vector<int> counts(length, 1);
  const std::vector<MPI_Datatype> types(length, type);
  std::vector<int> sent, got(length, -1), places, bytes;
  std::vector<MPI_Aint> addresses;
  for (int block = 0; block < blocks; ++block) {
    sent.push_back(value(rank(), block));
    places.push_back(block);
    bytes.push_back(block * static_cast<int>(sizeof(int)));
    addresses.push_back(bytes.back());
  }
  const auto side = [&](std::vector<int>& data) {
    return CallSide{data.data(), 1, type, counts.data(), places.data(), bytes.data(), addresses.data(), types.data()};
  };
  EXPECT_EQ(call(side(sent), side(got)), MPI_SUCCESS) << name;
  for (int block = 0; block < blocks; ++block) {
    const int from = is_neighbor(collective) ? previous_rank() : block;
    const int theirs = is_neighbor(collective) || is_allgather(collective) ? 0 : rank();
    EXPECT_EQ(got[static_cast<std::size_t>(block)], value(from, theirs)) << name << ", block " << block;
  }
}

void expect_alltoall_right(MPI_Comm comm, MPI_Datatype type) {
  expect_right<Collective::alltoall>("MPI_Alltoall", type, [&](const CallSide& send, const CallSide& recv) {
    return call_with<Collective::alltoall>(&MPI_Alltoall, send, recv, comm);
  });
}

void expect_blocking_right(MPI_Comm graph, MPI_Datatype type) {
#define QUADRILLE_EXPECT_RIGHT(collective, Name, FORM, Displacement)                                         \
  expect_right<Collective::collective>("MPI_" #Name, type, [&](const CallSide& send, const CallSide& recv) { \
    return call_with<Collective::collective>(&MPI_##Name, send, recv, graph);                                \
  });
  QUADRILLE_MPI_COLLECTIVES(QUADRILLE_EXPECT_RIGHT)
#undef QUADRILLE_EXPECT_RIGHT
}

void expect_nonblocking_right(MPI_Comm graph, MPI_Datatype type, Completion completion) {
#define QUADRILLE_EXPECT_RIGHT(collective, Name, FORM, Displacement)                                                \
  expect_right<Collective::collective>("MPI_I" #collective, type, [&](const CallSide& send, const CallSide& recv) { \
    MPI_Request request = MPI_REQUEST_NULL;                                                                         \
    const int error = call_with<Collective::collective>(&MPI_I##collective, send, recv, graph, &request);           \
    return error != MPI_SUCCESS ? error : complete(request, completion);                                            \
  });
  QUADRILLE_MPI_COLLECTIVES(QUADRILLE_EXPECT_RIGHT)
#undef QUADRILLE_EXPECT_RIGHT
}

void add(void* more, void* sums, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(sums)[i] += static_cast<int*>(more)[i];
}

MPI_Comm comm_with_error = MPI_COMM_NULL;
void note_error(MPI_Comm* comm, int*, ...) { comm_with_error = *comm; }

TEST(Handles, ThatWereIntegersAreTheSame) {
  if (!keeps_handles_as_integers()) GTEST_SKIP() << "this MPI gives other handles for the integers";
  MPI_Comm comm = duplicate_of_world();
  MPI_Datatype type = derived_type();
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &group);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(add, 1, &op);
  MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(note_error, &errhandler);
#define QUADRILLE_EXPECT_SAME(Kind, handle) EXPECT_TRUE(through_int_##Kind(handle) == (handle)) << #handle;
  QUADRILLE_EXPECT_SAME(Comm, comm)
  QUADRILLE_EXPECT_SAME(Comm, MPI_COMM_WORLD)
  QUADRILLE_EXPECT_SAME(Comm, MPI_COMM_SELF)
  QUADRILLE_EXPECT_SAME(Type, type)
  QUADRILLE_EXPECT_SAME(Type, MPI_INT)
  QUADRILLE_EXPECT_SAME(Type, MPI_DOUBLE)
  QUADRILLE_EXPECT_SAME(Group, group)
  QUADRILLE_EXPECT_SAME(Info, info)
  QUADRILLE_EXPECT_SAME(Op, op)
  QUADRILLE_EXPECT_SAME(Op, MPI_SUM)
  QUADRILLE_EXPECT_SAME(Errhandler, errhandler)
  QUADRILLE_EXPECT_SAME(Errhandler, MPI_ERRORS_RETURN)
#undef QUADRILLE_EXPECT_SAME
  MPI_Errhandler_free(&errhandler);
  MPI_Op_free(&op);
  MPI_Info_free(&info);
  MPI_Group_free(&group);
  MPI_Type_free(&type);
  MPI_Comm_free(&comm);
}

TEST(Handles, ThatWereIntegersCanBeUsed) {
  MPI_Comm graph = graph_of_world();
  MPI_Datatype type = derived_type();
  expect_blocking_right(through_int_Comm(graph), through_int_Type(type));
  expect_nonblocking_right(through_int_Comm(graph), through_int_Type(type), MPI_Wait);

  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(add, 1, &op);
  const int one = 1;
  int sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, through_int_Op(op), through_int_Comm(graph));
  EXPECT_EQ(sum, size());

  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(graph, &group);
  MPI_Comm same_ranks = MPI_COMM_NULL;
  MPI_Comm_create(graph, through_int_Group(group), &same_ranks);
  expect_alltoall_right(same_ranks, MPI_INT);

  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(through_int_Info(info), "key", "value");
  int keys = 0;
  MPI_Info_get_nkeys(info, &keys);
  EXPECT_EQ(keys, 1);

  MPI_Info_free(&info);
  MPI_Comm_free(&same_ranks);
  MPI_Group_free(&group);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
  MPI_Comm_free(&graph);
}

TEST(Handles, OfErrorHandlersCanBeUsed) {
  if (!errors_are_returned()) GTEST_SKIP() << "an error ends the program";
  MPI_Comm comm = duplicate_of_world();
  MPI_Errhandler errhandler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(note_error, &errhandler);
  MPI_Comm_set_errhandler(comm, through_int_Errhandler(errhandler));
  // Blocks that are longer than what is expected.
  std::vector<int> sent(2 * static_cast<std::size_t>(size())), got(static_cast<std::size_t>(size()));
  EXPECT_NE(MPI_Alltoall(sent.data(), 2, MPI_INT, got.data(), 1, MPI_INT, comm), MPI_SUCCESS);
  EXPECT_TRUE(comm_with_error == comm);
  MPI_Errhandler_free(&errhandler);
  MPI_Comm_free(&comm);
}

// ---- Attributes ----

// Of a communicator or a datatype, with what its callbacks were called with.
template <class Handle>
struct Attribute {
  int keyval = MPI_KEYVAL_INVALID;
  int flag = 1;  // what copy() answers
  int copies = 0, deletions = 0;
  Handle copied{}, deleted{};
  const void* deleted_value = nullptr;
  int values[2] = {};  // that of the first object has the address of the first, and a copy that of the second

  static int copy(Handle from, int keyval, void* extra, void* value, void* made, int* flag) {
    auto& self = *static_cast<Attribute*>(extra);
    EXPECT_EQ(keyval, self.keyval);
    EXPECT_TRUE(value == &self.values[0]);
    ++self.copies;
    self.copied = from;
    *static_cast<void**>(made) = &self.values[1];
    *flag = self.flag;
    return MPI_SUCCESS;
  }
  static int remove(Handle from, int keyval, void* value, void* extra) {
    auto& self = *static_cast<Attribute*>(extra);
    EXPECT_EQ(keyval, self.keyval);
    ++self.deletions;
    self.deleted = from;
    self.deleted_value = value;
    return MPI_SUCCESS;
  }

  // After the first object was duplicated: `found` is what the duplicate has.
  void expect_copied(Handle first, int earlier, bool is_there, const void* found) const {
    EXPECT_EQ(copies, earlier + 1);
    EXPECT_TRUE(copied == first);
    EXPECT_EQ(is_there, flag != 0);
    if (is_there) {
      EXPECT_TRUE(found == &values[1]);
    }
  }
  // After an object was freed.
  void expect_deleted(Handle object, int number, bool was_copy) const {
    EXPECT_EQ(deletions, number);
    EXPECT_TRUE(deleted == object);
    EXPECT_TRUE(deleted_value == &values[was_copy ? 1 : 0]);
  }
};

// By the functions of the kind of `object`, which is freed. `expect_served` makes a call with an object.
template <class Handle, class Functions, class ExpectServed>
void expect_copied_and_deleted(Handle object, const Functions& functions, const ExpectServed& expect_served) {
  const auto& [create_keyval, set, get, make_duplicate, free_object, free_keyval] = functions;
  Attribute<Handle> attribute;
  create_keyval(Attribute<Handle>::copy, Attribute<Handle>::remove, &attribute.keyval, &attribute);
  set(object, attribute.keyval, &attribute.values[0]);
  expect_served(object);
  EXPECT_EQ(attribute.copies, 0) << "for an object of Quadrille's own";
  for (const int flag : {1, 0}) {
    attribute.flag = flag;
    const int copies = attribute.copies, deletions = attribute.deletions;
    Handle duplicate{};
    make_duplicate(object, &duplicate);
    expect_served(duplicate);
    void* found = nullptr;
    int is_there = 0;
    get(duplicate, attribute.keyval, &found, &is_there);
    attribute.expect_copied(object, copies, is_there != 0, found);
    const Handle freed = duplicate;
    free_object(&duplicate);
    if (flag != 0) attribute.expect_deleted(freed, deletions + 1, true);
    EXPECT_EQ(attribute.deletions, deletions + flag);
  }
  const Handle freed = object;
  free_object(&object);
  attribute.expect_deleted(freed, 2, false);
  free_keyval(&attribute.keyval);
}

TEST(Attributes, OfServedCommunicatorsAreCopiedAndDeleted) {
  const std::tuple functions(&MPI_Comm_create_keyval, &MPI_Comm_set_attr, &MPI_Comm_get_attr, &MPI_Comm_dup,
                             &MPI_Comm_free, &MPI_Comm_free_keyval);
  expect_copied_and_deleted(duplicate_of_world(), functions,
                            [](MPI_Comm comm) { expect_alltoall_right(comm, MPI_INT); });
}

TEST(Attributes, OfServedTypesAreCopiedAndDeleted) {
  const std::tuple functions(&MPI_Type_create_keyval, &MPI_Type_set_attr, &MPI_Type_get_attr, &MPI_Type_dup,
                             &MPI_Type_free, &MPI_Type_free_keyval);
  expect_copied_and_deleted(derived_type(), functions,
                            [](MPI_Datatype type) { expect_alltoall_right(MPI_COMM_WORLD, type); });
}

// ---- Statuses of receives ----

constexpr int tag = 5, unused_tag = 6, most = 3;

void expect_of_a_receive(const MPI_Status& status) {
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  EXPECT_EQ(status.MPI_SOURCE, previous_rank());
  EXPECT_EQ(status.MPI_TAG, tag);
  EXPECT_EQ(count_in(status, MPI_INT), most);
  EXPECT_EQ(elements_in(status, MPI_INT), most);
  EXPECT_EQ(count_in(status, pair), MPI_UNDEFINED);
  EXPECT_EQ(elements_in(status, pair), most);
  EXPECT_FALSE(is_cancelled(status));
  MPI_Type_free(&pair);
}

TEST(Statuses, OfReceives) {
  const std::array<int, most> sent = {1, 2, 3};
  std::array<int, most> got = {};
  MPI_Status status;
  MPI_Sendrecv(sent.data(), most, MPI_INT, next_rank(), tag, got.data(), most, MPI_INT, previous_rank(), tag,
               MPI_COMM_WORLD, &status);
  EXPECT_EQ(got, sent);
  expect_of_a_receive(status);

  MPI_Recv(got.data(), most, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
  EXPECT_EQ(count_in(status, MPI_INT), 0);

  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(got.data(), most, MPI_INT, previous_rank(), unused_tag, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  EXPECT_TRUE(is_cancelled(status));
}

TEST(Statuses, OfRequestsOfCollectives) {
  MPI_Comm graph = graph_of_world();
  expect_blocking_right(graph, MPI_INT);
  for (const Completion completion : completions) expect_nonblocking_right(graph, MPI_INT, completion);
  MPI_Comm_free(&graph);
}

// A request of a collective among the MPI's.
TEST(Statuses, OfRequestsOfBothKinds) {
  const std::array<int, most> sent = {1, 2, 3};
  get_ready_for_nonblocking(MPI_COMM_WORLD);
  for (const bool ignored : {false, true}) {
    std::array<int, most> got = {};
    std::array<MPI_Request, 3> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    std::array<MPI_Status, 3> statuses = {};
    MPI_Irecv(got.data(), most, MPI_INT, previous_rank(), tag, MPI_COMM_WORLD, &requests[0]);
    expect_right<Collective::alltoall>("MPI_Ialltoall", MPI_INT, [&](const CallSide& send, const CallSide& recv) {
      const int error = call_with<Collective::alltoall>(&MPI_Ialltoall, send, recv, MPI_COMM_WORLD, &requests[1]);
      if (error != MPI_SUCCESS) return error;
      MPI_Isend(sent.data(), most, MPI_INT, next_rank(), tag, MPI_COMM_WORLD, &requests[2]);
      return MPI_Waitall(3, requests.data(), ignored ? MPI_STATUSES_IGNORE : statuses.data());
    });
    EXPECT_EQ(got, sent);
    if (ignored) continue;
    expect_of_a_receive(statuses[0]);
    expect_of_a_collective(statuses[1]);
  }
}

// ---- Special values ----

TEST(SpecialValues, InPlace) {
  MPI_Comm comm = duplicate_of_world();
  std::vector<int> data, gathered(static_cast<std::size_t>(size()), -1);
  for (int block = 0; block < size(); ++block) data.push_back(value(rank(), block));
  gathered[static_cast<std::size_t>(rank())] = value(rank(), 0);
  EXPECT_EQ(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, data.data(), 1, MPI_INT, comm), MPI_SUCCESS);
  EXPECT_EQ(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, gathered.data(), 1, MPI_INT, comm), MPI_SUCCESS);
  for (int block = 0; block < size(); ++block) {
    EXPECT_EQ(data[static_cast<std::size_t>(block)], value(block, rank()));
    EXPECT_EQ(gathered[static_cast<std::size_t>(block)], value(block, 0));
  }
  MPI_Comm_free(&comm);
}

// A type that says where an int lies, for MPI_BOTTOM.
MPI_Datatype type_at(int& number) {
  const int length = 1;
  MPI_Aint address = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Get_address(&number, &address);
  MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

TEST(SpecialValues, Bottom) {
  MPI_Comm comm = duplicate_of_world();
  const auto length = static_cast<std::size_t>(size());
  std::vector<int> sent(length), got(length, -1);
  const std::vector<int> counts(length, 1), places(length, 0);
  std::vector<MPI_Datatype> send_types, receive_types;
  for (std::size_t block = 0; block < length; ++block) {
    sent[block] = value(rank(), static_cast<int>(block));
    send_types.push_back(type_at(sent[block]));
    receive_types.push_back(type_at(got[block]));
  }
  EXPECT_EQ(MPI_Alltoallw(MPI_BOTTOM, counts.data(), places.data(), send_types.data(), MPI_BOTTOM, counts.data(),
                          places.data(), receive_types.data(), comm),
            MPI_SUCCESS);
  for (std::size_t block = 0; block < length; ++block) {
    EXPECT_EQ(got[block], value(static_cast<int>(block), rank()));
    MPI_Type_free(&send_types[block]);
    MPI_Type_free(&receive_types[block]);
  }
  MPI_Comm_free(&comm);
}

TEST(SpecialValues, NoNeighbors) {
  MPI_Comm line = ring_of_world(0);
  const bool is_first = rank() == 0, is_last = rank() == size() - 1;
  const int nobody = MPI_PROC_NULL;
  int before = -1, after = -1;
  MPI_Cart_shift(line, 0, 1, &before, &after);
  EXPECT_EQ(before, is_first ? nobody : rank() - 1);
  EXPECT_EQ(after, is_last ? nobody : rank() + 1);
  const int mine = value(rank(), 0);
  std::array<int, 2> got = {-1, -1};
  EXPECT_EQ(MPI_Neighbor_allgather(&mine, 1, MPI_INT, got.data(), 1, MPI_INT, line), MPI_SUCCESS);
  EXPECT_EQ(got[0], is_first ? -1 : value(rank() - 1, 0));
  EXPECT_EQ(got[1], is_last ? -1 : value(rank() + 1, 0));
  MPI_Comm_free(&line);
}

TEST(SpecialValues, UndefinedColors) {
  const int none = MPI_UNDEFINED;
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() == 0 ? none : 1, 0, &part);
  EXPECT_EQ(part == MPI_COMM_NULL, rank() == 0);
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
}

TEST(SpecialValues, ClassesOfErrors) {
  if (!errors_are_returned()) GTEST_SKIP() << "an error ends the program";
  MPI_Comm comm = duplicate_of_world();
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  std::vector<int> sent(static_cast<std::size_t>(size())), got(sent.size());
  const auto class_of_call = [&](int count, MPI_Datatype type) {
    int answer = MPI_SUCCESS;
    MPI_Error_class(MPI_Alltoall(sent.data(), count, type, got.data(), 1, MPI_INT, comm), &answer);
    return answer;
  };
  EXPECT_EQ(class_of_call(-1, MPI_INT), MPI_ERR_COUNT);
  EXPECT_EQ(class_of_call(1, MPI_DATATYPE_NULL), MPI_ERR_TYPE);
  EXPECT_EQ(class_of_call(1, MPI_INT), MPI_SUCCESS);
  MPI_Comm_free(&comm);
}

TEST(SpecialValues, ThreadLevels) {
  int level = -1;
  MPI_Query_thread(&level);
  EXPECT_EQ(level, MPI_THREAD_MULTIPLE);
  EXPECT_LT(MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED);
  EXPECT_LT(MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED);
  EXPECT_LT(MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE);
}

}  // namespace
}  // namespace quadrille::test
