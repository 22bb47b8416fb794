// The drop-in door for the functions that complete requests, and for those that start and free persistent ones.
//
// The MPI would complete our requests rightly without these functions (taken.cpp). They make it faster: a rank that
// waits for one of our requests waits here, where that request alone is looked at, and then the MPI says that it is
// complete. Without a request of ours a function costs one look and one jump more.
//
// Faults (team/team.cpp) they raise themselves, on the communicator of the call.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "abi/functions.hpp"
#include "api/next_names.hpp"
#include "api/requests.hpp"
#include "mpi/mpi.hpp"
#include "sys/sys.hpp"

namespace {

using namespace quadrille;
using State = Quadrille_Request_state;

// ---- What comes after us ----

// In a list that clang-format would spoil.
// clang-format off
QUADRILLE_NEXT(Wait) QUADRILLE_NEXT(Waitall) QUADRILLE_NEXT(Waitany) QUADRILLE_NEXT(Waitsome) QUADRILLE_NEXT(Test)
QUADRILLE_NEXT(Testall) QUADRILLE_NEXT(Testany) QUADRILLE_NEXT(Testsome) QUADRILLE_NEXT(Request_get_status)
QUADRILLE_NEXT(Cancel) QUADRILLE_NEXT(Start) QUADRILLE_NEXT(Startall) QUADRILLE_NEXT(Request_free)
    // clang-format on

    MpiRequest handle_in(const MpiRequest* handle) {
  return MpiRequests{handle}[0];
}

// ---- What a function of the MPI tells of its requests ----

struct Told {
  bool has_list = false;  // of statuses: MPI_ERR_IN_STATUS says that there is an error in it
  MpiStatus* statuses = nullptr;
  const int* flag = nullptr;       // null: it waits
  const int* completed = nullptr;  // of some requests, else null: how many have completed,
  const int* indices = nullptr;    // and which; of any request its index; null: all

  // Where the status of the request at index `at` is; negative: the function has not completed it.
  int place_of(int at) const {
    if (flag != nullptr && *flag == 0) return -1;
    if (indices == nullptr) return at;
    const int count = completed != nullptr ? *completed : 1;
    int place = 0;
    while (place < count && indices[place] != at) ++place;
    return place < count ? place : -1;
  }
  void set_error(int place, int error) const {
    if (!has_list || statuses == mpi().statuses_ignore) return;
    const auto index = static_cast<std::size_t>(place);
    MpiStatus status = status_at(statuses, index);
    set_status(status, source_in(status), tag_in(status), error);
    set_status_at(statuses, index, status);
  }
};

// A call that completes requests of the program, and those of them that are ours. In the functions of the MPI an error
// handler of the program may throw: nothing here catches that. What is thrown by our own part is an error of the call.
class Completion {
 public:
  // `handles` are in the program's memory.
  Completion(int count, MpiRequests handles)
      : handles_(handles), count_(count > 0 && handles ? static_cast<std::size_t>(count) : 0) {
    error_ = by_us([&] {
      for (std::size_t i = 0; i < count_; ++i) add(handles[i]);
    });
  }
  int error() const { return error_; }
  // Also if that is unknown: the next step returns the error then.
  bool any() const { return error_ != mpi_success || few_ > 0; }
  bool persistent() { return std::ranges::any_of(ours(), &State::persistent); }
  int wait() {
    if (!any()) return mpi_success;
    return by_us([&] { api::wait_until_complete(ours()); });
  }
  int make_progress() { return by_us(api::go_on_with_all); }
  int let_others_run() {
    return by_us([&] { api::let_others_run(ours()); });
  }

  // Lets the MPI say what has completed: `complete` calls its function, after which `told` says it.
  template <class Complete>
  int by_the_mpi(const Told& told, Complete complete) {
    if (const int error = by_us([&] { find_what_may_fail(); }); error != mpi_success) return error;
    if (may_fail_.empty()) [[likely]]
      return complete();
    FreeFailed after{*this, std::exchange(api::may_fail_here(), may_fail_)};
    const int error = complete();
    after.any = error != mpi_success;
    return team::watches_faults() ? with_faults(error, told) : error;
  }

 private:
  // Open MPI frees a persistent request that has failed, and may give its handle to another one. Also if the error
  // handler does not return. A tool behind us comes here again by the PMPI_ name, and has freed what failed by then.
  struct FreeFailed {
    Completion& completion;
    std::span<api::MayFail> kept_before;
    bool any = true;
    ~FreeFailed() {
      api::may_fail_here() = kept_before;
      if (any) completion.free_failed();
    }
  };

