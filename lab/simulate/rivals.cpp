#include "lab/simulate/rivals.hpp"

#include <bit>
#include <cstdint>
#include <limits>

namespace quadrille::simulate {
namespace {

// From so many ranks on, from so many bytes on.
struct FromBytes {
  double bytes;
  char algorithm;
};
struct FromRanks {
  int ranks;
  std::vector<FromBytes> by_bytes;
};

// Open MPI 5.0, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, ompi_coll_tuned_alltoall_intra_dec_fixed. Bytes are
// those of a block. l: linear, p: pairwise, b: modified_bruck, s: linear_sync, 2: two_proc
const std::vector<FromRanks>& openmpi_alltoall() {
  static const std::vector<FromRanks> table = {
      {2,
       {{0, 'p'},
        {2, '2'},
        {4, 'p'},
        {16, '2'},
        {64, 'p'},
        {256, '2'},
        {4096, 'p'},
        {32768, 's'},
        {262144, '2'},
        {1048576, 'p'}}},
      {3, {{0, 's'}, {8192, 'l'}, {16384, 's'}, {65536, 'l'}, {524288, 'p'}, {1048576, 'l'}}},
      {8, {{0, 's'}, {262144, 'l'}}},
      {16, {{0, 's'}, {4, 'b'}, {512, 's'}, {8192, 'l'}, {32768, 's'}, {262144, 'l'}, {524288, 's'}}},
      {32, {{0, 'b'}, {512, 'l'}, {524288, 's'}}},
      {64, {{0, 'b'}, {1024, 'l'}, {2048, 's'}, {4096, 'l'}, {262144, 'p'}}},
      {128, {{0, 'b'}, {1024, 's'}, {2048, 'l'}, {262144, 'p'}}},
      {256, {{0, 'b'}, {1024, 's'}, {8192, 'l'}, {32768, 'p'}}},
      {512, {{0, 'b'}, {512, 's'}, {8192, 'l'}, {16384, 's'}, {131072, 'l'}, {262144, 'p'}}},
      {1024, {{0, 'b'}, {512, 's'}, {1024, 'l'}, {2048, 's'}, {16384, 'l'}, {262144, 's'}}},
      {2048, {{0, 'b'}, {1024, 's'}, {4096, 'l'}, {8192, 's'}, {131072, 'l'}}},
      {4096, {{0, 'b'}, {2048, 's'}, {8192, 'l'}, {16384, 's'}, {32768, 'l'}, {65536, 's'}}}};
  return table;
}

// The same file, ompi_coll_tuned_alltoallv_intra_dec_fixed, which looks at the number of ranks alone.
const std::vector<FromRanks>& openmpi_alltoallv() {
  static const std::vector<FromRanks> table = {{2, {{0, 'p'}}},   {4, {{0, 'l'}}},   {64, {{0, 'p'}}},
                                               {128, {{0, 'l'}}}, {256, {{0, 'p'}}}, {1024, {{0, 'l'}}}};
  return table;
}

// The same file, ompi_coll_tuned_allgather_intra_dec_fixed. b: bruck, d: recursive_doubling, r: ring, n: neighbor, 2:
// two_proc
const std::vector<FromRanks>& openmpi_allgather() {
  static const std::vector<FromRanks> table = {
      {2, {{0, '2'}}},
      {3, {{0, 'd'}}},
      {32, {{0, 'd'}, {1024, 'n'}, {65536, 'r'}}},
      {64, {{0, 'd'}, {512, 'n'}, {65536, 'r'}}},
      {128, {{0, 'd'}, {512, 'n'}, {131072, 'r'}, {524288, 'n'}, {1048576, 'r'}}},
      {256, {{0, 'd'}, {32, 'b'}, {128, 'd'}, {1024, 'n'}, {131072, 'r'}, {524288, 'n'}, {1048576, 'r'}}},
      {512, {{0, 'd'}, {64, 'b'}, {256, 'd'}, {2048, 'n'}}},
      {1024, {{0, 'd'}, {4, 'b'}, {8, 'd'}, {16, 'b'}, {32, 'd'}, {256, 'b'}, {512, 'd'}, {4096, 'n'}}},
      {2048, {{0, 'b'}, {32, 'd'}, {128, 'b'}, {512, 'd'}, {4096, 'n'}}},
      {4096, {{0, 'd'}, {2, 'b'}, {8, 'd'}, {16, 'b'}, {512, 'd'}, {4096, 'n'}}}};
  return table;
}

// The same file, ompi_coll_tuned_allgatherv_intra_dec_fixed. g: gather and broadcast, else as above.
const std::vector<FromRanks>& openmpi_allgatherv() {
  static const std::vector<FromRanks> table = {
      {2, {{0, 'r'}, {2048, '2'}, {4096, 'r'}, {8192, '2'}}},
      {3, {{0, 'g'}, {256, 'n'}, {4096, 'r'}, {8192, 'n'}, {16384, 'b'}, {262144, 'n'}}},
      {8, {{0, 'g'}, {1024, 'b'}}},
      {16, {{0, 'g'}, {128, 'b'}, {262144, 'r'}}},
      {32, {{0, 'g'}, {256, 'b'}, {8192, 'r'}}},
      {64, {{0, 'g'}, {256, 'b'}, {4096, 'r'}}},
      {128, {{0, 'b'}, {1024, 'n'}, {65536, 'r'}}},
      {256, {{0, 'b'}, {1024, 'r'}}},
      {512, {{0, 'b'}, {512, 'g'}, {1024, 'b'}, {4096, 'n'}, {1048576, 'r'}}},
      {1024, {{0, 'b'}, {4096, 'n'}}}};
  return table;
}

char look_up(const std::vector<FromRanks>& table, int ranks, double bytes) {
  char found = 0;
  for (const FromRanks& row : table) {
    if (ranks < row.ranks) break;
    for (const FromBytes& one : row.by_bytes) {
      if (bytes >= one.bytes) found = one.algorithm;
    }
  }
  return found;
}

RivalChoice openmpi(Collective collective, int ranks, double bytes) {
  if (is_allgather(collective)) {
    switch (look_up(is_sized(collective) ? openmpi_allgather() : openmpi_allgatherv(), ranks, bytes)) {
      case 'b':
        return {"bruck:radix=2", "bruck"};
      case 'd':
      case '2':
        return {"recursive-doubling", "recursive_doubling"};
      case 'r':
        return {"ring", "ring"};
      case 'n':
        return {"ring", "neighbor; ring stands in, which has twice as many rounds of half the bytes"};
      case 'g':
        return {"bruck:radix=2", "gather and broadcast; bruck stands in"};
    }
    return {};
  }
  // By default linear_sync has all messages in flight at once (coll_tuned_alltoall_max_requests is 0), like linear.
  switch (look_up(is_sized(collective) ? openmpi_alltoall() : openmpi_alltoallv(), ranks, bytes)) {
    case 'l':
      return {"spread-out", "linear"};
    case 's':
      return {"spread-out", "linear_sync"};
    case 'p':
    case '2':
      return {"pairwise", "pairwise"};
    case 'b':
      return {"basic-bruck:radix=2", "modified_bruck"};
  }
  return {};
}

// MPICH 4 and 5, src/mpi/coll/coll_selection.json and src/mpi/coll/alltoall/alltoall.c:
// MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE is 256, MPIR_CVAR_ALLTOALL_MEDIUM_MSG_SIZE 32768, MPIR_CVAR_ALLTOALL_THROTTLE 32.
// Of an allgather bytes are those of all blocks: up to 81920 by Bruck, of a power of two of ranks below 524288 by
// recursive doubling.
RivalChoice mpich(Collective collective, int ranks, double bytes) {
  if (is_allgather(collective)) {
    const double all = bytes * ranks;
    if (std::has_single_bit(static_cast<unsigned>(ranks))) {
      if (all < 524288) return {"recursive-doubling", "recursive_doubling"};
    } else if (all < 81920) {
      return {"bruck:radix=2", "brucks"};
    }
    return {"ring", "ring"};
  }
  const RivalChoice scattered = {"waitall-stride:stride=32", "scattered"};
  if (!is_sized(collective)) return scattered;
  if (bytes <= 256 && ranks >= 8) return {"basic-bruck:radix=2", "brucks"};
  if (bytes <= 32768) return scattered;
  return {"pairwise", "pairwise"};
}

}  // namespace

const std::vector<Rival>& rivals() {
  static const std::vector<Rival> list = {
      {"openmpi", "what Open MPI 5 chooses without a setting (coll/tuned, fixed decisions)"},
      {"mpich", "what MPICH 4 and 5 choose without a setting (coll_selection.json)"}};
  return list;
}

RivalChoice rival_choice(std::string_view rival, Collective collective, int ranks, double bytes) {
  if (ranks < 2) return {};
  return rival == "openmpi" ? openmpi(collective, ranks, bytes) : mpich(collective, ranks, bytes);
}

}  // namespace quadrille::simulate
