// What the device and CUDA's driver did in a process, as lines of JSON: for CUDA_INJECTION64_PATH, where no profiler
// runs.
//
//   g++ -O2 -std=c++20 -Wall -Wextra -shared -fPIC -pthread -static-libstdc++ -static-libgcc -fvisibility=hidden
//     -Wl,--exclude-libs,ALL,--gc-sections -I /usr/local/cuda/include -I /usr/local/cuda/extras/CUPTI/include
//     -o libgpu_trace.so trace.cpp -ldl
//   CUDA_INJECTION64_PATH=$PWD/libgpu_trace.so GPU_TRACE_OUT=FOLDER mpirun -n 4 PROGRAM; trace.py FOLDER
//
// It is no part of the build, as it wants the headers of CUPTI. The library itself is looked for at run time.
//
//   GPU_TRACE_OUT=FOLDER     where trace-PID.jsonl is written (.)
//   GPU_TRACE_CUPTI=FILE     libcupti.so.13, if it lies where it is not looked for
//   GPU_TRACE_MILLIONS=N     of records that a process writes at most; the others are only counted (4)
//   GPU_TRACE_SKIP=F,G       functions of the driver whose calls are not written, such as cuStreamQuery
//   GPU_TRACE_API=0          no calls at all: device work alone is disturbed less
//   GPU_TRACE_GRAPHS=1       a launch of a graph is one record; without, each of its nodes is one
//   GPU_TRACE_FLUSH_MS=N     write every N ms what is done, for programs that do not end by exit()
//
// All times are nanoseconds of CLOCK_MONOTONIC, so those of several processes of a machine go together.
#include <cupti.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

// Never freed: threads of CUPTI may come here while the process ends.
struct State {
  void* cupti = nullptr;
  std::mutex mutex;
  FILE* file = nullptr;
  pid_t pid = 0;
  int64_t offset = 0;  // from CUPTI's clock to the monotonic one
  uint64_t most = 0, written = 0, dropped = 0, lost = 0;
  std::string skip;
  std::vector<std::string> calls;  // names by number; "-": not wanted
  std::atomic_flag over;
};
State& state = *new State;

CUptiResult refuse() { return CUPTI_ERROR_NOT_SUPPORTED; }

void* function(const char* name) {
  void* found = dlsym(state.cupti, name);
  return found != nullptr ? found : reinterpret_cast<void*>(refuse);  // of an older CUPTI
}
#define CUPTI(name) reinterpret_cast<decltype(&name)>(function(#name))

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : otherwise;
}

uint64_t CUPTIAPI now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// A time of CUPTI in our clock; 0: there is none.
uint64_t here(uint64_t time) { return time == 0 ? 0 : time + static_cast<uint64_t>(state.offset); }

// The rank as the launcher says it; -1: it is none of MPI.
int rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (std::string value = setting(name, ""); !value.empty()) return std::atoi(value.c_str());
  return -1;
}

std::string quoted(const char* text) {
  std::string result = "\"";
  for (; text != nullptr && *text != 0 && result.size() < 160; ++text) {
    if (*text == '"' || *text == '\\') result += '\\';
    result += static_cast<unsigned char>(*text) < ' ' ? ' ' : *text;
  }
  return result + '"';
}