  std::span<Quadrille_Request> ours() {
    return many_.empty() ? std::span<Quadrille_Request>(some_.data(), few_) : std::span<Quadrille_Request>(many_);
  }
  void add(MpiRequest handle) {
    State* const request = api::taken_behind(handle);
    if (request == nullptr) return;
    if (few_ < some_.size()) {
      some_[few_++] = request;
      return;
    }
    if (many_.empty()) many_.assign(some_.begin(), some_.end());
    many_.push_back(request);
  }
  // What may turn out to have failed: persistent ones or, where faults are watched, all.
  void find_what_may_fail() {
    may_fail_.clear();
    std::size_t at = 0;
    for (State* const request : ours()) {
      const bool is_good = request->is_complete() && request->error == mpi_success;
      if (is_good || (!request->persistent && !team::watches_faults())) continue;
      while (at + 1 < count_ && handles_[at] != request->handle) ++at;  // ours are in the order of the list
      may_fail_.push_back({request->handle, request, request->persistent, at});
    }
  }
  // A persistent one that is complete, and that no door behind this one has freed.
  bool is_kept(const api::MayFail& one) const {
    return one.persistent && api::taken_behind(one.handle) == one.request && one.request->is_complete();
  }
  void free_failed() {
    for (const api::MayFail& one : may_fail_) {
      if (handles_[one.at] == one.handle || !is_kept(one)) continue;
      if (record::on) record::forget_made(one.handle);
      api::free_taken(*one.request);
    }
  }
  // After a function of the MPI, which has returned `error`. Raises the first fault, unless the MPI has raised an error
  // of another request. Returns what the program gets.
  int with_faults(int error, const Told& told) {
    const api::MayFail* failed = nullptr;
    bool is_ours = error == mpi_success;
    for (api::MayFail& one : may_fail_) {
      const int place = told.place_of(static_cast<int>(one.at));
      if (place < 0) continue;
      if (is_kept(one) && is_fault(one.request->error)) {
        one.keep_fault(*one.request);
        one.request->error = mpi_success;  // told once: the MPI may keep it, inactive
      }
      if (one.fault == mpi_success) continue;
      told.set_error(place, one.fault);
      is_ours = is_ours || one.persistent;  // the MPI takes it for a message that is too long
      if (failed == nullptr) failed = &one;
    }
    if (failed == nullptr) return error;
    if (is_ours) api::raise(failed->comm == mpi().comm_null ? mpi().comm_world : failed->comm, failed->fault);
    return told.has_list ? mpi().err_in_status : failed->fault;
  }
  template <class Work>
  int by_us(Work work) {
    if (error_ != mpi_success) return error_;
    return api::guarded(mpi().comm_world, [&] {
      work();
      return mpi_success;
    });
  }

