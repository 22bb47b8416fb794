// Blocks, counts and displacements above 2^31, without the memory for them: huge [dense|packed|messages].
//
// A buffer of gibibytes is one piece of shared memory, mapped again and again. Only where something could go wrong, at
// the ends of a block and around 2 GiB, lies memory of its own, and there every byte is checked. The source is not
// written, so it says what must arrive, wherever it lies.
//
//   dense     the calls with large counts, and those whose int counts are more than 2^31 bytes
//   packed    types with gaps, of extent zero, and of more than 2 GiB for one element
//   messages  two calls, for settings under which they become messages of the MPI
//   requests  by name: the same two, and one with one count, as nonblocking and persistent calls
//
// With QUADRILLE_TEST_API by Quadrille's functions, else by the MPI's.
#include <mpi.h>
#include <quadrille.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#if defined(QUADRILLE_TEST_API)
#define CALL(name) Quadrille_##name
#else
#define CALL(name) MPI_##name
#endif

namespace huge_check {

constexpr std::size_t piece = std::size_t{4} << 20;
constexpr std::size_t two_gib = std::size_t{1} << 31;
constexpr std::size_t big = two_gib + 12345;  // bytes of a block
constexpr std::size_t beyond = two_gib + 4 * piece;

int rank = 0, failures = 0;

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "huge_check: %s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

class Space {
 public:
  Space(std::size_t bytes, std::vector<std::size_t> own) : bytes_((bytes / piece + 1) * piece) {
    for (const std::size_t at : own) {
      for (const std::size_t near : {at > piece ? at - piece : 0, at}) own_.push_back(near / piece);
    }
    const int memory = memfd_create("huge_check", MFD_CLOEXEC);
    require(memory >= 0 && ftruncate(memory, piece) == 0, "memfd_create");
    void* const base = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(base != MAP_FAILED, "reserving addresses");
    base_ = static_cast<unsigned char*>(base);
    constexpr int both = PROT_READ | PROT_WRITE;
    for (std::size_t i = 0; i < bytes_ / piece; ++i) {
      void* const at = base_ + i * piece;
      void* const here = is_own(i) ? mmap(at, piece, both, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                   : mmap(at, piece, both, MAP_FIXED | MAP_SHARED, memory, 0);
      require(here == at, "mapping a piece");
    }
    close(memory);
  }
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;
  ~Space() { munmap(base_, bytes_); }

  unsigned char* data() const { return base_; }

  // What lies at an offset of rank `of`.
  unsigned char value(int of, std::size_t at) const {
    const std::uint64_t where = is_own(at / piece) ? at : at % piece;
    return static_cast<unsigned char>((where * 0x9e3779b97f4a7c15ULL >> 40) + static_cast<std::uint64_t>(of) * 101);
  }
  void fill(int of) {
    for (std::size_t i = 0; i < bytes_ / piece; ++i) {
      if (!is_own(i) && i > 0 && !is_own(i - 1)) continue;  // it is there already
      for (std::size_t b = 0; b < piece; ++b) base_[i * piece + b] = value(of, i * piece + b);
    }
  }
  void poison() {
    for (const std::size_t i : own_) std::memset(base_ + i * piece, 0xAA, piece);
  }

  // Checks the memory of its own between two offsets; `expected` says what is there.
  template <class Expected>
  void check(const char* what, std::size_t from, std::size_t to, Expected expected) const {
    std::size_t seen = 0;
    for (std::size_t i = from / piece; i * piece < to; ++i) {
      if (!is_own(i)) continue;
      for (std::size_t at = std::max(from, i * piece); at < std::min(to, (i + 1) * piece); ++at, ++seen) {
        if (base_[at] == expected(at)) continue;
        std::fprintf(stderr, "rank %d, %s: byte %zu is %d, not %d\n", rank, what, at, base_[at], expected(at));
        ++failures;
        return;
      }
    }
    if (seen == 0 && to > from) ++failures, std::fprintf(stderr, "%s: nothing was checked\n", what);
  }

 private:
  bool is_own(std::size_t i) const { return std::find(own_.begin(), own_.end(), i) != own_.end(); }

  std::size_t bytes_;
  std::vector<std::size_t> own_;
  unsigned char* base_ = nullptr;
};

void expect(const char* what, int code) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::fprintf(stderr, "rank %d, %s: %s\n", rank, what, text);
  ++failures;
}

constexpr unsigned char poisoned = 0xAA;

// Rank 0 sends `big` bytes to rank 1, and each rank `small` bytes to itself, from far behind.
constexpr std::size_t small = 999;

struct Sizes {
  MPI_Count send[2], recv[2];
  MPI_Aint from[2], to[2];
  MPI_Datatype types[2] = {MPI_BYTE, MPI_BYTE};

