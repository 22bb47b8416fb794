// A C++ program that knows nothing of Quadrille: a distributed sort of the kind that real programs
// do, with counts first (Alltoall) and data after (Alltoallv), on a communicator of its own.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

namespace {

struct Record {
  std::uint32_t key;
  std::uint32_t origin;
  double payload;
};

MPI_Datatype record_type() {
  const int lengths[] = {2, 1};
  const MPI_Aint at[] = {offsetof(Record, key), offsetof(Record, payload)};
  const MPI_Datatype kinds[] = {MPI_UINT32_T, MPI_DOUBLE};
  MPI_Datatype type;
  MPI_Type_create_struct(2, lengths, at, kinds, &type);
  MPI_Type_commit(&type);
  return type;
}

std::vector<int> starts(const std::vector<int>& counts) {
  std::vector<int> result(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), result.begin(), 0);
  return result;
}

// Sends every record to the rank that its key belongs to.
std::vector<Record> redistribute(std::vector<Record> records, MPI_Datatype type, MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return a.key < b.key; });
  const std::uint32_t share = UINT32_MAX / static_cast<std::uint32_t>(size) + 1;
  std::vector<int> out(static_cast<std::size_t>(size)), in(out.size());
  for (const Record& record : records) ++out[record.key / share];
  MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm);
  const std::vector<int> from = starts(out), to = starts(in);
  std::vector<Record> result(static_cast<std::size_t>(to.back() + in.back()));
  MPI_Alltoallv(records.data(), out.data(), from.data(), type, result.data(), in.data(), to.data(), type, comm);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const MPI_Datatype type = record_type();
  long long wrong = 0;
  long long sum = 0;
  for (unsigned turn = 0; turn < 12; ++turn) {
    std::mt19937 random(turn * 1000 + static_cast<unsigned>(rank));
    std::vector<Record> records(50 + 100 * ((turn + static_cast<unsigned>(rank)) % 3));
    for (Record& record : records) {
      record.key = static_cast<std::uint32_t>(random());
      record.origin = static_cast<std::uint32_t>(rank);
      record.payload = record.key * 0.5;
    }
    long long before = static_cast<long long>(records.size());
    const std::vector<Record> mine = redistribute(std::move(records), type, comm);
    long long after = static_cast<long long>(mine.size());
    const std::uint32_t share = UINT32_MAX / static_cast<std::uint32_t>(size) + 1;
    for (const Record& record : mine) {
      wrong += record.key / share != static_cast<std::uint32_t>(rank);
      wrong += record.payload != record.key * 0.5;
      sum += record.key + record.origin;
    }
    long long totals[] = {before, after};
    MPI_Allreduce(MPI_IN_PLACE, totals, 2, MPI_LONG_LONG, MPI_SUM, comm);
    wrong += totals[0] != totals[1];
    std::vector<double> shares(static_cast<std::size_t>(size));
    const double load = static_cast<double>(after);
    MPI_Allgather(&load, 1, MPI_DOUBLE, shares.data(), 1, MPI_DOUBLE, comm);
    wrong += std::accumulate(shares.begin(), shares.end(), 0.0) != static_cast<double>(totals[1]);
  }
  long long results[] = {wrong, sum};
  MPI_Allreduce(MPI_IN_PLACE, results, 2, MPI_LONG_LONG, MPI_SUM, comm);
  if (rank == 0) {
    std::printf("%d ranks, %lld wrong values, sum %lld\n", size, results[0], results[1]);
  }
  MPI_Datatype used = type;
  MPI_Type_free(&used);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return results[0] == 0 ? 0 : 1;
}
