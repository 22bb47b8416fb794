// The drop-in door for the functions that complete requests, and for those that start and free persistent ones.
//
// The MPI would complete ours rightly without these (taken.hpp). They make it faster: who waits for one of ours waits
// here, where only that is looked at, and then lets the MPI say so. Without a request of ours a function costs one look
// and one jump more.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "abi/functions.hpp"
#include "api/next_names.hpp"
#include "api/requests.hpp"
#include "api/taken.hpp"
#include "api/taken_table.hpp"
#include "mpi/mpi.hpp"
#include "sys/sys.hpp"

namespace {

using namespace quadrille;
using State = Quadrille_Request_state;

// ---- What comes after us ----

#define QUADRILLE_NEXT_FUNCTIONS(X) \
  X(Wait)                           \
  X(Waitall)                        \
  X(Waitany)                        \
  X(Waitsome)                       \
  X(Test) X(Testall) X(Testany) X(Testsome) X(Request_get_status) X(Cancel) X(Start) X(Startall) X(Request_free)
QUADRILLE_NEXT_FUNCTIONS(QUADRILLE_NEXT)
struct CompletionBehind_MPI {
  QUADRILLE_NEXT_FUNCTIONS(QUADRILLE_NEXT_MEMBER)
};
struct CompletionBehind_PMPI {
  QUADRILLE_NEXT_FUNCTIONS(QUADRILLE_MPI_MEMBER)
};

// Requests of the program, as they lie in its memory.
struct Listed {
  MpiRequests handles;
  std::size_t count = 0;
};
Listed list(int count, MpiRequests handles) {
  if (count <= 0 || !handles) return {};
  return {handles, static_cast<std::size_t>(count)};
}
Listed list(const MpiRequest* handle) { return list(1, {handle}); }
MpiRequest handle_in(const MpiRequest* handle) { return MpiRequests{handle}[0]; }

// The requests of ours in a list of the program's. Short lists take no memory.
class Ours {
 public:
  explicit Ours(Listed handles) {
    for (std::size_t i = 0; i < handles.count; ++i) add(handles.handles[i]);
  }
  bool any() const { return few_ > 0; }
  std::span<Quadrille_Request> all() {
    return many_.empty() ? std::span<Quadrille_Request>(some_.data(), few_) : std::span<Quadrille_Request>(many_);
  }
  bool persistent() { return std::ranges::any_of(all(), &State::persistent); }

  // Persistent ones that may turn out to have failed.
  std::vector<std::pair<MpiRequest, State*>> may_fail() {
    std::vector<std::pair<MpiRequest, State*>> found;
    for (State* const request : all()) {
      const bool is_good = request->is_complete() && request->error == mpi_success;
      if (request->persistent && !is_good) found.emplace_back(request->handle, request);
    }
    return found;
  }

 private:
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
  std::array<Quadrille_Request, 8> some_;
  std::size_t few_ = 0;
  std::vector<Quadrille_Request> many_;  // all of them, if there are more
};

// A call that completes requests of the program. In the functions of the MPI an error handler of the program may throw:
// nothing here catches that. What is thrown by our own part is an error of the call.
class Completion {
 public:
  explicit Completion(Listed handles) : handles_(handles) {
    error_ = by_us([&] { ours_.emplace(handles); });
  }
  int error() const { return error_; }
  // Also if that is unknown: the next step returns the error then.
  bool any() const { return error_ != mpi_success || ours_->any(); }
  bool persistent() { return ours_->persistent(); }
  int wait() {
    if (!any()) return mpi_success;
    return by_us([&] { api::wait_until_complete(ours_->all()); });
  }
  int make_progress() { return by_us(api::go_on_with_all); }
  int let_others_run() {
    return by_us([&] { api::let_others_run(ours_->all()); });
  }

  // Lets the MPI say what has completed.
  template <class Complete>
  int by_the_mpi(Complete complete) {
    if (const int error = by_us([&] { may_fail_ = ours_->may_fail(); }); error != mpi_success) return error;
    FreeFailed after{*this};
    const int error = complete();
    after.any = error != mpi_success;
    return error;
  }

 private:
  // Open MPI frees a persistent request that has failed, and may give its handle to another one. Also if the error
  // handler does not return. A tool behind us comes here again by the PMPI_ name, and has freed what failed by then.
  struct FreeFailed {
    Completion& completion;
    bool any = true;
    ~FreeFailed() {
      if (any) completion.free_failed();
    }
  };

  void free_failed() {
    for (const auto& [handle, request] : may_fail_) {
      bool is_there = api::taken_behind(handle) != request;
      for (std::size_t i = 0; i < handles_.count; ++i) is_there = is_there || handles_.handles[i] == handle;
      if (is_there || !request->is_complete()) continue;
      if (record::on) record::forget_made(handle);
      api::free_taken(*request);
    }
  }
  template <class Work>
  int by_us(Work work) {
    if (error_ != mpi_success) return error_;
    return api::guarded(mpi().comm_world, [&] {
      work();
      return mpi_success;
    });
  }