  Sizes() {
    const int me = rank, other = 1 - rank;
    send[me] = recv[me] = small;
    send[other] = me == 0 ? big : 0;
    recv[other] = me == 1 ? big : 0;
    from[me] = beyond, to[me] = beyond + piece;
    from[other] = 0, to[other] = piece;
  }
};

struct Buffers {
  Space send{beyond + piece, {0, two_gib, beyond}};
  Space recv{beyond + 2 * piece, {piece, piece + two_gib, beyond + piece}};
  Buffers() { send.fill(rank), recv.poison(); }

  // A block of `bytes` from `source`, at `from` there and at `to` here, and nothing in front of it and behind.
  void check_block(const char* what, int source, std::size_t from, std::size_t to, std::size_t bytes) {
    recv.check(what, to, to + bytes, [&](std::size_t at) { return send.value(source, at - to + from); });
  }
  void check_sizes(const char* what) {
    if (rank == 1) check_block(what, 0, 0, piece, big);
    if (rank == 1) recv.check(what, piece + big, piece + big + 100, [](std::size_t) { return poisoned; });
    check_block(what, rank, beyond, beyond + piece, small);
    recv.poison();
  }
};

void vectors(Buffers& b) {
  const Sizes s;
  expect("Alltoallv_c", CALL(Alltoallv_c)(b.send.data(), s.send, s.from, MPI_BYTE, b.recv.data(), s.recv, s.to,
                                          MPI_BYTE, MPI_COMM_WORLD));
  b.check_sizes("Alltoallv_c");
  expect("Alltoallw_c", CALL(Alltoallw_c)(b.send.data(), s.send, s.from, s.types, b.recv.data(), s.recv, s.to, s.types,
                                          MPI_COMM_WORLD));
  b.check_sizes("Alltoallw_c");
}

// Block 0 of the gather is large, block 1 lies behind it.
void gathers(Buffers& b) {
  const MPI_Count counts[] = {big, small};
  const MPI_Aint places[] = {piece, beyond + piece};
  expect("Allgatherv_c", CALL(Allgatherv_c)(b.send.data(), counts[rank], MPI_BYTE, b.recv.data(), counts, places,
                                            MPI_BYTE, MPI_COMM_WORLD));
  b.check_block("Allgatherv_c", 0, 0, piece, big);
  b.check_block("Allgatherv_c", 1, 0, beyond + piece, small);
  b.recv.poison();
}

// Counts of int, but more than 2^31 bytes.
void int_counts(Buffers& b) {
  constexpr int doubles = (1 << 28) + 77;
  int send[2] = {0, 0}, recv[2] = {0, 0}, from[2] = {0, 0};
  if (rank == 0) send[1] = doubles;
  if (rank == 1) recv[0] = doubles;
  const int to[2] = {static_cast<int>(piece / sizeof(double)), 0};
  expect("Alltoallv",
         CALL(Alltoallv)(b.send.data(), send, from, MPI_DOUBLE, b.recv.data(), recv, to, MPI_DOUBLE, MPI_COMM_WORLD));
  if (rank == 1) b.check_block("Alltoallv", 0, 0, piece, doubles * sizeof(double));
  b.recv.poison();
}

// All blocks are large.
void uniform() {
  Space send(2 * big, {0, two_gib, 2 * big}), recv(2 * big, {0, two_gib, 2 * big});
  const auto sent = [&](int of, std::size_t at) { return send.value(of, at); };
  send.fill(rank), recv.poison();
  expect("Alltoall_c", CALL(Alltoall_c)(send.data(), big, MPI_BYTE, recv.data(), big, MPI_BYTE, MPI_COMM_WORLD));
  for (std::size_t from = 0; from < 2; ++from) {
    recv.check("Alltoall_c", from * big, (from + 1) * big, [&](std::size_t at) {
      return sent(static_cast<int>(from), at - from * big + static_cast<std::size_t>(rank) * big);
    });
  }
  recv.poison();
  expect("Allgather_c", CALL(Allgather_c)(send.data(), big, MPI_BYTE, recv.data(), big, MPI_BYTE, MPI_COMM_WORLD));
  for (std::size_t from = 0; from < 2; ++from) {
    recv.check("Allgather_c", from * big, (from + 1) * big,
               [&](std::size_t at) { return sent(static_cast<int>(from), at - from * big); });
  }
}

#if defined(QUADRILLE_TEST_API)
void complete(const char* what, int made, Quadrille_Request* request, bool persistent) {
  expect(what, made);
  if (persistent) expect(what, Quadrille_Start(request));
  expect(what, Quadrille_Wait(request));
  if (persistent) Quadrille_Request_free(request);
}

void requests(Buffers& b) {
  const Sizes s;
  unsigned char* const send = b.send.data();
  unsigned char* const recv = b.recv.data();
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  const auto check = [&](const char* what, int made, bool persistent) {
    complete(what, made, &request, persistent);
    b.check_sizes(what);
  };
  check("Ialltoallv_c",
        Quadrille_Ialltoallv_c(send, s.send, s.from, MPI_BYTE, recv, s.recv, s.to, MPI_BYTE, MPI_COMM_WORLD, &request),
        false);
  check("Ialltoallw_c",
        Quadrille_Ialltoallw_c(send, s.send, s.from, s.types, recv, s.recv, s.to, s.types, MPI_COMM_WORLD, &request),
        false);
  check("Alltoallv_init_c",
        Quadrille_Alltoallv_init_c(send, s.send, s.from, MPI_BYTE, recv, s.recv, s.to, MPI_BYTE, MPI_COMM_WORLD,
                                   MPI_INFO_NULL, &request),
        true);
}

// All blocks are large.
void uniform_requests() {
  Space send(big, {0, two_gib}), recv(2 * big, {0, two_gib, 2 * big});
  Quadrille_Request request = QUADRILLE_REQUEST_NULL;
  send.fill(rank);
  for (const bool persistent : {false, true}) {
    recv.poison();
    const int made = persistent ? Quadrille_Allgather_init_c(send.data(), big, MPI_BYTE, recv.data(), big, MPI_BYTE,
                                                             MPI_COMM_WORLD, MPI_INFO_NULL, &request)
                                : Quadrille_Iallgather_c(send.data(), big, MPI_BYTE, recv.data(), big, MPI_BYTE,
                                                         MPI_COMM_WORLD, &request);
    complete("Iallgather_c", made, &request, persistent);
    for (std::size_t from = 0; from < 2; ++from) {
      recv.check("Iallgather_c", from * big, (from + 1) * big,
                 [&](std::size_t at) { return send.value(static_cast<int>(from), at - from * big); });
    }
  }
}
#endif

// Rank 0 is the only source of rank 1.
void neighbors(Buffers& b) {
  MPI_Comm line;
  const int zero = 0, one = 1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank, &zero, MPI_UNWEIGHTED, 1 - rank, &one, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &line);
  MPI_Comm_set_errhandler(line, MPI_ERRORS_RETURN);
  const MPI_Count count[] = {big};
  const MPI_Aint from[] = {0}, to[] = {piece};
  const MPI_Datatype types[] = {MPI_BYTE};
  unsigned char* const send = b.send.data();
  unsigned char* const recv = b.recv.data();
  const auto check = [&](const char* what, int code) {
    expect(what, code);
    if (rank == 1) b.check_block(what, 0, 0, piece, big);
    b.recv.poison();
  };
  check("Neighbor_alltoall_c", CALL(Neighbor_alltoall_c)(send, big, MPI_BYTE, recv + piece, big, MPI_BYTE, line));
  check("Neighbor_alltoallv_c",
        CALL(Neighbor_alltoallv_c)(send, count, from, MPI_BYTE, recv, count, to, MPI_BYTE, line));
  check("Neighbor_alltoallw_c", CALL(Neighbor_alltoallw_c)(send, count, from, types, recv, count, to, types, line));
  check("Neighbor_allgather_c", CALL(Neighbor_allgather_c)(send, big, MPI_BYTE, recv + piece, big, MPI_BYTE, line));
  check("Neighbor_allgatherv_c", CALL(Neighbor_allgatherv_c)(send, big, MPI_BYTE, recv, count, to, MPI_BYTE, line));
  MPI_Comm_free(&line);
}

