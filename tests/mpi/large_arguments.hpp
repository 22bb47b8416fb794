// The arguments of a call with int counts, as the same call with large counts takes them.
#pragma once

#include <mpi.h>

#include <vector>

namespace quadrille::test {

// Arrays of one side. Null stays null.
class LargeSide {
 public:
  template <class Displacement>
  LargeSide(const int* counts, const Displacement* displacements, int blocks)
      : has_counts_(counts != nullptr), has_displacements_(displacements != nullptr) {
    if (has_counts_) counts_.assign(counts, counts + blocks);
    if (has_displacements_) displacements_.assign(displacements, displacements + blocks);
    counts_.resize(counts_.size() + 1, guard), displacements_.resize(displacements_.size() + 1, guard);
    before_ = {counts_, displacements_};
  }
  const MPI_Count* counts() const { return has_counts_ ? counts_.data() : nullptr; }
  const MPI_Aint* displacements() const { return has_displacements_ ? displacements_.data() : nullptr; }
  bool is_unchanged() const { return counts_ == before_.counts && displacements_ == before_.displacements; }

 private:
  static constexpr long guard = -77;
  struct Copy {
    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> displacements;
  };
  bool has_counts_, has_displacements_;
  std::vector<MPI_Count> counts_;
  std::vector<MPI_Aint> displacements_;
  Copy before_;
};

// What a call returned, unless it changed its arguments.
inline int checked(int code, const LargeSide& one, const LargeSide& other) {
  return one.is_unchanged() && other.is_unchanged() ? code : MPI_ERR_INTERN;
}

}  // namespace quadrille::test
