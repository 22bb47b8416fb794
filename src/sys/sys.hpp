// The whole surface of the operating system and the processor that Quadrille uses.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "text/reason.hpp"

struct rlimit;  // of the system

namespace quadrille::sys {

inline constexpr std::size_t cache_line = 64;
constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// The one object of this type that the library keeps: made when it is first asked for, it outlives all destructors.
// Each user has a type of its own. Inlined, as calls ask for some of them each time.
template <class Type>
[[gnu::always_inline]] inline Type& immortal() {
  static auto* const made = new Type;
  return *made;
}

// Tells the core that this is a waiting loop.
inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();  // its header would cost each file that includes this one half a second
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// Asks for a cache line, without waiting for it.
inline void prefetch(const void* address) { __builtin_prefetch(address); }

// The same for writing.
inline void prefetch_for_write(const void* address) {
#if defined(__x86_64__)
  // The compiler's builtin would be a prefetch for reading unless it may assume this instruction.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

// Gives the core to another process that is ready.
inline void yield() { sched_yield(); }

// A lock that is held for a few instructions, or where no other can be taken: inside malloc, mmap and fork.
class SpinLock {
 public:
  bool try_lock() { return !taken_.test_and_set(std::memory_order_acquire); }
  void lock() {
    while (!try_lock()) yield();
  }
  void unlock() { taken_.clear(std::memory_order_release); }

 private:
  std::atomic_flag taken_;
};

// Waits so long without the processor.
void sleep_us(unsigned microseconds);

// Sleeps while `word`, of memory that processes share, is `value`, until somebody wakes its sleepers, at most so long.
// May return earlier for no reason.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, unsigned microseconds);
void wake_sleepers(const std::atomic<std::uint32_t>& word);

// ---- Waiting for another process of this node: spin, then let others in, and keep the MPI moving. ----
//
// A rank that waits must drive the MPI's own progress: a peer may be stuck in MPI_Send to us, matched
// by an earlier MPI_Irecv of ours, before it reaches the collective that we wait in.

struct Waiter {
  // How often to look before the core is first given away. Small when there are more ranks than
  // processors: then the peer can only run once we have stopped.
  std::uint32_t spins = 4000;
  static constexpr std::uint32_t spins_if_crowded = 8;
  bool crowded() const { return spins <= spins_if_crowded; }
  // How long it may sleep where another process can wake it, before it drives the MPI; 0: not at all. A rank that only
  // gives its processor away gets it again and again, and each time the ranks that it waits for do not.
  unsigned longest_sleep_us = 0;
  static constexpr unsigned longest_sleep_us_if_crowded = 500;
  // After the spins, the MPI is driven once every so many looks.
  std::uint32_t looks_between_progress = 16;
  void (*progress)(void*) = nullptr;  // may throw, which ends the wait
  void* progress_data = nullptr;

  // Returns when ready() is true.
  template <class Ready>
  void until(Ready ready) const {
    until(ready, [] { return false; });
  }
  // `sleep` may wait by itself, in place of giving the core away, and is then true.
  template <class Ready, class Sleep>
  void until(Ready ready, Sleep sleep) const {
    for (std::uint32_t look = 0; look < spins; ++look) {
      if (ready()) return;
      pause();
    }
    // Giving the core away comes first: most often that is all that a peer needs.
    for (std::uint32_t look = 1; !ready(); ++look) {
      const bool slept = sleep();
      if (!slept) {
        yield();
      } else if (ready()) {
        return;  // woken: ready() is not asked again once it was true
      }
      if (progress != nullptr && (slept || look % looks_between_progress == 0)) progress(progress_data);
    }
  }
};

// Sleeping for another process, where ranks share processors. A rank that only gives its processor away gets it again
// and again, and each time the others wait for that rank.
//
// Idea    A waiter counts itself, looks once more, and sleeps. A rank that has done what others wait for asks the
//         counter, and wakes them if there are any. Both change the counter, one after the other: a waiter that comes
//         later sees what was done, and a rank that asks later sees the sleeper. A bell that is rung between the
//         look and the sleep has another number, at which nobody falls asleep.
//
// A bell lies in zeroed memory that processes share.
class Bell {
 public:
  // After what sleepers wait for was stored.
  void ring() {
    if (sleepers_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
    rung_.fetch_add(1, std::memory_order_release);
    wake_sleepers(rung_);
  }
  // At most so long, unless ready() is true. May return earlier.
  template <class Ready>
  void sleep_unless(Ready ready, unsigned microseconds) {
    const std::uint32_t rung = rung_.load(std::memory_order_acquire);
    sleepers_.fetch_add(1, std::memory_order_acq_rel);
    if (!ready()) sleep_while(rung_, rung, microseconds);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint32_t> rung_, sleepers_;
};

// ---- Threads and processes ----

// The calling thread does work of ours beside the program's: no signal of the program's comes to it, and it sleeps as
// short as it asks for. `name` has at most 15 letters.
void become_a_helper(const char* name);
// Of the calling thread; positive, and of no other thread as long as it lives.
int thread_number();

// Calls `fork` on a stack that is mapped for that, while the stack of the caller stays as it is; then parent and child
// go on where they were called. -1 with errno ENOMEM if there is no memory.
pid_t fork_on_own_stack(pid_t (*fork)());

// A tool that watches all memory of this process, valgrind or a sanitizer that the program is built with: its name;
// null if there is none. Such a tool tracks each byte that the process maps, and does not see what other processes
// write: memory is not shared with them, and no other process may write to this one.
const char* memory_checker();

// ---- Shared segments: memory without a name, so that nothing can stay behind. ----

// A file descriptor of `bytes` zeroed shared memory, closed on exec; -1 if the system gives none. Its pages take memory
// when they are touched; where a system can only reserve them all at once, there is none unless it may.
int create_segment(std::size_t bytes, bool may_reserve = true, const char* name = "quadrille");
// Has a file that came from another process so many bytes? Touching what it has not would be a bus error.
bool holds(int descriptor, std::size_t bytes);

// A limit of the system for this process (RLIMIT_AS and the others); SIZE_MAX without one.
std::size_t limit_of(int resource);
// What to ask the system for, so that `asked` is left beside `idle` bytes; `hard_now` cannot be exceeded.
rlimit raised_limit(const rlimit& asked, std::size_t idle, std::size_t hard_now);
// The first line of a file of the kernel; empty if it cannot be read.
std::string line_in(const std::string& path);
// Bytes of addresses that this process may still take (ulimit -v); SIZE_MAX without a limit.
std::size_t address_space_left();
// Maps a segment for reading and writing; null on failure, and if it is smaller.
std::byte* map_segment(int descriptor, std::size_t bytes);
void unmap_segment(std::byte* base, std::size_t bytes);
void close_descriptor(int descriptor);

// Can the processor read the eight bytes around an address? No signal comes of it.
bool is_readable(const void* address);

// ---- Passing file descriptors to processes of the same user on this machine ----
//
// Over a local socket that has no name in the file system.

// The address of a listening local socket: an abstract name that the kernel chose.
struct Address {
  char name[112];
  std::int32_t length = 0;  // 0: none
};

// Opens a listening socket for `clients` processes. Returns its descriptor, or -1.
int listen_local(int clients, Address& address);
// Connects without waiting, if a process of this user listens there. Returns a descriptor, or -1.
int connect_local(const Address& address);

// All processes get a descriptor of each. Process 0 listens and calls collect_and_share(); process i connects and calls
// give_and_take(). Process i passes its own descriptor in all[i], and -1 elsewhere; -1 stands for no descriptor.
// Afterwards all[i] is a descriptor of process i, to be closed by the caller. False if it failed; then
// there are no descriptors to close but one's own.
bool collect_and_share(int listener, std::span<int> all);
bool give_and_take(int connection, int me, std::span<int> all);

// ---- The memory of the shared heap: one large, sparse segment. ----
//
// These functions change mappings by system calls, past the interposed mmap family of the preload
// library. Only drop_shared_pages() goes through libc: registration caches of MPIs watch it there.

// What forbids a segment of `bytes` of memory that is taken page by page; else none.
Reason heap_obstacle(std::size_t bytes);
// Bytes of physical memory of this machine; 0 if unknown.
std::size_t physical_memory();
// Processors of this machine, wherever this process may run; at least 1.
int online_processors();
std::size_t page_size();

// A memfd of `bytes`, closed on exec, at a high number so that the program's numbers stay as they
// are; -1 if the system gives none.
int create_heap_file(std::size_t bytes);

// What a descriptor stands for. A program may close descriptors that it does not know.
struct FileIdentity {
  std::uint64_t device = 0, file = 0;
};
bool identify(int descriptor, FileIdentity& identity);
bool still_is(int descriptor, const FileIdentity& identity);

// Bytes of a huge page, also where there are none.
std::size_t huge_page_bytes();
// Whether the system gives shared memory huge pages where a process advises it to.
bool shares_huge_pages();
// Advises huge pages, or small ones, for all whole huge pages in a range. Without effect where there are none.
void advise_pages(std::byte* base, std::size_t bytes, bool huge);
// Where the memory of a heap of `bytes` begins. At the same offset in all heaps, the blocks of all peers would fall
// into the same sets of a cache and of the table of translations. Heaps with consecutive numbers differ by an odd
// number of pages.
std::size_t heap_skew(std::size_t number, std::size_t bytes);
// Processes that start one after the other mostly have consecutive numbers.
std::size_t process_number();

// Maps the segment with no access: neither core dumps nor locked memory may touch what is not in use. The address is
// that of a huge page.
std::byte* map_heap(int descriptor, std::size_t bytes);
// Makes pages of it accessible.
bool open_pages(std::byte* base, std::size_t bytes);
// Maps a segment of another process for reading and writing. Children of a fork do not get it.
std::byte* map_peer(int descriptor, std::size_t bytes);

// Gives pages back to the system; they read as zeros afterwards. False if nothing happened.
bool drop_shared_pages(std::byte* base, std::size_t bytes);
bool drop_private_pages(std::byte* base, std::size_t bytes);
// The same by the place in the file: also of pages that may not be written, or that are locked.
bool punch_hole(int descriptor, std::size_t offset, std::size_t bytes);

// Bytes of memory that a file without a name holds, what is swapped out included; 0 if unknown.
std::size_t held_bytes(int descriptor);
// Private memory of `bytes` with the content of the segment's first `bytes`; null on failure.
std::byte* copy_segment(int descriptor, std::size_t bytes);
std::byte* map_private(std::size_t bytes);
void unmap_raw(std::byte* base, std::size_t bytes);
// Moves pages to `target` in place of what is mapped there.
bool move_pages(std::byte* from, std::size_t bytes, std::byte* target);

// ---- Memory of another process of this machine, where the system allows it (cross memory attach) ----

// Copies `bytes` bytes at `address` of `process` to `to`. False if the system refused or part of the
// memory is not there; `to` may then have been written in part.
bool read_process(pid_t process, std::uint64_t address, std::byte* to, std::size_t bytes);

// Copies `bytes` bytes from `from` to `address` of `process`. Same return rule.
bool write_process(pid_t process, std::uint64_t address, const std::byte* from, std::size_t bytes);

// ---- Processors ----

inline constexpr int max_processors = 1024;
// Bit p is set if this process may run on processor p.
using ProcessorSet = std::bitset<max_processors>;
ProcessorSet allowed_processors();
inline int count(const ProcessorSet& set) { return static_cast<int>(set.count()); }
// Keeps the calling thread on a processor; false if the system refuses.
bool run_on(int processor);

// Bytes of the data (or unified) cache of a level, 1 to 3, of the first processor; 0 if unknown.
std::size_t cache_bytes(int level);
// The same from a folder like /sys/devices/system/cpu/cpu0/cache.
std::size_t cache_bytes_in(const std::string& folder, int level);

// Bytes of all last-level caches that the processors of `set` use, each cache counted once; 0 if unknown.
std::size_t last_cache_bytes(const ProcessorSet& set);
// The same from a folder like /sys/devices/system/cpu.
std::size_t last_cache_bytes_in(const std::string& folder, const ProcessorSet& set);
// All processors of the machine that a set can hold.
inline ProcessorSet every_processor() { return ProcessorSet().set(); }

// Where a thread runs; unknown (-1, -1) if it may run on several L3 caches, and where sysfs does not say it.
struct Place {
  int package = -1;  // its number
  int cache = -1;    // the first processor that shares the L3 cache
};
// The place of a thread that may run on the processors of `set`. `folder`: another one of that form, for tests.
Place place_of(const ProcessorSet& set, const std::string& folder = "/sys/devices/system/cpu");

// ---- The environment ----

// A variable of the environment; empty if it is not set.
inline std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// ---- What the launcher has set there: for when MPI cannot be asked, before MPI_Init or without any MPI ----

// The rank in MPI_COMM_WORLD; empty if no launcher says it.
inline std::string launched_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (std::string rank = environment(name); !rank.empty()) return rank;
  }
  return {};
}

// How many ranks of this program are on this machine; 0 if no launcher says it.
inline int launched_here() {
  int ranks = 0;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const int told = std::atoi(environment(name).c_str()); told > ranks) ranks = told;
  }
  return ranks;
}

// Is this process rank 0, as far as can be told?
inline bool launched_as_first() {
  const std::string rank = launched_rank();
  return rank.empty() || rank == "0";
}

}  // namespace quadrille::sys
