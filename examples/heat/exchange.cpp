#include "exchange.hpp"

namespace heat {
namespace {

Caller caller_of(const std::string& how) {
  if (how == "persistent") return Caller::mpi_persistent;
  if (how == "quadrille") return Caller::quadrille;
  if (how == "quadrille-persistent") return Caller::quadrille_persistent;
  return Caller::mpi;
}

void free_neighborhood(const ProcessGrid& grid, Neighborhood& neighborhood) {
  if (neighborhood.comm != grid.comm) MPI_Comm_free(&neighborhood.comm);
}

Neighborhood neighborhood_of(const ProcessGrid& grid, const ExchangeKind& kind) {
  const std::vector<Offset> offsets = neighbor_offsets(grid.dimensions, kind.stencil);
  if (kind.how == "sendrecv") return shift_neighborhood(grid, offsets);
  // Quadrille follows the standard's order, so no probe is needed.
  if (calls_quadrille(kind.how)) {
    return isomorphic_neighborhood(grid, offsets, kind.equal_blocks, collective_of(kind.how), kind.algorithm);
  }
  Neighborhood result = reads_corners(kind.stencil) ? graph_neighborhood(grid, offsets) : cartesian_neighborhood(grid);
  try {
    result.receives = is_packed(kind.how) ? receives_as_matched(result, packed_caller(kind.how))
                                          : receives_as_matched(result, caller_of(kind.how));
  } catch (...) {
    free_neighborhood(grid, result);
    throw;
  }
  return result;
}

template <class PointsOf>
Blocks blocks_of(const std::vector<Offset>& sides, const Layout& layout, int dimensions, PointsOf points_of) {
  Blocks blocks;
  for (const Offset& side : sides) {
    blocks.displacements.push_back(0);
    blocks.types.push_back(part_type(layout.padded(), points_of(layout, side), dimensions));
  }
  return blocks;
}

}  // namespace

MPI_Datatype part_type(const Extents& array, const Box& part, int dimensions) {
  MPI_Datatype type;
  // In Fortran's order the first dimension is contiguous.
  MPI_Type_create_subarray(dimensions, array.data(), part.extents.data(), part.begin.data(), MPI_ORDER_FORTRAN,
                           MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

bool calls_quadrille(const std::string& how) { return how.starts_with("quadrille"); }

Exchange::Exchange(const ProcessGrid& grid, const Layout& layout, const ExchangeKind& kind,
                   std::array<double*, 2> arrays)
    : grid_(grid), arrays_(arrays), neighborhood_(neighborhood_of(grid, kind)) {
  if (is_packed(kind.how)) {
    packed_ = std::make_unique<PackedCall>(neighborhood_, layout, packed_caller(kind.how));
    return;
  }
  sends_ = blocks_of(neighborhood_.sends, layout, grid.dimensions, edge_points);
  receives_ = blocks_of(neighborhood_.receives, layout, grid.dimensions, ghost_points);
  if (kind.how == "sendrecv") return;
  for (int which = 0; which < 2; ++which) {
    calls_[which] = std::make_unique<NeighborCall>(neighborhood_.comm, caller_of(kind.how), arrays_[which], sends_,
                                                   arrays_[which], receives_);
  }
}

Exchange::~Exchange() {
  for (std::unique_ptr<NeighborCall>& call : calls_) call.reset();
  packed_.reset();
  for (Blocks* blocks : {&sends_, &receives_}) {
    for (MPI_Datatype& type : blocks->types) MPI_Type_free(&type);
  }
  free_neighborhood(grid_, neighborhood_);
}

void Exchange::shift(double* array) const {
  for (std::size_t i = 0; i < sends_.types.size(); ++i) {
    MPI_Sendrecv(array, 1, sends_.types[i], grid_.rank_at(neighborhood_.sends[i]), static_cast<int>(i), array, 1,
                 receives_.types[i], grid_.rank_at(neighborhood_.receives[i]), static_cast<int>(i), grid_.comm,
                 MPI_STATUS_IGNORE);
  }
}

void Exchange::operator()(int which) {
  if (packed_) return (*packed_)(arrays_[which]);
  if (calls_[which]) return (*calls_[which])();
  shift(arrays_[which]);
}

}  // namespace heat
