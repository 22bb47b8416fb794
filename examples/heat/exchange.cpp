#include "exchange.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>

namespace heat {
namespace {

using NeighborAlltoallwInit = int (*)(const void*, const int[], const MPI_Aint[],
                                      const MPI_Datatype[], void*, const int[], const MPI_Aint[],
                                      const MPI_Datatype[], MPI_Comm, MPI_Info, MPI_Request*);

// Looked up when the program runs: a program made for one MPI can run on another of its ABI, older
// or newer. Open MPI 4 has the function under the second name.
NeighborAlltoallwInit find_init() {
  for (const char* name : {"MPI_Neighbor_alltoallw_init", "MPIX_Neighbor_alltoallw_init"}) {
    if (void* found = dlsym(RTLD_DEFAULT, name)) {
      return reinterpret_cast<NeighborAlltoallwInit>(found);
    }
  }
  throw std::runtime_error("this MPI has no MPI_Neighbor_alltoallw_init for --exchange persistent");
}

Neighborhood neighborhood_of(const ProcessGrid& grid, int stencil, bool by_sendrecv) {
  const std::vector<Offset> offsets = neighbor_offsets(grid.dimensions, stencil);
  if (by_sendrecv) {
    // By the direction of travel, as in a graph. Those that do not exist are MPI_PROC_NULL.
    Neighborhood all{grid.comm, offsets, offsets};
    for (Offset& offset : all.receives) offset = {-offset[0], -offset[1], -offset[2]};
    return all;
  }
  return reads_corners(stencil) ? graph_neighborhood(grid, offsets) : cartesian_neighborhood(grid);
}

}  // namespace

MPI_Datatype part_type(const Extents& array, const Box& part, int dimensions) {
  MPI_Datatype type;
  // In Fortran's order the first dimension is the fastest.
  MPI_Type_create_subarray(dimensions, array.data(), part.extents.data(), part.begin.data(),
                           MPI_ORDER_FORTRAN, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

Exchange::Exchange(const ProcessGrid& grid, const Layout& layout, int stencil,
                   const std::string& how, std::array<double*, 2> arrays)
    : grid_(grid), arrays_(arrays), by_sendrecv_(how == "sendrecv") {
  if (how == "persistent") find_init();  // throws before there is anything to free
  neighborhood_ = neighborhood_of(grid, stencil, by_sendrecv_);
  owns_comm_ = neighborhood_.comm != grid.comm;
  for (const Offset& side : neighborhood_.sends) {
    const Box part = edge_points(layout, side);
    send_types_.push_back(part_type(layout.padded(), part, grid.dimensions));
  }
  for (const Offset& side : neighborhood_.receives) {
    const Box part = ghost_points(layout, side);
    receive_types_.push_back(part_type(layout.padded(), part, grid.dimensions));
  }
  const std::size_t most = std::max(send_types_.size(), receive_types_.size());
  ones_.assign(most, 1);
  zeros_.assign(most, 0);
  if (how == "persistent") prepare_persistent();
}

Exchange::~Exchange() {
  for (MPI_Request& request : requests_) {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  for (std::vector<MPI_Datatype>* types : {&send_types_, &receive_types_}) {
    for (MPI_Datatype& type : *types) MPI_Type_free(&type);
  }
  if (owns_comm_) MPI_Comm_free(&neighborhood_.comm);
}

void Exchange::prepare_persistent() {
  if (ones_.empty()) return;
  const NeighborAlltoallwInit init = find_init();
  for (int which = 0; which < 2; ++which) {
    init(arrays_[which], ones_.data(), zeros_.data(), send_types_.data(), arrays_[which],
         ones_.data(), zeros_.data(), receive_types_.data(), neighborhood_.comm, MPI_INFO_NULL,
         &requests_[which]);
  }
}

void Exchange::shift(double* array) const {
  for (std::size_t i = 0; i < send_types_.size(); ++i) {
    MPI_Sendrecv(array, 1, send_types_[i], grid_.rank_at(neighborhood_.sends[i]),
                 static_cast<int>(i), array, 1, receive_types_[i],
                 grid_.rank_at(neighborhood_.receives[i]), static_cast<int>(i), grid_.comm,
                 MPI_STATUS_IGNORE);
  }
}

void Exchange::operator()(int which) {
  if (ones_.empty()) return;  // one process and no neighbour: nobody waits for this rank
  double* array = arrays_[which];
  if (by_sendrecv_) return shift(array);
  if (requests_[which] != MPI_REQUEST_NULL) {
    MPI_Start(&requests_[which]);
    MPI_Wait(&requests_[which], MPI_STATUS_IGNORE);
    return;
  }
  MPI_Neighbor_alltoallw(array, ones_.data(), zeros_.data(), send_types_.data(), array,
                         ones_.data(), zeros_.data(), receive_types_.data(), neighborhood_.comm);
}

}  // namespace heat