  const MpiRequests handles_;
  const std::size_t count_;
  // Short lists take no memory.
  std::array<Quadrille_Request, 8> some_;
  std::size_t few_ = 0;
  std::vector<Quadrille_Request> many_;  // all of ours, if there are more
  std::vector<api::MayFail> may_fail_;
  int error_ = mpi_success;
};

// ---- The work of the doors. Apart, so that a door needs no memory for it on its way to what comes after us, and an
// exception passes the door. `next` is what comes after us. ----

// Until all are complete.
template <class Next, class... Arguments>
[[gnu::noinline]] int wait_for_all(int count, MpiRequests handles, Told told, Next next, Arguments... arguments) {
  Completion completion(count, handles);
  if (const int error = completion.wait(); error != mpi_success) return error;
  return completion.by_the_mpi(told, [=] { return next(arguments...); });
}

// Until `find`, by a function of the MPI that tests, has found something. A request that is behind none of the others
// goes on as well.
template <class Find, class Next, class... Arguments>
[[gnu::noinline]] int wait_to_find(int count, MpiRequests handles, Told told, Find find, Next next,
                                   Arguments... arguments) {
  constexpr int turns_before_yield = 1000;
  Completion completion(count, handles);
  if (!completion.any()) return next(arguments...);
  for (int turn = 0;; ++turn) {
    if (const int error = completion.make_progress(); error != mpi_success) return error;
    bool found = false;
    const int error = completion.by_the_mpi(told, [&] { return find(found, arguments...); });
    if (found || error != mpi_success) return error;
    turn < turns_before_yield ? sys::pause() : sys::yield();
    if (const int failed = completion.let_others_run(); failed != mpi_success) return failed;
  }
}

int find_any(bool& found, int count, MpiRequests handles, int* index, MpiStatus* status) {
  int flag = 0;
  const int error = mpi().Testany(count, handles, index, &flag, status);
  found = flag != 0;
  return error;
}

int find_some(bool& found, int count, MpiRequests handles, int* completed, int* indices, MpiStatus* statuses) {
  const int error = mpi().Testsome(count, handles, completed, indices, statuses);
  found = *completed != 0;  // or there is none to wait for
  return error;
}

// Looks at ours, then lets the MPI do its test, after which `found` is not 0 if it has found something.
template <class Next, class... Arguments>
[[gnu::noinline]] int look_and_test(int count, MpiRequests handles, Told told, const int* found, Next next,
                                    Arguments... arguments) {
  const auto test = [=] { return next(arguments...); };
  Completion completion(count, handles);
  if (!completion.any()) return test();
  if (const int error = completion.make_progress(); error != mpi_success) return error;
  const int error = completion.by_the_mpi(told, test);
  return error == mpi_success && found != nullptr && *found == 0 ? completion.let_others_run() : error;
}

[[gnu::noinline]] int start_one(decltype(Mpi::Start) next, MpiRequest* handle, const void* site) {
  std::optional<record::Recorded> recorded;
  if (record::on && handle != nullptr) {
    static_cast<void>(
        thrown_by([&] { recorded.emplace().begin_start(handle_in(handle), record::Form::started, site); }));
  }
  State* const request = handle != nullptr ? api::taken_behind(handle_in(handle)) : nullptr;
  if (request == nullptr || !request->persistent) return next(handle);
  if (!request->is_complete()) return api::raise(mpi().comm_world, mpi().err_request);
  if (const int error = mpi().Start(handle); error != mpi_success) return error;
  return api::guarded(mpi().comm_world, [&] {
    api::start_taken(*request);
    return mpi_success;
  });
}

// One after the other where some are ours, or are written down.
[[gnu::noinline]] int start_all(decltype(Mpi::Startall) next, decltype(Mpi::Start) next_of_one, int count,
                                MpiRequests handles, const void* site) {
  Completion completion(count, handles);
  if (completion.error() != mpi_success) return completion.error();
  if (!record::on && !completion.persistent()) return next(count, handles);
  for (int i = 0; i < count; ++i) {
    const int error = start_one(next_of_one, handles.at(static_cast<std::size_t>(i)), site);
    if (error != mpi_success) return error;
  }
  return mpi_success;
}

// MPI allows it for persistent requests of collectives that are not active, and for no others of collectives.
[[gnu::noinline]] int free_one(decltype(Mpi::Request_free) next, MpiRequest* handle) {
  if (record::on && handle != nullptr) record::forget_made(handle_in(handle));
  State* const request = handle != nullptr ? api::taken_behind(handle_in(handle)) : nullptr;
  if (request == nullptr) return next(handle);
  if (!request->persistent || !request->is_complete()) {
    return api::raise(mpi().comm_world, mpi().err_request);
  }
  // The MPI may give the handle to another thread's request at once.
  api::hide_taken(*request);
  if (const int error = mpi().Request_free(handle); error != mpi_success) {
    api::show_taken(*request);
    return error;
  }
  api::free_taken(*request);
  return mpi_success;
}

[[gnu::noinline]] int cancel(decltype(Mpi::Cancel) next, MpiRequest* handle) {
  if (handle == nullptr || api::taken_behind(handle_in(handle)) == nullptr) return next(handle);
  return api::raise(mpi().comm_world, mpi().err_request);  // no collective can be cancelled
}

// MPICH's own function makes a persistent receive that is complete inactive, so that nothing tells of its end any more.
// It must not see ours.
int get_status_of_kept(State& request, int* flag, MpiStatus* status) {
  api::go_on_with_all();
  const bool complete = request.is_complete();
  if (flag != nullptr) *flag = complete ? 1 : 0;
  if (!complete) {
    Quadrille_Request one = &request;
    api::let_others_run({&one, 1});
  } else if (status != mpi().status_ignore) {
    mpi().Status_set_elements(status, mpi().byte, 0);
    mpi().Status_set_cancelled(status, 0);
    set_status(*status, mpi().any_source, mpi().any_tag, request.error);
  }
  return mpi_success;
}

[[gnu::noinline]] int get_status(decltype(Mpi::Request_get_status) next, MpiRequest request, int* flag,
                                 MpiStatus* status) {
  State* const ours = !mpi().is_openmpi() ? api::taken_behind(request) : nullptr;
  if (ours != nullptr && ours->persistent) return get_status_of_kept(*ours, flag, status);
  const int none = 0;  // it completes none
  return look_and_test(1, {&request}, {.flag = &none}, flag, next, request, flag, status);
}

}  // namespace

// ---- The doors ----

// A door of MPI. A call that `is_ours` is done by the last argument, any other one by what comes after us.
#define QUADRILLE_DOOR(PREFIX, Name, is_ours, PARAMETERS, ARGUMENTS, ...) \
  QUADRILLE_EXPORT int PREFIX##_##Name PARAMETERS {                       \
    const auto next = QUADRILLE_JUMP_##PREFIX(Name);                      \
    if (!(is_ours)) [[likely]]                                            \
      return next ARGUMENTS;                                              \
    return api::leave(__VA_ARGS__);                                       \
  }

