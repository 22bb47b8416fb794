// What a team goes by when it chooses: from the tuning table of this machine, or the defaults.
#pragma once

#include <optional>
#include <string>

#include "choose/trial.hpp"
#include "choose/tuning.hpp"
#include "mpi/mpi.hpp"

namespace quadrille::team {

struct Team;

// For a communicator of `ranks` ranks of one node. Another rank may have another table: one looks and tells
// the others. `known` is false if they are only the defaults, and may be measured.
choose::SwitchPoints look_up_switch_points(int ranks, bool crowded, bool& known);
// Does the user want this process to measure what no table has?
bool may_measure();

// Keeps what this process measured, for communicators of about as many ranks.
void keep_switch_points(const choose::TuningEntry& entry);
// The verdicts of its trials (choose/trial.hpp), of this rank alone: others may have none, or another one. Threads
// may have trials on communicators of their own.
std::optional<choose::Verdict> verdict_of(const choose::Case& of);
void keep_verdict(const choose::Case& of, choose::Verdict verdict);
choose::Verdicts all_verdicts();

// The tuning table, read once; empty if there is none, or if it is refused.
const choose::TuningTable& table_of_this_process();

// The cost model for a communicator on several nodes, of calls with a device's memory or of others, which have no bus.
// All zero if there is none.
choose::DeviceModel look_up_model(const plan::NodeMap& nodes, bool crowded, bool on_devices);

// Which algorithms were measured to be best at which block size on such a communicator, and, on one node, which orders
// among neighbours, as choose::text_of() has it.
std::string look_up_algorithms(const plan::NodeMap& nodes, bool crowded);

// At the end, if the user wants it: adds what the trials of this process found to the table. One line if that cannot
// be.
void learn_verdicts();

// Of this machine, as tables name it.
choose::Machine this_machine();

// They need not be measured any more.
void settle_switch_points(Team& team);
// The points that calls go by from now on; the same on all ranks. What was selected before is not forgotten.
void use_switch_points(Team& team, const choose::SwitchPoints& points);

}  // namespace quadrille::team
