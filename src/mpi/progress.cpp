#include "mpi/progress.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace quadrille {
namespace {

std::atomic<bool (*)()> work_of_hook = nullptr;
std::atomic<bool> wanted = false, ended_for_good = false;
// The MPI calls us, or is about to.
std::atomic<bool> there = false;
// The thread that does the work, by an address that is that thread's alone; null: none.
std::atomic<const void*> worker = nullptr;
bool is_inside() { return worker.load(std::memory_order_relaxed) == &errno; }

// So often in a row the hook finds nothing to do before it ends: programs start one call after another.
constexpr unsigned most_idle_looks = 256;
std::atomic<unsigned> idle_looks = 0;

// True if the hook is to stay.
bool work_once() {
  const void* nobody = worker.load(std::memory_order_relaxed);
  // Called by an MPI function that the work calls, or while another thread does the work: whether the hook is wanted
  // that one finds out.
  if (nobody != nullptr || !worker.compare_exchange_strong(nobody, &errno)) return true;
  const struct Leaving {
    ~Leaving() { worker.store(nullptr, std::memory_order_release); }
  } leaving{};
  if (!wanted.load(std::memory_order_acquire)) return false;
  bool (*const work)() = work_of_hook.load(std::memory_order_acquire);
  if (work != nullptr && work()) {
    idle_looks.store(0, std::memory_order_relaxed);
    return true;
  }
  if (idle_looks.fetch_add(1, std::memory_order_relaxed) < most_idle_looks) return true;
  // Another thread may have begun something just now, and taken it for granted that we stay.
  wanted.exchange(false);
  const bool begun = work != nullptr && work();
  if (begun) wanted.store(true);
  return begun;
}

// Says that we are called no more, unless somebody wants us at this moment: then we stay, and it is true.
bool stays_after_all() {
  there.store(false);
  return wanted.load() && !there.exchange(true);
}

// ---- Open MPI ----

int called() {
  if (work_once() || is_inside()) return 0;
  // Open MPI allows that from within. Who wants us from here on registers us again.
  mpi().opal_progress_unregister(called);
  if (stays_after_all()) mpi().opal_progress_register(called);
  return 0;
}

// ---- MPICH ----

constexpr int no_progress = 0, all_done = 1;  // MPIX_ASYNC_NOPROGRESS, MPIX_ASYNC_DONE
constexpr int null_stream = 0x3c000000;       // MPIX_STREAM_NULL

int called_by_mpich(void*) {
  if (work_once() || is_inside()) return no_progress;
  return stays_after_all() ? no_progress : all_done;
}

// ---- Both ----

// Whichever ABI its library has. MPICH's hook takes handles of its own ABI alone.
bool by_openmpi() { return mpi().opal_progress_register != nullptr && mpi().opal_progress_unregister != nullptr; }
bool can_hook() {
  const bool by_mpich = mpi().abi == Abi::mpich && mpi().Async_start != nullptr && mpi().Request_is_complete != nullptr;
  return by_openmpi() || by_mpich;
}
void install() {
  by_openmpi() ? mpi().opal_progress_register(called) : mpi().Async_start(called_by_mpich, nullptr, null_stream);
}

bool is_complete(MpiRequest request) {
  return request == mpi().request_null || mpi().Request_is_complete(request) != 0;
}

// ---- How the MPI waits ----

// MPICH sleeps once after so many looks in vain. Its own default, 4096, keeps the processor for a good part of
// a time slice; from 20 to 400 it makes no difference that can be measured.
constexpr int looks_before_sleep = 100;

bool chosen_by_user(const std::string& variable) {
  for (const char* prefix : {"MPIR_CVAR_", "MPIR_PARAM_", "MPICH_"}) {
    if (std::getenv((prefix + variable).c_str()) != nullptr) return true;
  }
  return false;
}

// Writes a variable of type int. False if the MPI has no such variable, or not now.
bool write_variable(const std::string& name, int value) {
  const Mpi& t = mpi();
  int index = 0, count = 0;
  if (t.T_cvar_get_index(name.c_str(), &index) != mpi_success) return false;
  void* handle = nullptr;
  if (t.T_cvar_handle_alloc(index, nullptr, &handle, &count) != mpi_success) return false;
  const bool written = count == 1 && t.T_cvar_write(handle, &value) == mpi_success;
  t.T_cvar_handle_free(&handle);
  return written;
}

}  // namespace