// Calls by PMPI_ names that the MPI's library makes stay its own: see interpose.cpp.
#define QUADRILLE_HAS_OURS_MPI api::any_taken()
#define QUADRILLE_HAS_OURS_PMPI api::any_taken() && !mpi().holds(__builtin_return_address(0))
#define QUADRILLE_COMPLETION(PREFIX, Name, ...) QUADRILLE_DOOR(PREFIX, Name, QUADRILLE_HAS_OURS_##PREFIX, __VA_ARGS__)

#define QUADRILLE_COMPLETE(PREFIX)                                                                                    \
  QUADRILLE_COMPLETION(PREFIX, Wait, (MpiRequest * request, MpiStatus * status), (request, status),                   \
                       wait_for_all(1, {request}, {}, next, request, status))                                         \
  QUADRILLE_COMPLETION(PREFIX, Waitall, (int count, MpiRequests requests, MpiStatus* statuses),                       \
                       (count, requests, statuses),                                                                   \
                       wait_for_all(count, requests, {true, statuses}, next, count, requests, statuses))              \
  QUADRILLE_COMPLETION(                                                                                               \
      PREFIX, Waitany, (int count, MpiRequests requests, int* index, MpiStatus* status),                              \
      (count, requests, index, status),                                                                               \
      wait_to_find(count, requests, {.indices = index}, find_any, next, count, requests, index, status))              \
  QUADRILLE_COMPLETION(PREFIX, Waitsome,                                                                              \
                       (int count, MpiRequests requests, int* completed, int* indices, MpiStatus* statuses),          \
                       (count, requests, completed, indices, statuses),                                               \
                       wait_to_find(count, requests, {true, statuses, nullptr, completed, indices}, find_some, next,  \
                                    count, requests, completed, indices, statuses))                                   \
  QUADRILLE_COMPLETION(PREFIX, Test, (MpiRequest * request, int* flag, MpiStatus* status), (request, flag, status),   \
                       look_and_test(1, {request}, {.flag = flag}, flag, next, request, flag, status))                \
  QUADRILLE_COMPLETION(                                                                                               \
      PREFIX, Testall, (int count, MpiRequests requests, int* flag, MpiStatus* statuses),                             \
      (count, requests, flag, statuses),                                                                              \
      look_and_test(count, requests, {true, statuses, flag}, flag, next, count, requests, flag, statuses))            \
  QUADRILLE_COMPLETION(PREFIX, Testany, (int count, MpiRequests requests, int* index, int* flag, MpiStatus* status),  \
                       (count, requests, index, flag, status),                                                        \
                       look_and_test(count, requests, {.flag = flag, .indices = index}, flag, next, count, requests,  \
                                     index, flag, status))                                                            \
  QUADRILLE_COMPLETION(PREFIX, Testsome,                                                                              \
                       (int count, MpiRequests requests, int* completed, int* indices, MpiStatus* statuses),          \
                       (count, requests, completed, indices, statuses),                                               \
                       look_and_test(count, requests, {true, statuses, nullptr, completed, indices}, completed, next, \
                                     count, requests, completed, indices, statuses))                                  \
  QUADRILLE_COMPLETION(PREFIX, Request_get_status, (MpiRequest request, int* flag, MpiStatus* status),                \
                       (given(request), flag, status), get_status(next, given(request), flag, status))                \
  QUADRILLE_COMPLETION(PREFIX, Cancel, (MpiRequest * request), (request), cancel(next, request))

// The same, and where calls are recorded.
#define QUADRILLE_KEEPING(PREFIX, Name, ...) QUADRILLE_DOOR(PREFIX, Name, api::any_taken() || record::on, __VA_ARGS__)

#define QUADRILLE_KEEP(PREFIX)                                                                                     \
  QUADRILLE_KEEPING(PREFIX, Start, (MpiRequest * request), (request),                                              \
                    start_one(next, request, __builtin_return_address(0)))                                         \
  QUADRILLE_KEEPING(PREFIX, Startall, (int count, MpiRequests requests), (count, requests),                        \
                    start_all(next, QUADRILLE_JUMP_##PREFIX(Start), count, requests, __builtin_return_address(0))) \
  QUADRILLE_KEEPING(PREFIX, Request_free, (MpiRequest * request), (request), free_one(next, request))

extern "C" {
QUADRILLE_COMPLETE(MPI)
QUADRILLE_COMPLETE(PMPI)
QUADRILLE_KEEP(MPI)
QUADRILLE_KEEP(PMPI)
}  // extern "C"
