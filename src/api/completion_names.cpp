// The drop-in door for the functions that complete requests, and for those that start and free persistent ones.
//
// The MPI would complete ours rightly without these (taken.hpp). They make it faster: who waits for one of ours waits
// here, where only that is looked at, and then lets the MPI say so. Without a request of ours a function costs one look
// more. To start a persistent one it must be known that it is ours: so these functions have both names for every ABI,
// as those that start an MPI (interpose.cpp).
#include <span>
#include <vector>

#include "api/requests.hpp"
#include "api/taken.hpp"
#include "mpi/mpi.hpp"
#include "quadrille.h"
#include "sys/sys.hpp"

namespace {

using quadrille::mpi;
namespace api = quadrille::api;
namespace sys = quadrille::sys;
using State = Quadrille_Request_state;

// Those of ours in a list of the program's.
class Ours {
 public:
  explicit Ours(std::span<const MPI_Request> handles) {
    for (const MPI_Request handle : handles) add(handle);
  }
  bool any() const { return !found_.empty(); }
  std::span<Quadrille_Request> all() { return found_; }
  bool persistent() const {
    for (const State* request : found_) {
      if (request->persistent) return true;
    }
    return false;
  }

 private:
  void add(MPI_Request handle) {
    if (State* const request = api::taken_behind(handle)) found_.push_back(request);
  }
  std::vector<Quadrille_Request> found_;
};

std::span<const MPI_Request> list(int count, const MPI_Request* handles) {
  if (count <= 0 || handles == nullptr) return {};
  return {handles, static_cast<std::size_t>(count)};
}

int wait_for_one(MPI_Request* handle, MPI_Status* status) {
  if (State* request = handle != nullptr ? api::taken_behind(*handle) : nullptr)
    api::wait_until_complete({&request, 1});
  return mpi().Wait(handle, status);
}

int wait_for_all(int count, MPI_Request* handles, MPI_Status* statuses) {
  Ours ours(list(count, handles));
  if (ours.any()) api::wait_until_complete(ours.all());
  return mpi().Waitall(count, handles, statuses);
}

// Until `test`, an MPI function that tests, has found something. A request that is behind none of the others goes on as
// well.
template <class Test>
int test_until_found(int count, MPI_Request* handles, Test test) {
  constexpr int turns_before_yield = 1000;
  Ours ours(list(count, handles));
  for (int turn = 0;; ++turn) {
    api::go_on_with_all();
    bool found = false;
    const int error = test(found);
    if (found || error != MPI_SUCCESS) return error;
    turn < turns_before_yield ? sys::pause() : sys::yield();
    api::let_others_run(ours.all());
  }
}

int wait_for_any(int count, MPI_Request* handles, int* index, MPI_Status* status) {
  if (!Ours(list(count, handles)).any()) return mpi().Waitany(count, handles, index, status);
  return test_until_found(count, handles, [&](bool& found) {
    int flag = 0;
    const int error = mpi().Testany(count, handles, index, &flag, status);
    found = flag != 0;
    return error;
  });
}

int wait_for_some(int count, MPI_Request* handles, int* completed, int* indices, MPI_Status* statuses) {
  if (!Ours(list(count, handles)).any()) return mpi().Waitsome(count, handles, completed, indices, statuses);
  return test_until_found(count, handles, [&](bool& found) {
    const int error = mpi().Testsome(count, handles, completed, indices, statuses);
    found = *completed != 0;  // or there is none to wait for
    return error;
  });
}

// Looks at ours, then lets the MPI do its test, which says by `is_done()` whether it has found something.
template <class Test, class IsDone>
int look_and_test(std::span<const MPI_Request> handles, Test test, IsDone is_done) {
  Ours ours(handles);
  if (!ours.any()) return test();
  api::go_on_with_all();
  const int error = test();
  if (error == MPI_SUCCESS && !is_done()) api::let_others_run(ours.all());
  return error;
}

bool is_set(const int* flag) { return flag == nullptr || *flag != 0; }

int start_one(MPI_Request* handle) {
  State* const request = handle != nullptr ? api::taken_behind(*handle) : nullptr;
  if (request == nullptr || !request->persistent) return mpi().Start(handle);
  if (!request->complete.load(std::memory_order_acquire)) return api::raise(mpi().comm_world, MPI_ERR_REQUEST);
  if (const int error = mpi().Start(handle); error != MPI_SUCCESS) return error;
  api::start_taken(*request);
  return MPI_SUCCESS;
}

int start_all(int count, MPI_Request* handles) {
  if (!Ours(list(count, handles)).persistent()) return mpi().Startall(count, handles);
  for (int i = 0; i < count; ++i) {
    if (const int error = start_one(&handles[i]); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

// MPI allows it for persistent requests of collectives that are not active, and for no others of collectives.
int free_one(MPI_Request* handle) {
  State* const request = handle != nullptr ? api::taken_behind(*handle) : nullptr;
  if (request == nullptr) return mpi().Request_free(handle);
  if (!request->persistent || !request->complete.load(std::memory_order_acquire)) {
    return api::raise(mpi().comm_world, MPI_ERR_REQUEST);
  }
  if (const int error = mpi().Request_free(handle); error != MPI_SUCCESS) return error;
  api::free_taken(*request);
  return MPI_SUCCESS;
}

int cancel(MPI_Request* handle) {
  if (handle == nullptr || api::taken_behind(*handle) == nullptr) return mpi().Cancel(handle);
  return api::raise(mpi().comm_world, MPI_ERR_REQUEST);  // no collective can be cancelled
}

// What `work` does if there are requests of ours, else what `native` does.
template <class Native, class Work>
[[gnu::always_inline]] inline int unless_none(Native native, Work work) {
  if (!api::has_taken()) [[likely]]
    return native();
  return api::guarded(mpi().comm_world, work);
}

}  // namespace

#define QUADRILLE_COMPLETE(PREFIX)                                                                                     \
  QUADRILLE_EXPORT int PREFIX##_Wait(MPI_Request* request, MPI_Status* status) {                                       \
    return unless_none([&] { return mpi().Wait(request, status); }, [&] { return wait_for_one(request, status); });    \
  }                                                                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {                      \
    return unless_none([&] { return mpi().Waitall(count, requests, statuses); },                                       \
                       [&] { return wait_for_all(count, requests, statuses); });                                       \
  }                                                                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {            \
    return unless_none([&] { return mpi().Waitany(count, requests, index, status); },                                  \
                       [&] { return wait_for_any(count, requests, index, status); });                                  \
  }                                                                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Waitsome(int count, MPI_Request* requests, int* completed, int* indices,               \
                                         MPI_Status* statuses) {                                                       \
    return unless_none([&] { return mpi().Waitsome(count, requests, completed, indices, statuses); },                  \
                       [&] { return wait_for_some(count, requests, completed, indices, statuses); });                  \
  }                                                                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Test(MPI_Request* request, int* flag, MPI_Status* status) {                            \
    const auto test = [&] { return mpi().Test(request, flag, status); };                                               \
    return unless_none(test, [&] { return look_and_test(list(1, request), test, [&] { return is_set(flag); }); });     \
  }                                                                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {           \
    const auto test = [&] { return mpi().Testall(count, requests, flag, statuses); };                                  \
    return unless_none(test,                                                                                           \
                       [&] { return look_and_test(list(count, requests), test, [&] { return is_set(flag); }); });      \
  }                                                                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) { \
    const auto test = [&] { return mpi().Testany(count, requests, index, flag, status); };                             \
    return unless_none(test,                                                                                           \
                       [&] { return look_and_test(list(count, requests), test, [&] { return is_set(flag); }); });      \
  }                                                                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Testsome(int count, MPI_Request* requests, int* completed, int* indices,               \
                                         MPI_Status* statuses) {                                                       \
    const auto test = [&] { return mpi().Testsome(count, requests, completed, indices, statuses); };                   \
    return unless_none(test,                                                                                           \
                       [&] { return look_and_test(list(count, requests), test, [&] { return is_set(completed); }); }); \
  }                                                                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {               \
    const auto test = [&] { return mpi().Request_get_status(request, flag, status); };                                 \
    return unless_none(test, [&] { return look_and_test(list(1, &request), test, [&] { return is_set(flag); }); });    \
  }                                                                                                                    \
  QUADRILLE_EXPORT int PREFIX##_Cancel(MPI_Request* request) {                                                         \
    return unless_none([&] { return mpi().Cancel(request); }, [&] { return cancel(request); });                        \
  }

#define QUADRILLE_KEEP(PREFIX)                                                                                       \
  QUADRILLE_EXPORT int PREFIX##_Start(MPI_Request* request) {                                                        \
    return unless_none([&] { return mpi().Start(request); }, [&] { return start_one(request); });                    \
  }                                                                                                                  \
  QUADRILLE_EXPORT int PREFIX##_Startall(int count, MPI_Request* requests) {                                         \
    return unless_none([&] { return mpi().Startall(count, requests); }, [&] { return start_all(count, requests); }); \
  }                                                                                                                  \
  QUADRILLE_EXPORT int PREFIX##_Request_free(MPI_Request* request) {                                                 \
    return unless_none([&] { return mpi().Request_free(request); }, [&] { return free_one(request); });              \
  }

// Open MPI's Fortran calls the PMPI_ names, see interpose.cpp.
extern "C" {
QUADRILLE_COMPLETE(MPI)
#if defined(QUADRILLE_ABI_OPENMPI)
QUADRILLE_COMPLETE(PMPI)
#endif
QUADRILLE_KEEP(MPI)
QUADRILLE_KEEP(PMPI)
}  // extern "C"
