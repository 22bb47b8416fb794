// Blocks of many small pieces in a device's memory: a kernel moves them, or copies do where it cannot.
//   device_pieces_check kernel | copies | wrong
// wrong: the kernel is replaced by one that moves nothing, which has to be found before it is used.
#include <mpi.h>
#include <quadrille.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "../device/standin.hpp"
#include "device_memory.hpp"
#include "program.hpp"

namespace {

using namespace quadrille::test;

bool by_kernel = false;

unsigned long count(const char* what) { return count_calls(what, "libquadrille"); }

// Pieces of 1 to 40 bytes, no two gaps alike, so that no copy of rows takes several.
struct Pieces {
  std::vector<int> lengths, places;
  int extent = 0, bytes = 0;
};
Pieces some_pieces(int n) {
  Pieces pieces;
  for (int i = 0; i < n; ++i) {
    pieces.lengths.push_back(1 + i * 13 % 40);
    pieces.places.push_back(pieces.extent);
    pieces.extent += pieces.lengths.back() + 1 + i * i % 37;
    pieces.bytes += pieces.lengths.back();
  }
  return pieces;
}

unsigned char value(int from, int to, int i, int turn) {
  return static_cast<unsigned char>(from * 89 + to * 53 + i * 7 + turn * 11 + 1);
}

constexpr unsigned char sent_gap = 0xa1, received_gap = 0xb2;

// One exchange of such blocks between all ranks, by whatever makes it.
class Exchange {
 public:
  Exchange(int n, MemoryKind kind)
      : pieces_(some_pieces(n)),
        block_(pieces_.extent + 5),
        bytes_(static_cast<std::size_t>(block_ * size)),
        send_(allocate(kind, bytes_)),
        recv_(allocate(kind, bytes_)),
        counts_(static_cast<std::size_t>(size), 1) {
    MPI_Type_indexed(n, pieces_.lengths.data(), pieces_.places.data(), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
    types_.assign(static_cast<std::size_t>(size), type_);
    for (int peer = 0; peer < size; ++peer) places_.push_back(peer * block_);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() { MPI_Type_free(&type_); }

  void wait(int turn) {
    prepare(turn);
    expect(Quadrille_Alltoallw(send_->address(), counts_.data(), places_.data(), types_.data(), recv_->address(),
                               counts_.data(), places_.data(), types_.data(), MPI_COMM_WORLD));
    look(turn);
  }
  void begin_and_wait(int turn) {
    prepare(turn);
    Quadrille_Request request = nullptr;
    expect(Quadrille_Ialltoallw(send_->address(), counts_.data(), places_.data(), types_.data(), recv_->address(),
                                counts_.data(), places_.data(), types_.data(), MPI_COMM_WORLD, &request));
    expect(Quadrille_Wait(&request));
    look(turn);
  }
  void in_place(int turn) {
    prepare(turn);
    fill(*recv_, received_gap, [&](int peer, int i) { return value(rank, peer, i, turn); });
    expect(Quadrille_Alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, recv_->address(), counts_.data(),
                               places_.data(), types_.data(), MPI_COMM_WORLD));
    look(turn);
  }
  void persistently(int turns) {
    Quadrille_Request request = nullptr;
    expect(Quadrille_Alltoallw_init(send_->address(), counts_.data(), places_.data(), types_.data(), recv_->address(),
                                    counts_.data(), places_.data(), types_.data(), MPI_COMM_WORLD, MPI_INFO_NULL,
                                    &request));
    const unsigned long allocations = count("allocations"), loads = count("cuModuleLoadData");
    for (int turn = 0; turn < turns; ++turn) {
      prepare(turn);
      expect(Quadrille_Start(&request));
      expect(Quadrille_Wait(&request));
      look(turn);
    }
    check(count("allocations") == allocations && count("cuModuleLoadData") == loads, "a start takes nothing");
    expect(Quadrille_Request_free(&request));
  }

 private:
  static void expect(int error) { check(error == MPI_SUCCESS, "an error"); }

  template <class Value>
  void fill(Memory& memory, unsigned char gap, Value&& byte) {
    std::vector<unsigned char> bytes(bytes_, gap);
    for_each_byte([&](int peer, int i, std::size_t at) { bytes[at] = byte(peer, i); });
    memory.put(bytes.data());
  }
  template <class Work>
  void for_each_byte(Work&& work) const {
    for (int peer = 0; peer < size; ++peer) {
      for (std::size_t p = 0, i = 0; p < pieces_.lengths.size(); ++p) {
        for (int b = 0; b < pieces_.lengths[p]; ++b) {
          work(peer, static_cast<int>(i++), static_cast<std::size_t>(peer * block_ + pieces_.places[p] + b));
        }
      }
    }
  }
  void prepare(int turn) {
    fill(*send_, sent_gap, [&](int peer, int i) { return value(rank, peer, i, turn); });
    const std::vector<unsigned char> gaps(bytes_, received_gap);
    recv_->put(gaps.data());
    launches_ = count("launches");
    copies_ = count("copies");
  }
  // What came, that nothing else was touched, and what moved it.
  void look(int turn) {
    const unsigned long launches = count("launches") - launches_, copies = count("copies") - copies_;
    std::vector<unsigned char> expected(bytes_, received_gap), got(bytes_);
    for_each_byte([&](int peer, int i, std::size_t at) { expected[at] = value(peer, rank, i, turn); });
    recv_->get(got.data());
    check(got == expected, "wrong bytes");
    if (by_kernel) check(launches >= 2 && copies == 0, "the kernel moves all");
    if (!by_kernel) check(copies > 2, "copies move all");
  }

  Pieces pieces_;
  int block_;
  std::size_t bytes_;
  std::unique_ptr<Memory> send_, recv_;
  std::vector<int> counts_, places_;
  std::vector<MPI_Datatype> types_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  unsigned long launches_ = 0, copies_ = 0;
};

// Moves nothing.
void idle(const quadrille::standin::Launch*, void**) {}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc < 2) return 2;
  by_kernel = std::strcmp(argv[1], "kernel") == 0;
  if (std::strcmp(argv[1], "wrong") == 0) replace_kernel("quadrille_copy_pieces", idle);
  for (const MemoryKind kind : {MemoryKind::device, MemoryKind::pool, MemoryKind::mapped}) {
    for (const int n : {20, 60}) {
      Exchange exchange(n, kind);
      for (int turn = 0; turn < 3; ++turn) exchange.wait(turn);
      exchange.begin_and_wait(3);
      exchange.in_place(4);
      exchange.persistently(3);
    }
  }
  if (std::strcmp(argv[1], "wrong") == 0)
    check(count("launches") == 1, "what a kernel gets wrong keeps it from being used");
  MPI_Finalize();
  check(count("cuMemAllocHost_v2") == count("cuMemFreeHost"), "freed at the end");
  check(count("cuModuleLoadData") == count("cuModuleUnload") || !by_kernel, "the kernel is unloaded at the end");
  return say_verdict();
}
