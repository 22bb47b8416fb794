#include "packed.hpp"

#include <quadrille.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "neighbor_call.hpp"

namespace heat {
namespace {

bool has_one_size(PackedCaller caller) {
  return caller == PackedCaller::mpi_alltoall || caller == PackedCaller::quadrille_alltoall;
}

struct Counts {
  const std::vector<int>&sends, &send_places, &receives, &receive_places;
};

void call(PackedCaller caller, const void* send, void* receive, MPI_Datatype type, const Counts& counts,
          MPI_Comm comm) {
  const auto alltoall = caller == PackedCaller::mpi_alltoall ? MPI_Neighbor_alltoall : Quadrille_Neighbor_alltoall;
  const auto alltoallv = caller == PackedCaller::mpi_alltoallv ? MPI_Neighbor_alltoallv : Quadrille_Neighbor_alltoallv;
  if (has_one_size(caller)) {
    const int count = !counts.sends.empty()     ? counts.sends.front()
                      : counts.receives.empty() ? 0
                                                : counts.receives.front();
    alltoall(send, count, type, receive, count, type, comm);
  } else {
    alltoallv(send, counts.sends.data(), counts.send_places.data(), type, receive, counts.receives.data(),
              counts.receive_places.data(), type, comm);
  }
}

std::vector<int> places_of(const std::vector<int>& counts) {
  std::vector<int> places(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  return places;
}

// Calls use(begin of a row in the array, points of it) for the rows of a box.
template <typename Use>
void for_each_row(const Extents& padded, const Box& box, Use use) {
  for (int z = 0; z < box.extents[2]; ++z) {
    for (int y = 0; y < box.extents[1]; ++y) {
      const auto row = static_cast<std::size_t>(box.begin[2] + z) * padded[1] + box.begin[1] + y;
      use(row * padded[0] + box.begin[0], box.extents[0]);
    }
  }
}

double* allocate(const std::vector<int>& counts) {
  const auto points = std::accumulate(counts.begin(), counts.end(), MPI_Aint{0});
  double* buffer = nullptr;
  MPI_Alloc_mem(std::max<MPI_Aint>(points, 1) * static_cast<MPI_Aint>(sizeof(double)), MPI_INFO_NULL, &buffer);
  return buffer;
}

}  // namespace

bool is_packed(const std::string& how) { return how.ends_with("alltoall") || how.ends_with("alltoallv"); }

PackedCaller packed_caller(const std::string& how) {
  const bool ours = how.starts_with("quadrille");
  if (how.ends_with("alltoallv")) return ours ? PackedCaller::quadrille_alltoallv : PackedCaller::mpi_alltoallv;
  return ours ? PackedCaller::quadrille_alltoall : PackedCaller::mpi_alltoall;
}

const char* collective_of(const std::string& how) {
  if (!is_packed(how)) return "neighbor_alltoallw";
  return has_one_size(packed_caller(how)) ? "neighbor_alltoall" : "neighbor_alltoallv";
}

PackedCall::Side PackedCall::side_of(const std::vector<Offset>& offsets,
                                     Box (*points_of)(const Layout&, const Offset&)) const {
  Side side;
  for (const Offset& offset : offsets) {
    side.boxes.push_back(points_of(layout_, offset));
    side.counts.push_back(static_cast<int>(point_count(side.boxes.back().extents)));
  }
  side.places = places_of(side.counts);
  side.buffer = allocate(side.counts);
  return side;
}

PackedCall::PackedCall(const Neighborhood& neighborhood, const Layout& layout, PackedCaller caller)
    : comm_(neighborhood.comm), layout_(layout), caller_(caller) {
  sends_ = side_of(neighborhood.sends, edge_points);
  receives_ = side_of(neighborhood.receives, ghost_points);
}

PackedCall::~PackedCall() {
  MPI_Free_mem(sends_.buffer);
  MPI_Free_mem(receives_.buffer);
}

void PackedCall::operator()(double* array) {
  const Extents padded = layout_.padded();
  double* next = sends_.buffer;
  for (const Box& box : sends_.boxes) {
    for_each_row(padded, box, [&](std::size_t begin, int points) { next = std::copy_n(array + begin, points, next); });
  }
  call(caller_, sends_.buffer, receives_.buffer, MPI_DOUBLE,
       {sends_.counts, sends_.places, receives_.counts, receives_.places}, comm_);
  for (std::size_t i = 0; i < receives_.boxes.size(); ++i) {
    const double* from = receives_.buffer + receives_.places[i];
    for_each_row(padded, receives_.boxes[i], [&](std::size_t begin, int points) {
      std::copy_n(from, points, array + begin);
      from += points;
    });
  }
}

void check_one_size(const Layout& layout, const std::vector<Offset>& offsets, bool evenly) {
  std::vector<std::size_t> counts;
  for (const Offset& offset : offsets) counts.push_back(point_count(edge_points(layout, offset).extents));
  if (evenly && std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end()) return;
  throw std::runtime_error(
      "--exchange alltoall wants blocks of one size at all ranks: a cube of points at each, and a stencil without "
      "corners");
}

std::vector<Offset> receives_as_matched(const Neighborhood& neighborhood, PackedCaller caller) {
  const std::vector<int> sent = codes_of(neighborhood.sends);
  // A Cartesian communicator also lists missing neighbours, from which nothing arrives.
  std::vector<int> arrived = codes_of(neighborhood.receives, true);
  const std::vector<int> sends(sent.size(), 1), receives(arrived.size(), 1);
  call(caller, sent.data(), arrived.data(), MPI_INT, {sends, places_of(sends), receives, places_of(receives)},
       neighborhood.comm);
  return sides_of(arrived);
}

}  // namespace heat
