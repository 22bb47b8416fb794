#include "exchange.hpp"

#include <quadrille.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace kcfa {
namespace {

// A count for MPI.
int count_of(std::size_t facts) {
  if (facts > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw std::length_error("more than 2^31 - 1 facts in one exchange of a rank");
  }
  return static_cast<int>(facts);
}

// The starts of contiguous blocks. Returns their total length.
std::size_t starts_of(const std::vector<int>& counts, std::vector<int>& starts) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    starts[i] = count_of(total);
    total += static_cast<std::size_t>(counts[i]);
  }
  return total;
}

// Whether Quadrille knows the algorithm. With MPI's default error handler an unknown one would end the program.
bool force(MPI_Comm comm, const std::string& algorithm) {
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(comm, &handler);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int error = Quadrille_Set_algorithm(comm, "alltoallv", algorithm.c_str());
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  return error == MPI_SUCCESS;
}

}  // namespace

Exchange::Exchange(MPI_Comm comm, const std::string& algorithm, std::size_t width)
    : comm_(comm), quadrille_(algorithm != "mpi"), width_(width) {
  int ranks;
  MPI_Comm_size(comm, &ranks);
  for (auto* list : {&send_counts_, &send_starts_, &receive_counts_, &receive_starts_}) {
    list->resize(ranks);
  }
  // One element is one tuple, so the limit of MPI's int counts is far away.
  MPI_Type_contiguous(static_cast<int>(width), MPI_UINT64_T, &tuple_);
  MPI_Type_commit(&tuple_);
  if (quadrille_ && algorithm != "auto") valid_ = force(comm, algorithm);
}

Exchange::~Exchange() { MPI_Type_free(&tuple_); }

std::span<const Word> Exchange::operator()(Outbox& outbox) {
  const Traffic before = traffic;
  exchange_counts(outbox);
  pack(outbox);
  outbox.clear();
  received_.resize(width_ * starts_of(receive_counts_, receive_starts_));
  const auto alltoallv = quadrille_ ? Quadrille_Alltoallv : MPI_Alltoallv;
  const double start = MPI_Wtime();
  alltoallv(sent_.data(), send_counts_.data(), send_starts_.data(), tuple_, received_.data(), receive_counts_.data(),
            receive_starts_.data(), tuple_, comm_);
  traffic.data += MPI_Wtime() - start;
  const int largest = *std::max_element(send_counts_.begin(), send_counts_.end());
  trace.add(static_cast<std::uint64_t>(largest) * width_ * sizeof(Word), traffic.bytes - before.bytes,
            traffic.counts - before.counts, traffic.data - before.data);
  return received_;
}

void Exchange::exchange_counts(const Outbox& outbox) {
  for (std::size_t rank = 0; rank < send_counts_.size(); ++rank) {
    const std::size_t words = outbox.boxes()[rank].size();
    const std::size_t bytes = words * sizeof(Word);
    traffic.bytes += bytes;
    traffic.largest_block = std::max<std::uint64_t>(traffic.largest_block, bytes);
    send_counts_[rank] = count_of(words / width_);
  }
  const double start = MPI_Wtime();
  MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT, comm_);
  traffic.counts += MPI_Wtime() - start;
}

void Exchange::pack(const Outbox& outbox) {
  sent_.resize(width_ * starts_of(send_counts_, send_starts_));
  auto at = sent_.begin();
  for (const std::vector<Word>& box : outbox.boxes()) at = std::copy(box.begin(), box.end(), at);
}

void Exchange::sum(std::span<std::uint64_t> numbers) {
  const double start = MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_UINT64_T, MPI_SUM, comm_);
  traffic.agreement += MPI_Wtime() - start;
}

}  // namespace kcfa