  Listed handles_;
  std::optional<Ours> ours_;
  std::vector<std::pair<MpiRequest, State*>> may_fail_;
  int error_ = mpi_success;
};

template <class Behind>
int wait_for_one(MpiRequest* handle, MpiStatus* status) {
  Completion completion(list(handle));
  if (const int error = completion.wait(); error != mpi_success) return error;
  return completion.by_the_mpi([&] { return Behind::Wait(handle, status); });
}

template <class Behind>
int wait_for_all(int count, MpiRequests handles, MpiStatus* statuses) {
  Completion completion(list(count, handles));
  if (const int error = completion.wait(); error != mpi_success) return error;
  return completion.by_the_mpi([&] { return Behind::Waitall(count, handles, statuses); });
}

// Until `test`, an MPI function that tests, has found something. A request that is behind none of the others goes on as
// well.
template <class Test>
int test_until_found(Completion& completion, Test test) {
  constexpr int turns_before_yield = 1000;
  for (int turn = 0;; ++turn) {
    if (const int error = completion.make_progress(); error != mpi_success) return error;
    bool found = false;
    const int error = completion.by_the_mpi([&] { return test(found); });
    if (found || error != mpi_success) return error;
    turn < turns_before_yield ? sys::pause() : sys::yield();
    if (const int failed = completion.let_others_run(); failed != mpi_success) return failed;
  }
}

template <class Behind>
int wait_for_any(int count, MpiRequests handles, int* index, MpiStatus* status) {
  Completion completion(list(count, handles));
  if (!completion.any()) return Behind::Waitany(count, handles, index, status);
  return test_until_found(completion, [&](bool& found) {
    int flag = 0;
    const int error = mpi().Testany(count, handles, index, &flag, status);
    found = flag != 0;
    return error;
  });
}

template <class Behind>
int wait_for_some(int count, MpiRequests handles, int* completed, int* indices, MpiStatus* statuses) {
  Completion completion(list(count, handles));
  if (!completion.any()) return Behind::Waitsome(count, handles, completed, indices, statuses);
  return test_until_found(completion, [&](bool& found) {
    const int error = mpi().Testsome(count, handles, completed, indices, statuses);
    found = *completed != 0;  // or there is none to wait for
    return error;
  });
}

// Looks at ours, then lets the MPI do its test, after which `found` is not 0 if it has found something.
template <class Test>
int look_and_test(Listed handles, const int* found, Test test) {
  Completion completion(handles);
  if (!completion.any()) return test();
  if (const int error = completion.make_progress(); error != mpi_success) return error;
  const int error = completion.by_the_mpi(test);
  return error == mpi_success && found != nullptr && *found == 0 ? completion.let_others_run() : error;
}

template <class Behind>
int start_one(MpiRequest* handle, const void* site) {
  std::optional<record::Recorded> recorded;
  if (record::on && handle != nullptr) {
    static_cast<void>(
        thrown_by([&] { recorded.emplace().begin_start(handle_in(handle), record::Form::started, site); }));
  }
  State* const request = handle != nullptr ? api::taken_behind(handle_in(handle)) : nullptr;
  if (request == nullptr || !request->persistent) return Behind::Start(handle);
  if (!request->is_complete()) return api::raise(mpi().comm_world, mpi().err_request);
  if (const int error = mpi().Start(handle); error != mpi_success) return error;
  return api::guarded(mpi().comm_world, [&] {
    api::start_taken(*request);
    return mpi_success;
  });
}

// One after the other where some are ours, or are written down.
template <class Behind>
int start_all(int count, MpiRequests handles, const void* site) {
  Completion completion(list(count, handles));
  if (completion.error() != mpi_success) return completion.error();
  if (!record::on && !completion.persistent()) return Behind::Startall(count, handles);
  for (int i = 0; i < count; ++i) {
    if (const int error = start_one<Behind>(handles.at(static_cast<std::size_t>(i)), site); error != mpi_success)
      return error;
  }
  return mpi_success;
}

// MPI allows it for persistent requests of collectives that are not active, and for no others of collectives.
template <class Behind>
int free_one(MpiRequest* handle, const void*) {
  if (record::on && handle != nullptr) record::forget_made(handle_in(handle));
  State* const request = handle != nullptr ? api::taken_behind(handle_in(handle)) : nullptr;
  if (request == nullptr) return Behind::Request_free(handle);
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

template <class Behind>
int cancel(MpiRequest* handle) {
  if (handle == nullptr || api::taken_behind(handle_in(handle)) == nullptr) return Behind::Cancel(handle);
  return api::raise(mpi().comm_world, mpi().err_request);  // no collective can be cancelled
}

// ---- The doors ----

template <class Behind>
int test_one(MpiRequest* request, int* flag, MpiStatus* status) {
  return look_and_test(list(request), flag, [=] { return Behind::Test(request, flag, status); });
}

template <class Behind>
int test_all(int count, MpiRequests requests, int* flag, MpiStatus* statuses) {
  return look_and_test(list(count, requests), flag, [=] { return Behind::Testall(count, requests, flag, statuses); });
}

template <class Behind>
int test_any(int count, MpiRequests requests, int* index, int* flag, MpiStatus* status) {
  return look_and_test(list(count, requests), flag,
                       [=] { return Behind::Testany(count, requests, index, flag, status); });
}

template <class Behind>
int test_some(int count, MpiRequests requests, int* completed, int* indices, MpiStatus* statuses) {
  return look_and_test(list(count, requests), completed,
                       [=] { return Behind::Testsome(count, requests, completed, indices, statuses); });
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

template <class Behind>
int get_status(MpiRequest request, int* flag, MpiStatus* status) {
  State* const ours = mpi().abi != Abi::openmpi ? api::taken_behind(request) : nullptr;
  if (ours != nullptr && ours->persistent) return get_status_of_kept(*ours, flag, status);
  return look_and_test(list(&request), flag, [=] { return Behind::Request_get_status(request, flag, status); });
}

// Apart, so that a door needs no memory for it on its way to what comes after us, and an exception passes the door.
template <auto work, class... Arguments>
[[gnu::noinline]] int with_ours(Arguments... arguments) {
  return work(arguments...);
}

}  // namespace

// The PMPI_ names: see interpose.cpp.
#define QUADRILLE_IS_THE_MPIS_MPI false
#define QUADRILLE_IS_THE_MPIS_PMPI mpi().holds(__builtin_return_address(0))

// A function of MPI: what comes after us does it, unless there are requests of ours: then `work` does.
#define QUADRILLE_COMPLETION(PREFIX, Name, work, PARAMETERS, ...)                \
  QUADRILLE_EXPORT int PREFIX##_##Name PARAMETERS {                              \
    if (!api::TakenTable::any() || QUADRILLE_IS_THE_MPIS_##PREFIX) [[likely]]    \
      return CompletionBehind_##PREFIX::Name(__VA_ARGS__);                       \
    return api::leave(with_ours<&work<CompletionBehind_##PREFIX>>(__VA_ARGS__)); \
  }

#define QUADRILLE_COMPLETE(PREFIX)                                                                                   \
  QUADRILLE_COMPLETION(PREFIX, Wait, wait_for_one, (MpiRequest * request, MpiStatus * status), request, status)      \
  QUADRILLE_COMPLETION(PREFIX, Waitall, wait_for_all, (int count, MpiRequests requests, MpiStatus* statuses), count, \
                       requests, statuses)                                                                           \
  QUADRILLE_COMPLETION(PREFIX, Waitany, wait_for_any,                                                                \
                       (int count, MpiRequests requests, int* index, MpiStatus* status), count, requests, index,     \
                       status)                                                                                       \
  QUADRILLE_COMPLETION(PREFIX, Waitsome, wait_for_some,                                                              \
                       (int count, MpiRequests requests, int* completed, int* indices, MpiStatus* statuses), count,  \
                       requests, completed, indices, statuses)                                                       \
  QUADRILLE_COMPLETION(PREFIX, Test, test_one, (MpiRequest * request, int* flag, MpiStatus* status), request, flag,  \
                       status)                                                                                       \
  QUADRILLE_COMPLETION(PREFIX, Testall, test_all, (int count, MpiRequests requests, int* flag, MpiStatus* statuses), \
                       count, requests, flag, statuses)                                                              \
  QUADRILLE_COMPLETION(PREFIX, Testany, test_any,                                                                    \
                       (int count, MpiRequests requests, int* index, int* flag, MpiStatus* status), count, requests, \
                       index, flag, status)                                                                          \
  QUADRILLE_COMPLETION(PREFIX, Testsome, test_some,                                                                  \
                       (int count, MpiRequests requests, int* completed, int* indices, MpiStatus* statuses), count,  \
                       requests, completed, indices, statuses)                                                       \
  QUADRILLE_COMPLETION(PREFIX, Request_get_status, get_status, (MpiRequest request, int* flag, MpiStatus* status),   \
                       given(request), flag, status)                                                                 \
  QUADRILLE_COMPLETION(PREFIX, Cancel, cancel, (MpiRequest * request), request)

// The same, and where calls are recorded. `work` gets the arguments, and where they come from.
#define QUADRILLE_KEEPING(PREFIX, Name, work, PARAMETERS, ...)                                                \
  QUADRILLE_EXPORT int PREFIX##_##Name PARAMETERS {                                                           \
    if (!api::TakenTable::any() && !record::on) [[likely]]                                                    \
      return CompletionBehind_##PREFIX::Name(__VA_ARGS__);                                                    \
    return api::leave(with_ours<&work<CompletionBehind_##PREFIX>>(__VA_ARGS__, __builtin_return_address(0))); \
  }

#define QUADRILLE_KEEP(PREFIX)                                                                       \
  QUADRILLE_KEEPING(PREFIX, Start, start_one, (MpiRequest * request), request)                       \
  QUADRILLE_KEEPING(PREFIX, Startall, start_all, (int count, MpiRequests requests), count, requests) \
  QUADRILLE_KEEPING(PREFIX, Request_free, free_one, (MpiRequest * request), request)

extern "C" {
QUADRILLE_COMPLETE(MPI)
QUADRILLE_COMPLETE(PMPI)
QUADRILLE_KEEP(MPI)
QUADRILLE_KEEP(PMPI)
}  // extern "C"