// MPICH takes the function away from its progress before it calls back in MPI_Finalize, and ends the program if there
// is another one. Without the preload library a callback of ours is the first to know.
bool progress_hook_works() { return mpi().usable && can_hook() && (by_openmpi() || !ended_for_good.load()); }

void begin_progress_hook(bool (*work)()) {
  idle_looks.store(0, std::memory_order_relaxed);
  // The call is in the list before this look: a thread that is about to end the hook finds it there.
  if (wanted.load() && there.load() && work_of_hook.load() == work) return;
  if (!progress_hook_works()) return;
  work_of_hook.store(work, std::memory_order_release);
  wanted.store(true);
  if (!there.load(std::memory_order_acquire) && !there.exchange(true)) install();
}

void end_progress_hook_for_good() {
  ended_for_good.store(true);
  wanted.store(false, std::memory_order_release);
  work_of_hook.store(nullptr);
  constexpr int most_looks = 1000;
  for (int look = 0; look < most_looks && there.load(); ++look) {
    int flag = 0;
    mpi().Iprobe(mpi().any_source, 0, mpi().comm_self, &flag, mpi().status_ignore);
  }
}

bool may_ask_for_progress() { return !is_inside() || mpi().Request_is_complete == nullptr; }

// `request` may be one of an array.
int test_one(MpiRequest* request, int* flag, MpiStatus* status) {
  if (may_ask_for_progress()) return mpi().Test(request, flag, status);
  *flag = is_complete(MpiRequests{request}[0]) ? 1 : 0;
  return *flag != 0 ? mpi().Wait(request, status) : mpi_success;
}

int test_all(int count, MpiRequests requests, int* flag, MpiStatus* statuses) {
  if (may_ask_for_progress()) return mpi().Testall(count, requests, flag, statuses);
  *flag = 0;
  for (int i = 0; i < count; ++i) {
    if (!is_complete(requests[static_cast<std::size_t>(i)])) return mpi_success;
  }
  *flag = 1;
  return mpi().Waitall(count, requests, statuses);  // which has nothing to wait for
}

int test_any(int count, MpiRequests requests, int* index, MpiStatus* status, bool one_by_one) {
  int flag = 0, error = mpi_success;
  if (!one_by_one && may_ask_for_progress()) {
    error = mpi().Testany(count, requests, index, &flag, status);
    if (flag == 0) *index = mpi().undefined;
    return error;
  }
  *index = mpi().undefined;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count) && *index == mpi().undefined; ++i) {
    if (requests[i] == mpi().request_null) continue;
    error = test_one(requests.at(i), &flag, status);
    if (flag != 0 || error != mpi_success) *index = static_cast<int>(i);
  }
  return error;
}

// Open MPI gives way by itself where its launcher sees more ranks than processors.
bool let_waits_give_way() {
  const Mpi& t = mpi();
  if (t.is_openmpi()) return false;
  if (chosen_by_user("CH4_PROGRESS_THROTTLE") || chosen_by_user("CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT")) {
    return false;
  }
  int provided = 0;
  if (t.T_init_thread(mpi().thread_single, &provided) != mpi_success) return false;
  const bool asked = write_variable("MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT", looks_before_sleep) &&
                     write_variable("MPIR_CVAR_CH4_PROGRESS_THROTTLE", 1);
  t.T_finalize();
  return asked;
}

}  // namespace quadrille
