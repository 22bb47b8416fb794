// The drop-in door for the functions that complete requests, and for those that start and free persistent ones.
//
// The MPI would complete ours rightly without these (taken.hpp). They make it faster: who waits for one of ours waits
// here, where only that is looked at, and then lets the MPI say so. Without a request of ours a function costs one look
// and one jump more. To start a persistent one it must be known that it is ours: so these functions have both names for
// every ABI, as those that start an MPI (interpose.cpp).
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "api/next_names.hpp"
#include "api/requests.hpp"
#include "api/taken.hpp"
#include "api/taken_table.hpp"
#include "mpi/mpi.hpp"
#include "quadrille.h"
#include "sys/sys.hpp"

namespace {

using quadrille::mpi;
namespace api = quadrille::api;
namespace record = quadrille::record;
namespace sys = quadrille::sys;
using State = Quadrille_Request_state;

// ---- What comes after us ----

#define QUADRILLE_NEXT_FUNCTIONS(X) \
  X(Wait)                           \
  X(Waitall)                        \
  X(Waitany)                        \
  X(Waitsome)                       \
  X(Test) X(Testall) X(Testany) X(Testsome) X(Request_get_status) X(Cancel) X(Start) X(Startall) X(Request_free)
QUADRILLE_NEXT_FUNCTIONS(QUADRILLE_NEXT)
struct Behind_MPI {
  QUADRILLE_NEXT_FUNCTIONS(QUADRILLE_NEXT_MEMBER)
};
struct Behind_PMPI {
  QUADRILLE_NEXT_FUNCTIONS(QUADRILLE_MPI_MEMBER)
};

std::span<const MPI_Request> list(int count, const MPI_Request* handles) {
  if (count <= 0 || handles == nullptr) return {};
  return {handles, static_cast<std::size_t>(count)};
}

// The requests of ours in a list of the program's. Short lists take no memory.
class Ours {
 public:
  explicit Ours(std::span<const MPI_Request> handles) {
    for (const MPI_Request handle : handles) add(handle);
  }
  bool any() const { return few_ > 0; }
  std::span<Quadrille_Request> all() {
    return many_.empty() ? std::span<Quadrille_Request>(some_.data(), few_) : std::span<Quadrille_Request>(many_);
  }
  bool persistent() {
    for (const State* request : all()) {
      if (request->persistent) return true;
    }
    return false;
  }

  // Persistent ones that may turn out to have failed.
  std::vector<State*> may_fail() {
    std::vector<State*> found;
    for (State* const request : all()) {
      const bool is_good = request->is_complete() && request->error == MPI_SUCCESS;
      if (request->persistent && !is_good) found.push_back(request);
    }
    return found;
  }

 private:
  void add(MPI_Request handle) {
    State* const request = api::taken_behind(handle);
    if (request == nullptr) return;
    if (few_ < some_.size()) {
      some_[few_++] = request;
      return;
    }
    if (many_.empty()) many_.assign(some_.begin(), some_.end());
    many_.push_back(request);
  }
  std::array<Quadrille_Request, 8> some_;
  std::size_t few_ = 0;
  std::vector<Quadrille_Request> many_;  // all of them, if there are more
};

// A call that completes requests of the program. In the functions of the MPI an error handler of the program may throw:
// nothing here catches that. What is thrown by our own part is an error of the call.
class Completion {
 public:
  explicit Completion(std::span<const MPI_Request> handles) : handles_(handles) {
    error_ = api::guarded(mpi().comm_world, [&] {
      ours_.emplace(handles);
      return MPI_SUCCESS;
    });
  }
  int error() const { return error_; }
  bool any() const { return ours_->any(); }
  bool persistent() { return ours_->persistent(); }
  int wait() {
    if (!any()) return MPI_SUCCESS;
    return by_us([&] { api::wait_until_complete(ours_->all()); });
  }
  int make_progress() { return by_us(api::go_on_with_all); }
  int let_others_run() {
    return by_us([&] { api::let_others_run(ours_->all()); });
  }