// More than 2^31 elements of nothing.
void nothing() {
  MPI_Datatype empty;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  unsigned char byte = 7;
  const MPI_Count counts[] = {big, big};
  const MPI_Aint places[] = {0, 0};
  expect("Alltoall_c of nothing", CALL(Alltoall_c)(&byte, big, empty, &byte + 1, big, empty, MPI_COMM_WORLD));
  expect("Alltoallv_c of nothing",
         CALL(Alltoallv_c)(&byte, counts, places, empty, &byte + 1, counts, places, empty, MPI_COMM_WORLD));
  MPI_Type_free(&empty);
}

// From rank 0 to rank 1.
void send_typed(const char* what, const void* from, MPI_Count count, MPI_Datatype type, void* to, MPI_Count room,
                MPI_Datatype to_type) {
  MPI_Count send[2] = {0, 0}, recv[2] = {0, 0};
  const MPI_Aint places[2] = {0, 0};
  if (rank == 0) send[1] = count;
  if (rank == 1) recv[0] = room;
  expect(what, CALL(Alltoallv_c)(from, send, places, type, to, recv, places, to_type, MPI_COMM_WORLD));
}

void packed(Buffers& b) {
  unsigned char* const recv = b.recv.data() + piece;

  // The same byte more than 2^31 times.
  MPI_Datatype again;
  MPI_Type_create_resized(MPI_BYTE, 0, 0, &again);
  MPI_Type_commit(&again);
  unsigned char byte = 77;
  send_typed("one byte again and again", &byte, big, again, recv, big, MPI_BYTE);
  if (rank == 1) b.recv.check("one byte again and again", piece, piece + big, [](std::size_t) { return 77; });
  b.recv.poison();
  MPI_Type_free(&again);

  // Every other kibibyte is received into: twice the address space.
  constexpr std::size_t half = 1024, elements = big / half + 1;
  Space wide(2 * half * elements, {0, two_gib, 2 * half * elements - piece});
  wide.poison();
  MPI_Datatype block, gaps;
  MPI_Type_contiguous(half, MPI_BYTE, &block);
  MPI_Type_commit(&block);
  MPI_Type_create_resized(block, 0, 2 * half, &gaps);
  MPI_Type_commit(&gaps);
  send_typed("gaps", b.send.data(), elements, block, wide.data(), elements, gaps);
  if (rank == 1) {
    wide.check("gaps", 0, 2 * half * elements, [&](std::size_t at) {
      return at % (2 * half) < half ? b.send.value(0, at / (2 * half) * half + at % half) : poisoned;
    });
  }
  MPI_Type_free(&block), MPI_Type_free(&gaps);

  // Elements of more than 2 GiB, in two parts that lie apart.
  constexpr int part = static_cast<int>(two_gib / 2 + 50);
  constexpr std::size_t stride = two_gib / 2 + piece;
  MPI_Datatype giant;
  MPI_Type_create_hvector(2, part, stride, MPI_BYTE, &giant);
  MPI_Type_commit(&giant);
  send_typed("giant elements", b.send.data(), 1, giant, recv, 2 * static_cast<MPI_Count>(part), MPI_BYTE);
  if (rank == 1) {
    b.recv.check("giant elements", piece, piece + 2 * std::size_t{part}, [&](std::size_t at) {
      at -= piece;
      return b.send.value(0, at < part ? at : at - part + stride);
    });
  }
  MPI_Type_free(&giant);
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "dense";
  MPI_Init(&argc, &argv);
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  require(ranks == 2, "a run with 2 ranks");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  {
    Buffers buffers;
    if (mode == "dense") vectors(buffers), gathers(buffers), int_counts(buffers), neighbors(buffers), nothing();
    if (mode == "messages") vectors(buffers), int_counts(buffers);
    if (mode == "packed") packed(buffers);
#if defined(QUADRILLE_TEST_API)
    if (mode == "requests") requests(buffers);
#endif
  }
#if defined(QUADRILLE_TEST_API)
  if (mode == "requests") uniform_requests();
#endif
  if (mode == "dense") uniform();
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0 && failures == 0) std::puts("all as expected");
  MPI_Finalize();
  return failures > 0 ? 1 : 0;
}

#undef CALL

}  // namespace huge_check
