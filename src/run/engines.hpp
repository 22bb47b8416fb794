// The engines that carry out a call: schedules over messages, and the memory of a node.
#pragma once

#include "plan/schedule.hpp"
#include "run/call.hpp"
#include "run/group.hpp"

namespace quadrille::run {

// Runs a schedule. `as_bytes`: the schedule moves blocks between buffers, so they must be plain bytes
// of one size; other datatypes are packed before and unpacked after. Returns an MPI error code.
int run_schedule(const Call& call, const plan::Schedule& schedule, bool as_bytes, Group& group);

// Runs a call through the inboxes of a node. Blocks above the capacity of a slot travel as messages,
// pair by pair: the slot says so. Returns an MPI error code.
int run_inbox(const Call& call, Group& group);

// The exchange inside a node: small blocks through inboxes, large ones pair by pair by the best way that
// the pair has, if `direct`, else as messages. Returns an MPI error code.
int run_node(const Call& call, Group& group, bool direct);

// Runs a schedule of copies between the ranks of a node, all of whose heaps all can reach. Returns an MPI
// error code.
int run_copies(const Call& call, const plan::Schedule& schedule, Group& group);

// The core of run_inbox for the commonest case: an all-to-all of `bytes` plain bytes a block, which fit
// a slot. `send` may be `recv`.
int run_inbox_bytes(const std::byte* send, std::byte* recv, std::size_t bytes, Group& group);

}  // namespace quadrille::run