  // Lets the MPI say what has completed.
  template <class Complete>
  int by_the_mpi(Complete complete) {
    if (const int error = by_us([&] { may_fail_ = ours_->may_fail(); }); error != MPI_SUCCESS) return error;
    FreeFailed after{*this};
    const int error = complete();
    after.any = error != MPI_SUCCESS;
    return error;
  }

 private:
  // Open MPI frees a persistent request that has failed, and may give its handle to another one. Also if the error
  // handler does not return.
  struct FreeFailed {
    Completion& completion;
    bool any = true;
    ~FreeFailed() {
      if (any) completion.free_failed();
    }
  };

  void free_failed() {
    for (State* const request : may_fail_) {
      const bool is_there = std::find(handles_.begin(), handles_.end(), request->handle) != handles_.end();
      if (!is_there && request->is_complete()) api::free_taken(*request);
    }
  }
  template <class Work>
  int by_us(Work work) {
    return api::guarded(mpi().comm_world, [&] {
      work();
      return MPI_SUCCESS;
    });
  }

  std::span<const MPI_Request> handles_;
  std::optional<Ours> ours_;
  std::vector<State*> may_fail_;
  int error_ = MPI_SUCCESS;
};

template <class Behind>
int wait_for_one(MPI_Request* handle, MPI_Status* status) {
  Completion completion(list(handle != nullptr ? 1 : 0, handle));
  if (completion.error() != MPI_SUCCESS) return completion.error();
  if (const int error = completion.wait(); error != MPI_SUCCESS) return error;
  return completion.by_the_mpi([&] { return Behind::Wait(handle, status); });
}

template <class Behind>
int wait_for_all(int count, MPI_Request* handles, MPI_Status* statuses) {
  Completion completion(list(count, handles));
  if (completion.error() != MPI_SUCCESS) return completion.error();
  if (const int error = completion.wait(); error != MPI_SUCCESS) return error;
  return completion.by_the_mpi([&] { return Behind::Waitall(count, handles, statuses); });
}

// Until `test`, an MPI function that tests, has found something. A request that is behind none of the others goes on as
// well.
template <class Test>
int test_until_found(Completion& completion, Test test) {
  constexpr int turns_before_yield = 1000;
  for (int turn = 0;; ++turn) {
    if (const int error = completion.make_progress(); error != MPI_SUCCESS) return error;
    bool found = false;
    const int error = completion.by_the_mpi([&] { return test(found); });
    if (found || error != MPI_SUCCESS) return error;
    turn < turns_before_yield ? sys::pause() : sys::yield();
    if (const int failed = completion.let_others_run(); failed != MPI_SUCCESS) return failed;
  }
}

template <class Behind>
int wait_for_any(int count, MPI_Request* handles, int* index, MPI_Status* status) {
  Completion completion(list(count, handles));
  if (completion.error() != MPI_SUCCESS) return completion.error();
  if (!completion.any()) return Behind::Waitany(count, handles, index, status);
  return test_until_found(completion, [&](bool& found) {
    int flag = 0;
    const int error = mpi().Testany(count, handles, index, &flag, status);
    found = flag != 0;
    return error;
  });
}

template <class Behind>
int wait_for_some(int count, MPI_Request* handles, int* completed, int* indices, MPI_Status* statuses) {
  Completion completion(list(count, handles));
  if (completion.error() != MPI_SUCCESS) return completion.error();
  if (!completion.any()) return Behind::Waitsome(count, handles, completed, indices, statuses);
  return test_until_found(completion, [&](bool& found) {
    const int error = mpi().Testsome(count, handles, completed, indices, statuses);
    found = *completed != 0;  // or there is none to wait for
    return error;
  });
}

// Looks at ours, then lets the MPI do its test, which says by `is_done()` whether it has found something.
template <class Test, class IsDone>
int look_and_test(std::span<const MPI_Request> handles, Test test, IsDone is_done) {
  Completion completion(handles);
  if (completion.error() != MPI_SUCCESS) return completion.error();
  if (!completion.any()) return test();
  if (const int error = completion.make_progress(); error != MPI_SUCCESS) return error;
  const int error = completion.by_the_mpi(test);
  return error == MPI_SUCCESS && !is_done() ? completion.let_others_run() : error;
}

bool is_set(const int* flag) { return flag == nullptr || *flag != 0; }

template <class Behind>
int start_one(MPI_Request* handle, const void* site) {
  std::optional<record::Recorded> recorded;
  if (record::on && handle != nullptr) {
    static_cast<void>(quadrille::thrown_by([&] { record::begin_start(recorded.emplace(), *handle, site); }));
  }
  State* const request = handle != nullptr ? api::taken_behind(*handle) : nullptr;
  if (request == nullptr || !request->persistent) return Behind::Start(handle);
  if (!request->is_complete()) return api::raise(mpi().comm_world, MPI_ERR_REQUEST);
  if (const int error = mpi().Start(handle); error != MPI_SUCCESS) return error;
  return api::guarded(mpi().comm_world, [&] {
    api::start_taken(*request);
    return MPI_SUCCESS;
  });
}

// One after the other where some are ours, or are written down.
template <class Behind>
int start_all(int count, MPI_Request* handles, const void* site) {
  Completion completion(list(count, handles));
  if (completion.error() != MPI_SUCCESS) return completion.error();
  if (!record::on && !completion.persistent()) return Behind::Startall(count, handles);
  for (int i = 0; i < count; ++i) {
    if (const int error = start_one<Behind>(&handles[i], site); error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

// MPI allows it for persistent requests of collectives that are not active, and for no others of collectives.
template <class Behind>
int free_one(MPI_Request* handle, const void*) {
  if (record::on && handle != nullptr) record::forget_made(*handle);
  State* const request = handle != nullptr ? api::taken_behind(*handle) : nullptr;
  if (request == nullptr) return Behind::Request_free(handle);
  if (!request->persistent || !request->is_complete()) {
    return api::raise(mpi().comm_world, MPI_ERR_REQUEST);
  }
  if (const int error = mpi().Request_free(handle); error != MPI_SUCCESS) return error;
  api::free_taken(*request);
  return MPI_SUCCESS;
}

template <class Behind>
int cancel(MPI_Request* handle) {
  if (handle == nullptr || api::taken_behind(*handle) == nullptr) return Behind::Cancel(handle);
  return api::raise(mpi().comm_world, MPI_ERR_REQUEST);  // no collective can be cancelled
}

// ---- The doors ----

template <class Behind>
int test_one(MPI_Request* request, int* flag, MPI_Status* status) {
  return look_and_test(
      list(1, request), [=] { return Behind::Test(request, flag, status); }, [=] { return is_set(flag); });
}

template <class Behind>
int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  return look_and_test(
      list(count, requests), [=] { return Behind::Testall(count, requests, flag, statuses); },
      [=] { return is_set(flag); });
}

template <class Behind>
int test_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  return look_and_test(
      list(count, requests), [=] { return Behind::Testany(count, requests, index, flag, status); },
      [=] { return is_set(flag); });
}

template <class Behind>
int test_some(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses) {
  return look_and_test(
      list(count, requests), [=] { return Behind::Testsome(count, requests, completed, indices, statuses); },
      [=] { return is_set(completed); });
}

#if defined(QUADRILLE_ABI_MPICH)
// MPICH's own function makes a persistent receive that is complete inactive, so that nothing tells of its end any more.
// It must not see ours.
int get_status_of_kept(State& request, int* flag, MPI_Status* status) {
  api::go_on_with_all();
  const bool complete = request.is_complete();
  if (flag != nullptr) *flag = complete ? 1 : 0;
  if (!complete) {
    Quadrille_Request one = &request;
    api::let_others_run({&one, 1});
  } else if (status != MPI_STATUS_IGNORE) {
    mpi().Status_set_elements(status, mpi().byte, 0);
    mpi().Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    status->MPI_ERROR = request.error;
  }
  return MPI_SUCCESS;
}
#endif

template <class Behind>
int get_status(MPI_Request request, int* flag, MPI_Status* status) {
#if defined(QUADRILLE_ABI_MPICH)
  if (State* const ours = api::taken_behind(request); ours != nullptr && ours->persistent) {
    return get_status_of_kept(*ours, flag, status);
  }
#endif
  return look_and_test(
      list(1, &request), [=] { return Behind::Request_get_status(request, flag, status); },
      [=] { return is_set(flag); });
}

// Apart, so that a door needs no memory for it on its way to what comes after us, and an exception passes the door.
template <auto work, class... Arguments>
[[gnu::noinline]] int with_ours(Arguments... arguments) {
  return work(arguments...);
}

}  // namespace

// A function of MPI: what comes after us does it, unless there are requests of ours: then `work` does.
#define QUADRILLE_COMPLETION(PREFIX, Name, work, PARAMETERS, ...)      \
  QUADRILLE_EXPORT int PREFIX##_##Name PARAMETERS {                    \
    if (!api::TakenTable::any()) [[likely]]                            \
      return Behind_##PREFIX::Name(__VA_ARGS__);                       \
    return api::leave(with_ours<&work<Behind_##PREFIX>>(__VA_ARGS__)); \
  }

#define QUADRILLE_COMPLETE(PREFIX)                                                                                     \
  QUADRILLE_COMPLETION(PREFIX, Wait, wait_for_one, (MPI_Request * request, MPI_Status * status), request, status)      \
  QUADRILLE_COMPLETION(PREFIX, Waitall, wait_for_all, (int count, MPI_Request* requests, MPI_Status* statuses), count, \
                       requests, statuses)                                                                             \
  QUADRILLE_COMPLETION(PREFIX, Waitany, wait_for_any,                                                                  \
                       (int count, MPI_Request* requests, int* index, MPI_Status* status), count, requests, index,     \
                       status)                                                                                         \
  QUADRILLE_COMPLETION(PREFIX, Waitsome, wait_for_some,                                                                \
                       (int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses), count,  \
                       requests, completed, indices, statuses)                                                         \
  QUADRILLE_COMPLETION(PREFIX, Test, test_one, (MPI_Request * request, int* flag, MPI_Status* status), request, flag,  \
                       status)                                                                                         \
  QUADRILLE_COMPLETION(PREFIX, Testall, test_all, (int count, MPI_Request* requests, int* flag, MPI_Status* statuses), \
                       count, requests, flag, statuses)                                                                \
  QUADRILLE_COMPLETION(PREFIX, Testany, test_any,                                                                      \
                       (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status), count, requests, \
                       index, flag, status)                                                                            \
  QUADRILLE_COMPLETION(PREFIX, Testsome, test_some,                                                                    \
                       (int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses), count,  \
                       requests, completed, indices, statuses)                                                         \
  QUADRILLE_COMPLETION(PREFIX, Request_get_status, get_status, (MPI_Request request, int* flag, MPI_Status* status),   \
                       request, flag, status)                                                                          \
  QUADRILLE_COMPLETION(PREFIX, Cancel, cancel, (MPI_Request * request), request)

// The same, and where calls are recorded. `work` gets the arguments, and where they come from.
#define QUADRILLE_KEEPING(PREFIX, Name, work, PARAMETERS, ...)                                      \
  QUADRILLE_EXPORT int PREFIX##_##Name PARAMETERS {                                                 \
    if (!api::TakenTable::any() && !record::on) [[likely]]                                          \
      return Behind_##PREFIX::Name(__VA_ARGS__);                                                    \
    return api::leave(with_ours<&work<Behind_##PREFIX>>(__VA_ARGS__, __builtin_return_address(0))); \
  }

#define QUADRILLE_KEEP(PREFIX)                                                                        \
  QUADRILLE_KEEPING(PREFIX, Start, start_one, (MPI_Request * request), request)                       \
  QUADRILLE_KEEPING(PREFIX, Startall, start_all, (int count, MPI_Request* requests), count, requests) \
  QUADRILLE_KEEPING(PREFIX, Request_free, free_one, (MPI_Request * request), request)

// Open MPI's Fortran calls the PMPI_ names, see interpose.cpp.
extern "C" {
QUADRILLE_COMPLETE(MPI)
#if defined(QUADRILLE_ABI_OPENMPI)
QUADRILLE_COMPLETE(PMPI)
#endif
QUADRILLE_KEEP(MPI)
QUADRILLE_KEEP(PMPI)
}  // extern "C"
