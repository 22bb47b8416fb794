#include "exchange.hpp"

#include <quadrille.h>

#include <algorithm>
#include <utility>

namespace closure {

TupleType::TupleType() {
  MPI_Type_contiguous(2, MPI_UINT32_T, &type_);
  MPI_Type_commit(&type_);
}

TupleType::~TupleType() { MPI_Type_free(&type_); }

Exchange::Exchange(const World& world, std::string algorithm) : world_(world), algorithm_(std::move(algorithm)) {}

std::vector<Pair> Exchange::operator()(Blocks blocks) {
  const std::vector<std::int64_t> out_counts = sizes_of(blocks);
  const Layout out_layout = layout_of(out_counts);
  const std::vector<Pair> out = joined(std::move(blocks));
  const Traffic before = traffic;
  const Layout in_layout = layout_of(exchange_counts(out_counts));
  std::vector<Pair> in(in_layout.total);
  exchange_tuples(out, out_layout, in, in_layout);
  traffic.tuples += static_cast<std::int64_t>(out_layout.total);
  traffic.tuples_to_others += static_cast<std::int64_t>(out_layout.total) - out_counts[world_.rank];
  const auto largest = static_cast<std::uint64_t>(*std::max_element(out_counts.begin(), out_counts.end()));
  trace.add(largest * sizeof(Pair), out_layout.total * sizeof(Pair), traffic.count_seconds - before.count_seconds,
            traffic.data_seconds - before.data_seconds);
  return in;
}

std::vector<std::int64_t> Exchange::exchange_counts(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> answers(counts.size());
  const double start = MPI_Wtime();
  MPI_Alltoall(counts.data(), 1, MPI_INT64_T, answers.data(), 1, MPI_INT64_T, world_.comm);
  traffic.count_seconds += MPI_Wtime() - start;
  return answers;
}

void Exchange::exchange_tuples(const std::vector<Pair>& out, const Layout& out_layout, std::vector<Pair>& in,
                               const Layout& in_layout) {
  const auto alltoallv = algorithm_ == "mpi" ? MPI_Alltoallv : Quadrille_Alltoallv;
  const double start = MPI_Wtime();
  alltoallv(out.data(), out_layout.counts.data(), out_layout.displacements.data(), tuple_.get(), in.data(),
            in_layout.counts.data(), in_layout.displacements.data(), tuple_.get(), world_.comm);
  traffic.data_seconds += MPI_Wtime() - start;
}

bool force_algorithm(const World& world, const std::string& algorithm) {
  if (algorithm == "mpi" || algorithm == "auto") return true;
  // An unknown name must end the program with one line, not with the MPI's report of an abort.
  MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_RETURN);
  const int error = Quadrille_Set_algorithm(world.comm, "alltoallv", algorithm.c_str());
  MPI_Comm_set_errhandler(world.comm, MPI_ERRORS_ARE_FATAL);
  return error == MPI_SUCCESS;
}

}  // namespace closure
