// What all ranks of a team ask each other between calls: collectives of our own on Team::own().
//
// They go by the answer. A rank to which the MPI gives none does not know what the others do from then on, so it does
// nothing on this communicator any more: that call, and every later one, returns an error. It is not alone in that with
// a collective of the MPI either.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "team/team.hpp"

namespace quadrille::team {

// Starts a collective with `begin`, again if that fails, as nothing has been sent then; and waits for it. A peer may
// wait for a call that this rank has started and left, so that is kept moving. Without an answer the team is lost, and
// this throws.
// Keeps `used`, the buffers of the collective, until the collective ends; null: they live long enough.
void ask_all(Team& team, std::shared_ptr<void> used, const std::function<int(MpiRequest*)>& begin);

// The largest of each number, over all ranks; as ask_all().
void largest_of_all(Team& team, std::span<const double> mine, std::span<double> largest);
void largest_of_all(Team& team, std::span<const std::uint64_t> mine, std::span<std::uint64_t> largest);

// The sum of each number over all ranks; as ask_all(). Of whole numbers, so that it is the same on all of them.
void sum_of_all(Team& team, std::span<const std::uint64_t> mine, std::span<std::uint64_t> sum);

// Is it true on all ranks? As ask_all().
bool true_on_all(Team& team, bool mine);

// The MPI failed in a collective whose result all ranks go by. lose() throws.
void mark_lost(Team& team);
[[noreturn]] void lose(Team& team);

}  // namespace quadrille::team
