// Says where each rank is when nothing moves any more, or when it crashes, and ends the job.
#pragma once

#include <cstdint>

#include "call.hpp"

namespace quadrille::fuzz {

// Starts watching this process. A rank that has been at the same place for so many seconds ends the job.
void start_watchdog(std::uint64_t seed, int rank, int seconds);
void stop_watchdog();
// This thread (0 or 1) is there now; `call` lives until it is somewhere else.
void at_step(std::uint64_t step);
void at(const char* phase, const Call* call = nullptr, int thread = 0);
// Prints one line about this rank, with seed and step, at once.
void report(const std::string& text);

}  // namespace quadrille::fuzz
