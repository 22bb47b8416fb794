// Blocks padded to the size of the largest of all ranks, around a schedule for blocks of one size (Fan et al., HPDC
// 2022, section 3.1: padded Bruck, padded all-to-all).
//
// Cost    The agreement on the largest block, the schedule's rounds with blocks of that size, and two copies of all
// data;
//         P * N bytes twice for the padded blocks. If that is more than 256 MiB each, the blocks go unpadded.
//
// Example, 3 ranks with blocks of 1 to 4 bytes: all learn "4", lay their blocks out every 4 bytes, exchange these, and
// each takes as many bytes of each as it was told to receive.
#pragma once

#include <optional>
#include <vector>

#include "run/bound_run.hpp"

namespace quadrille::run {

class PaddedRun {
 public:
  // `uniform` null: the MPI's own all-to-all, if the run may `block`, else the direct schedule. All must outlive the
  // run, but the arrays of the call need not.
  PaddedRun(const Call& call, const plan::Schedule* uniform, const plan::Schedule& direct, const Traffic& traffic,
            const RunMemory& memory);
  PaddedRun& operator=(PaddedRun&&) = delete;

  // As BoundRun.
  int start(bool block = false);
  int advance(bool block = false);
  bool done() const { return phase_ == Phase::idle; }

 private:
  enum class Phase { idle, agreeing, asking, padded, unpadded };
  int lay_out(bool block);
  std::size_t room_bytes() const;
  bool take_room();
  int begin(bool block);

  const StoredCall call_;
  const plan::Schedule* uniform_;
  const plan::Schedule& direct_;
  const Traffic traffic_;
  RunMemory memory_;
  std::vector<Block> send_, recv_;
  std::vector<Place> send_places_, recv_places_;
  MpiTransport transport_;
  Agreement agreement_;
  std::optional<BoundRun> run_;  // of the padded blocks, or of the user's
  std::size_t largest_ = 0;      // block of all ranks
  bool known_ = false;           // what `largest_` is, and that all ranks have room for such blocks
  Phase phase_ = Phase::idle;
};

}  // namespace quadrille::run