constexpr const char* kCopies[] = {"?", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr const char* kMemories[] = {"?", "pageable", "pinned", "device", "array", "managed", "device", "managed"};

template <size_t count>
const char* name_of(const char* const (&names)[count], unsigned number) {
  return names[number < count ? number : 0];
}

// A driver's function by its number, "-" if its calls are not wanted.
const std::string& call(uint32_t number) {
  if (number >= state.calls.size()) state.calls.resize(number + 1);
  std::string& known = state.calls[number];
  if (!known.empty()) return known;
  const char* name = nullptr;
  CUPTI(cuptiGetCallbackName)(CUPTI_CB_DOMAIN_DRIVER_API, number, &name);
  known = name != nullptr ? name : "?";
  if (state.skip.find("," + known + ",") != std::string::npos) known = "-";
  return known;
}

// What all records of device work have; `id` is also that of the call that began it.
template <typename Record>
void write_work(const Record& work) {
  std::fprintf(state.file, ",\"stream\":%u,\"id\":%u,\"graph\":%u,\"begin\":%lu,\"end\":%lu}\n", work.streamId,
               work.correlationId, work.graphId, here(work.start), here(work.end));
}

template <typename Record>
void write_copy(const Record& copy) {
  std::fprintf(state.file, R"({"kind":"memcpy","copy":"%s","from":"%s","to":"%s","bytes":%lu)",
               name_of(kCopies, copy.copyKind), name_of(kMemories, copy.srcKind), name_of(kMemories, copy.dstKind),
               copy.bytes);
  write_work(copy);
}

void write_call(const CUpti_ActivityAPI& api) {
  std::fprintf(state.file, R"({"kind":"api","name":"%s","thread":%u,"id":%u,"result":%u,"begin":%lu,"end":%lu})",
               call(api.cbid).c_str(), api.threadId, api.correlationId, api.returnValue, here(api.start),
               here(api.end));
  std::fputc('\n', state.file);
}

#define AS(Record) reinterpret_cast<const Record&>(record)
// Only the begins of records are read, which are the same in the CUPTI of CUDA 12 and 13.
void write_record(const CUpti_Activity& record) {
  const auto kind = record.kind;
  if (kind == CUPTI_ACTIVITY_KIND_MEMCPY) write_copy(AS(CUpti_ActivityMemcpy6));
  if (kind == CUPTI_ACTIVITY_KIND_MEMCPY2) write_copy(AS(CUpti_ActivityMemcpyPtoP4));
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER) write_call(AS(CUpti_ActivityAPI));
  if (kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    std::fprintf(state.file, R"({"kind":"memset","bytes":%lu)", AS(CUpti_ActivityMemset4).bytes);
    write_work(AS(CUpti_ActivityMemset4));
  } else if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    std::fprintf(state.file, R"({"kind":"kernel","name":%s)", quoted(AS(CUpti_ActivityKernel10).name).c_str());
    write_work(AS(CUpti_ActivityKernel10));
  } else if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) {
    std::fputs(R"({"kind":"graph")", state.file);
    write_work(AS(CUpti_ActivityGraphTrace2));
  }
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* records) {
  constexpr size_t bytes = 2 << 20;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(64, bytes));
  *size = *buffer == nullptr ? 0 : bytes;
  *records = 0;  // as many as there is room for
}

void write_buffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t filled) {
  const auto next = CUPTI(cuptiActivityGetNextRecord);
  CUpti_Activity* next_record = nullptr;
  while (filled > 0 && next(buffer, filled, &next_record) == CUPTI_SUCCESS) {
    const CUpti_Activity& record = *next_record;
    if (record.kind == CUPTI_ACTIVITY_KIND_DRIVER && call(AS(CUpti_ActivityAPI).cbid) == "-") continue;
    const bool room = state.written < state.most;
    ++(room ? state.written : state.dropped);
    if (room) write_record(record);
  }
  size_t lost = 0;
  if (CUPTI(cuptiActivityGetNumDroppedRecords)(context, stream, &lost) == CUPTI_SUCCESS) state.lost += lost;
  std::fflush(state.file);
}

void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t, size_t filled) {
  {
    std::lock_guard lock(state.mutex);
    // A process that was forked has its parent's file.
    if (state.file != nullptr && state.pid == getpid()) write_buffer(context, stream, buffer, filled);
  }
  std::free(buffer);
}

