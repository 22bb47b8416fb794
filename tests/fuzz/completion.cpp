#include "completion.hpp"

#include <sched.h>

#include <vector>

namespace quadrille::fuzz {
namespace {

int count_of(std::span<MPI_Request> requests) { return static_cast<int>(requests.size()); }

// Until `look` says that there is nothing more to look for. It tests, and never waits.
template <class Look>
int again_until(Look look) {
  for (bool over = false; !over; sched_yield()) {
    if (const int error = look(over); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

int wait_for_each(std::span<MPI_Request> requests) {
  for (MPI_Request& request : requests) {
    if (const int error = MPI_Wait(&request, MPI_STATUS_IGNORE); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

// Under this name tools call it. What is preloaded need not see that.
int wait_unseen_for_each(std::span<MPI_Request> requests) {
  for (MPI_Request& request : requests) {
    if (const int error = PMPI_Wait(&request, MPI_STATUS_IGNORE); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

int test_each(std::span<MPI_Request> requests) {
  for (MPI_Request& request : requests) {
    const int error = again_until([&](bool& over) {
      int flag = 0;
      const int tested = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      over = flag != 0;
      return tested;
    });
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

// What is complete stays a request until somebody waits for it.
int look_at_each(std::span<MPI_Request> requests) {
  for (const MPI_Request request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    const int error = again_until([&](bool& over) {
      int flag = 0;
      const int looked = MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
      over = flag != 0;
      return looked;
    });
    if (error != MPI_SUCCESS) return error;
  }
  return wait_for_each(requests);
}

int wait_for_all(std::span<MPI_Request> requests) {
  return MPI_Waitall(count_of(requests), requests.data(), MPI_STATUSES_IGNORE);
}

int test_all(std::span<MPI_Request> requests) {
  return again_until([&](bool& over) {
    int flag = 0;
    const int error = MPI_Testall(count_of(requests), requests.data(), &flag, MPI_STATUSES_IGNORE);
    over = flag != 0;
    return error;
  });
}

int wait_for_any(std::span<MPI_Request> requests) {
  return again_until([&](bool& over) {
    int index = 0;
    const int error = MPI_Waitany(count_of(requests), requests.data(), &index, MPI_STATUS_IGNORE);
    over = index == MPI_UNDEFINED;
    return error;
  });
}

int test_any(std::span<MPI_Request> requests) {
  return again_until([&](bool& over) {
    int index = 0, flag = 0;
    const int error = MPI_Testany(count_of(requests), requests.data(), &index, &flag, MPI_STATUS_IGNORE);
    over = flag != 0 && index == MPI_UNDEFINED;
    return error;
  });
}

int wait_for_some(std::span<MPI_Request> requests) {
  std::vector<int> indices(requests.size() + 1);  // never null
  return again_until([&](bool& over) {
    int completed = 0;
    const int error =
        MPI_Waitsome(count_of(requests), requests.data(), &completed, indices.data(), MPI_STATUSES_IGNORE);
    over = completed == MPI_UNDEFINED;
    return error;
  });
}

int test_some(std::span<MPI_Request> requests) {
  std::vector<int> indices(requests.size() + 1);
  return again_until([&](bool& over) {
    int completed = 0;
    const int error =
        MPI_Testsome(count_of(requests), requests.data(), &completed, indices.data(), MPI_STATUSES_IGNORE);
    over = completed == MPI_UNDEFINED;
    return error;
  });
}

struct Way {
  const char* name;
  int (*complete)(std::span<MPI_Request>);
};
constexpr Way ways[] = {
    {"MPI_Wait", wait_for_each},         {"MPI_Test", test_each},       {"MPI_Request_get_status", look_at_each},
    {"PMPI_Wait", wait_unseen_for_each}, {"MPI_Waitall", wait_for_all}, {"MPI_Testall", test_all},
    {"MPI_Waitany", wait_for_any},       {"MPI_Testany", test_any},     {"MPI_Waitsome", wait_for_some},
    {"MPI_Testsome", test_some}};

}  // namespace

Completed complete(Draw& draw, std::span<MPI_Request> requests, bool without_testall) {
  const Way& way = ways[draw.below(std::size(ways))];
  if (without_testall && way.complete == test_all) return {wait_for_all(requests), "MPI_Waitall"};
  return {way.complete(requests), way.name};
}

}  // namespace quadrille::fuzz
