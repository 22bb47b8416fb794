// The inside of the stand-in: state and what is done to it. CUDA's and HIP's names are thin layers over it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "standin.hpp"

namespace quadrille::standin {

using Clock = std::chrono::steady_clock;

// Whether contexts are there without being asked for, as HIP has it. Each library says it of itself.
extern const bool starts_by_itself;

// -- settings.cpp

enum class Mode { eager, lazy, random };
struct Failure {
  std::string function;
  unsigned long call = 0, seen = 0;
  bool and_after = false;
  int error = unknown;
};
struct Settings {
  Mode mode = Mode::eager;
  std::mt19937_64 random;
  std::chrono::milliseconds patience{20};
  int devices = 1;
  std::size_t memory = std::size_t{16} << 30;  // of each device
  std::vector<int> visible;                    // numbers of devices, as the program sees them
  bool no_ipc = false, in_use = false;
  bool has_ipc_attribute = false;  // of HIP
  std::vector<Failure> failures;
};
bool set(Settings& settings, const std::string& name, const std::string& value);
void read_environment(Settings& settings);
void use(Settings& settings);  // from now on the devices are what they are
// The error that this call shall return; success if none.
int failure_of(Settings& settings, const std::string& function);

// -- contexts.cpp

struct Stream;
struct Context {
  int device = 0;  // as the program counts
  bool primary = false, destroyed = false;
  int retained = 0, error = success;
  unsigned flags = 0;
  unsigned long long id = 0;
  Stream* legacy = nullptr;
};

// -- memory.cpp

enum class Kind { device, pool, pinned, registered, managed, opened, mapped };
// What lies behind the bytes of a device's allocation, for all processes that map it.
struct Footer {
  std::uint32_t alive;
};
struct Allocation {
  Kind kind = Kind::device;
  Address base = 0;
  std::size_t bytes = 0, mapped = 0;  // mapped: whole pages, with the footer's
  char* data = nullptr;               // where the driver touches it
  int file = -1;
  std::uint64_t inode = 0;
  Context* context = nullptr;  // null for pools and what is mapped by hand
  int device = 0;
  unsigned long long id = 0;
  int opened = 0;  // how often, of another process's
  bool sync_memops = false;
  std::uint64_t made = 0;  // of what is mapped by hand
  bool accessible = true;
  bool is_device() const {
    return kind == Kind::device || kind == Kind::pool || kind == Kind::opened || kind == Kind::mapped;
  }
  bool is_of_a_device_alone() const { return kind == Kind::pool || kind == Kind::mapped; }  // and of no context
  bool is_file() const { return file >= 0; }
  Footer* footer() const { return reinterpret_cast<Footer*>(data + mapped - 4096); }
};
int allocate(Context& context, Kind kind, std::size_t bytes, Address* made);
int allocate_pointer(Context& context, Kind kind, void** made, std::size_t bytes);
int free_device(Context& context, Address address);
int free_host(void* address, Kind kind);
int register_host(Context& context, void* address, std::size_t bytes);
void release(Allocation& allocation);  // all but waiting
void release_all(const Context& context);
std::size_t memory_left(int device);
int get_memory_left(const Context& context, std::size_t* available, std::size_t* total);  // of its device
// How far it goes on from here, over pieces that are mapped one behind the other.
std::size_t bytes_from(const Allocation& allocation, Address address);
Address find_reservable(std::size_t bytes);  // 0: there is nothing
Allocation* find(Address address);
inline Address number(const void* pointer) { return reinterpret_cast<Address>(pointer); }
// May be taken for a device's memory, allocated or not.
bool is_in_arena(Address address);
// Where the driver touches it; null if it is not all of one allocation, or its owner has freed it.
char* reach(Address address, std::size_t bytes);
char* reach(Allocation& allocation, Address address, std::size_t bytes);
int map_file(Kind kind, int file, std::size_t bytes, std::size_t mapped, Allocation*& made);
constexpr std::size_t pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

// -- mapped.cpp

constexpr std::size_t mapping_granularity = 65536;
constexpr int read_and_write = 3;
struct Reservation {
  std::size_t bytes = 0;
  char* data = nullptr;  // where the driver touches what is mapped there
};
struct Made {
  int file = -1;
  std::size_t bytes = 0;
  MemoryProperties properties{};
  int held = 1, mappings = 0;
  bool mapped_before = false;
};
int reserve(Address* at, std::size_t bytes);
int give_back(Address at, std::size_t bytes);
int make_memory(std::uint64_t* handle, std::size_t bytes, const MemoryProperties* properties);
int let_go(std::uint64_t handle);
int map_memory(Address at, std::size_t bytes, std::size_t offset, std::uint64_t handle);
int unmap(Address at, std::size_t bytes);
int give_access(Address at, std::size_t bytes, const Access* access, std::size_t count);
int hold_again(std::uint64_t* handle, Address at);
int properties_of(MemoryProperties* properties, std::uint64_t handle);

// -- attributes.cpp, sharing.cpp

int pointer_attribute(void* data, int attribute, Address address);
int hip_pointer_attribute(void* data, int attribute, Address address);
int pointer_attributes(unsigned count, const int* attributes, void** data, Address address);
int set_pointer_attribute(const void* value, int attribute, Address address);
int export_memory(IpcHandle* handle, Address address);
int open_memory(Context& context, Address* address, const IpcHandle& handle);
int close_memory(Address address);

// -- engine.cpp

// That a piece of work is done. Events and streams keep those that they wait for.
struct Mark {
  Stream* stream = nullptr;
  bool done = false;
  Clock::time_point when;
};
using MarkRef = std::shared_ptr<Mark>;
struct Operation {
  std::function<int()> run;     // returns an error
  std::function<bool()> ready;  // null: once all before it is done
  std::vector<MarkRef> after;   // of other streams
  bool calls_host = false;      // runs a function of the program
  bool seen_by_host = false;    // without a call of the driver
  MarkRef mark;
  Clock::time_point submitted;
};
enum class Capture : int { none, active, invalid };        // CUDA's numbers
enum class CaptureMode : int { global, thread, relaxed };  // likewise
struct Stream {
  Context* context = nullptr;
  bool blocking = true, running = false, destroyed = false;
  unsigned flags = 0;
  int priority = 0;
  unsigned long long id = 0;
  std::deque<Operation> queue;
  MarkRef last;
  Capture capture = Capture::none;
  CaptureMode capture_mode = CaptureMode::global;
  std::thread::id capturer;
  unsigned long captured = 0;  // pieces of work
};
struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  MarkRef mark;  // null: never recorded
};
MarkRef submit(Stream& stream, Operation operation);
inline MarkRef submit(Stream& stream, std::function<int()> run) {
  Operation operation;
  operation.run = std::move(run);
  return submit(stream, std::move(operation));
}
void wait_for(MarkRef mark);
bool ask_for(MarkRef mark);  // is it done? Asking makes it come nearer
void wait_for_all(const Context& context);
void stir();
Stream* stream_of(Handle handle, bool per_thread, Context& current);
Stream* make_stream(Context& context, unsigned flags, int priority);
int create_stream(Context& context, Handle* stream, unsigned flags, int priority);
int synchronize_stream(Stream& stream);
int query_stream(Stream& stream);
void start_worker();
std::size_t pending();