// Has CUPTI give what is done so far. It may never return; the program ends all the same.
void flush() {
  static std::atomic<bool> done = false;
  std::thread([] {
    CUPTI(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    done = true;
  }).detach();
  for (int wait = 0; !done && wait < 10'000; ++wait) usleep(1000);
}

void finish() {
  if (state.file == nullptr || state.pid != getpid() || state.over.test_and_set()) return;
  if (state.cupti != nullptr) flush();
  std::lock_guard lock(state.mutex);
  std::fprintf(state.file, R"({"kind":"end","time":%lu,"records":%lu,"dropped":%lu,"lost":%lu})", now(), state.written,
               state.dropped, state.lost);
  std::fputc('\n', state.file);
  std::fclose(state.file);
  state.file = nullptr;
}

__attribute__((destructor)) void finish_unloaded() { finish(); }

void complain(const std::string& problem) {
  std::fprintf(stderr, "gpu_trace: %s\n", problem.c_str());
  if (state.file != nullptr)
    std::fprintf(state.file, "{\"kind\":\"problem\",\"text\":%s}\n", quoted(problem.c_str()).c_str());
}

void open_cupti() {
  const std::string named = setting("GPU_TRACE_CUPTI", "");
  if (!named.empty()) state.cupti = dlopen(named.c_str(), RTLD_NOW);
  for (const std::string folder : {"", "/usr/local/cuda/extras/CUPTI/lib64/"})
    for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"})
      if (state.cupti == nullptr) state.cupti = dlopen((folder + name).c_str(), RTLD_NOW);
}

// Before any kind is enabled, so that all records have the same clock.
void set_clock() {
  if (CUPTI(cuptiActivityRegisterTimestampCallback)(now) == CUPTI_SUCCESS) return;
  uint64_t theirs = 0;
  const uint64_t before = now();
  if (CUPTI(cuptiGetTimestamp)(&theirs) != CUPTI_SUCCESS) return complain("times of processes do not go together");
  state.offset = static_cast<int64_t>((before + now()) / 2 - theirs);
}

void enable(CUpti_ActivityKind kind) {
  const CUptiResult result = CUPTI(cuptiActivityEnable)(kind);
  if (result != CUPTI_SUCCESS) complain("kind " + std::to_string(kind) + " is refused with " + std::to_string(result));
}

void enable_all() {
  for (const auto kind : {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                          CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL})
    enable(kind);
  if (setting("GPU_TRACE_GRAPHS", "0") != "0") enable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (setting("GPU_TRACE_API", "1") != "0") enable(CUPTI_ACTIVITY_KIND_DRIVER);
  const int period = std::atoi(setting("GPU_TRACE_FLUSH_MS", "0").c_str());
  if (period > 0) CUPTI(cuptiActivityFlushPeriod)(static_cast<uint32_t>(period));
}

void start() {
  state.pid = getpid();
  state.most = static_cast<uint64_t>(std::atof(setting("GPU_TRACE_MILLIONS", "4").c_str()) * 1e6);
  state.skip = "," + setting("GPU_TRACE_SKIP", "") + ",";
  const std::string name = setting("GPU_TRACE_OUT", ".") + "/trace-" + std::to_string(state.pid) + ".jsonl";
  state.file = std::fopen(name.c_str(), "we");
  if (state.file == nullptr) return complain(name + " cannot be written");
  std::atexit(finish);
  open_cupti();
  uint32_t version = 0;
  if (state.cupti != nullptr) CUPTI(cuptiGetVersion)(&version), set_clock();
  std::fprintf(state.file, R"({"kind":"start","rank":%d,"pid":%d,"time":%lu,"offset":%ld,"cupti":%u})", rank(),
               state.pid, now(), state.offset, version);
  std::fputc('\n', state.file);
  if (state.cupti == nullptr) return complain("libcupti is not found; see GPU_TRACE_CUPTI");
  CUPTI(cuptiSetThreadIdType)(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  if (CUPTI(cuptiActivityRegisterCallbacks)(give_buffer, take_buffer) != CUPTI_SUCCESS)
    complain("no buffers for CUPTI");
  enable_all();
  std::fflush(state.file);
}

}  // namespace

// The driver calls it in cuInit. A program that cannot be traced runs all the same.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static std::once_flag once;
  std::call_once(once, start);
  return 1;
}
