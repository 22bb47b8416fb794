// The whole surface of the operating system and the processor that Quadrille uses.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
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
// The calling thread does work of ours beside the program's: no signal of the program's comes to it, and it sleeps as
// short as it asks for. `name` has at most 15 letters.
void become_a_helper(const char* name);
// Of the calling thread; positive, and of no other thread as long as it lives.
int thread_number();

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

// A variable of the environment; empty if it is not set.
std::string environment(const char* name);

}  // namespace quadrille::sys