// -- capture.cpp

// The error of a call that may not be made now; success if it may. What it disturbs is lost.
int refuse_unsafe(const char* function);
int refuse_in_capture(const char* function, Stream& stream);
int begin_capture(Stream& stream, int mode);
int end_capture(Stream& stream, Handle* graph);
int ask_capture(const Stream& stream, int* status);
int exchange_capture_mode(int* mode);

// -- graphs.cpp

int create_graph(Handle* graph);
Handle graph_of_capture();
int add_copy(Handle* node, Handle graph, const Handle* after, std::size_t count, Address to, Address from,
             std::size_t bytes, const Context& context);
int make_ready(Handle* ready, Handle graph);
int launch_graph(Stream& stream, Handle ready);
int destroy_ready(Handle ready);
int destroy_graph(Handle graph);

// -- events.cpp

int create_event(Context& context, unsigned flags, Handle* handle);
int record_event(Stream& stream, Handle handle);
int wait_in_stream(Stream& stream, Handle handle);
int query_event(Handle handle);
int wait_for_event(Handle handle);
int elapsed_time(float* milliseconds, Handle from, Handle to);
int destroy_event(Handle handle);

// -- copies.cpp

enum class Direction { any, to_device, to_host, on_device };
int copy(Stream& stream, Address to, Address from, std::size_t bytes, Direction direction, bool waits);
// Whether work of a context may copy that, and the copy itself.
int check_copy(const Context& context, Address to, Address from, std::size_t bytes);
int move_now(Address to, Address from, std::size_t bytes);
int copy_2d(Stream& stream, const Copy2D& copy, bool waits);
int copy_batch(Stream& stream, const Address* to, const Address* from, const std::size_t* bytes, std::size_t count,
               const CopyAttributes* attributes, const std::size_t* begins, std::size_t attribute_count,
               std::size_t* failed);
int fill(Stream& stream, Address to, unsigned value, std::size_t value_bytes, std::size_t count, bool waits);
int wait_for_value(Stream& stream, Address address, std::uint32_t value, unsigned flags);
int write_value(Stream& stream, Address address, std::uint32_t value, unsigned flags);
int call_host(Stream& stream, std::function<void()> function);
int allocate_in_order(Stream& stream, std::size_t bytes, Address* made);
int free_in_order(Stream& stream, Address address);

// -- kernels.cpp

int load_module(Handle* module, const void* image);
int unload_module(Handle module);
int find_function(Handle* function, Handle module, const char* name);
int launch(Stream& stream, Handle function, const Launch& launch, void** parameters);
void set_twin(const char* name, Twin twin);

