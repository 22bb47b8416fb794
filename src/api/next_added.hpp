// For the libraries of names that not every MPI has: their doors.
#pragma once

#include "api/next_function.hpp"

// The names that begin with a P: see interpose.cpp.
extern "C" bool quadrille_goes_straight(const void* site);
#define QUADRILLE_GOES_STRAIGHT_MPI(site) false
#define QUADRILLE_GOES_STRAIGHT_PMPI(site) quadrille_goes_straight(site)
#define QUADRILLE_GOES_STRAIGHT_MPIX(site) false
#define QUADRILLE_GOES_STRAIGHT_PMPIX(site) quadrille_goes_straight(site)

// A door of such a library: jumps to quadrille_Name in the preload library, with what comes after the door, or null,
// and where it was called from. PARAMETERS in brackets, then the arguments.
#define QUADRILLE_ADDED_DOOR(PREFIX, Name, PARAMETERS, ...)                                  \
  QUADRILLE_EXPORT int PREFIX##_##Name PARAMETERS {                                          \
    static std::atomic<int(*) PARAMETERS> known = nullptr;                                   \
    auto* const next = quadrille::api::next_function(known, #PREFIX "_" #Name);              \
    const void* const site = __builtin_return_address(0);                                    \
    if (next != nullptr && QUADRILLE_GOES_STRAIGHT_##PREFIX(site)) return next(__VA_ARGS__); \
    return quadrille_##Name(__VA_ARGS__, next, site);                                        \
  }