// -- contexts.cpp

int initialize();
int device_count();
bool has_device(int device);
int physical(int device);
Uuid uuid_of(int physical);
Context* context_of(Handle handle);  // null: there is none
int retain_primary(int device, Handle* context);
int release_primary(int device);
int create_context(int device, unsigned flags, Handle* context);
int destroy_context(Handle context);
std::vector<Context*>& stack();  // of this thread; its last one is current
int current(Context*& context);
int set_current(Handle context);
int push_current(Handle context);
int pop_current(Handle* context);
int get_current(Handle* context);
int get_ordinal(const Context& context, int* device);
int synchronize(const Context& context);
int count_devices(int* count);
int get_device(int* device, int ordinal);
int get_uuid(Uuid* uuid, int device);
int get_name(char* name, int bytes, int device);
int get_bus_id(char* name, int bytes, int device);
int can_access_peer(int* can, int device, int peer);

struct Driver {
  std::mutex mutex;
  std::condition_variable submitted;
  bool initialized = false, forked = false, worker = false, host_function_runs = false;
  Settings settings;
  std::vector<std::unique_ptr<Context>> contexts;
  std::vector<Context*> primary;
  std::map<Address, Allocation> allocations;
  std::vector<std::unique_ptr<Stream>> streams;
  std::map<Event*, std::unique_ptr<Event>> events;
  std::map<Address, Reservation> reservations;
  std::map<std::uint64_t, Made> made;
  std::uint64_t last_made = 0;
  unsigned long long last_id = 0;
  unsigned long operations = 0, stale = 0;
};
Driver& driver();

// -- callers.cpp

struct Caller {
  const char* function;
  void* from;
};
unsigned long count(const std::string& what, const char* caller);
void note(const Caller& caller);
// This thread runs a function of the program for the driver, which may not call the driver.
bool is_inside();
class Inside {
 public:
  Inside();
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};
// Before each call; what it returns is the call's error, if it is one.
int begin(const Caller& caller, bool needs_init);

#define QUADRILLE_HERE (quadrille::standin::Caller{static_cast<const char*>(__func__), __builtin_return_address(0)})
#define QUADRILLE_EXPORT extern "C" __attribute__((visibility("default")))

// What a call returns. HIP keeps an error for hipGetLastError.
int returned(int error);
// That of this thread, as ROCm keeps it since 7.0: until it is read, whatever succeeds after it.
int& last_error();

template <class Body>
int enter_uninitialized(const Caller& caller, Body&& body) {
  if (is_inside()) return not_permitted;
  const std::lock_guard lock(driver().mutex);
  const int error = begin(caller, false);
  return returned(error != success ? error : static_cast<int>(body()));
}

template <class Body>
int enter(const Caller& caller, Body&& body) {
  if (is_inside()) return not_permitted;
  const std::lock_guard lock(driver().mutex);
  const int error = begin(caller, true);
  return returned(error != success ? error : static_cast<int>(body()));
}

// A call that does what one function of the inside does.
template <class Work, class... Arguments>
int call(const Caller& caller, Work work, Arguments... arguments) {
  return enter(caller, [&] { return static_cast<int>(work(arguments...)); });
}

// With the thread's context, which has to be there and in order.
template <class Body>
int enter_in_context(const Caller& caller, Body&& body) {
  return enter(caller, [&] {
    Context* context = nullptr;
    const int error = current(context);
    return error != success ? error : body(*context);
  });
}

// A function of the inside gets the context before the arguments, if it takes one.
template <class Work, class... Arguments>
int call_in_context(const Caller& caller, Work work, Arguments... arguments) {
  return enter_in_context(caller, [&]([[maybe_unused]] Context& context) {
    if constexpr (std::is_invocable_v<Work, Context&, Arguments&...>) {
      return static_cast<int>(work(context, arguments...));
    } else {
      return static_cast<int>(work(arguments...));
    }
  });
}

// With a stream by its handle.
template <class Body>
int enter_in_stream(const Caller& caller, Handle handle, bool per_thread, Body&& body) {
  return enter_in_context(caller, [&](Context& context) {
    Stream* const stream = stream_of(handle, per_thread, context);
    if (stream == nullptr) return static_cast<int>(invalid_handle);
    const int refused = refuse_in_capture(caller.function, *stream);
    return refused != success ? refused : body(*stream);
  });
}

template <class Work, class... Arguments>
int call_in_stream(const Caller& caller, Handle handle, bool per_thread, Work work, Arguments... arguments) {
  return enter_in_stream(caller, handle, per_thread,
                         [&](Stream& stream) { return static_cast<int>(work(stream, arguments...)); });
}

// Two calls of both drivers that need no driver before: what starts it, and what tells its version.
int start_driver(const Caller& caller, unsigned flags);
int tell_version(const Caller& caller, int* version, int number);

}  // namespace quadrille::standin
