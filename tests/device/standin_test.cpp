// The stand-in itself: memory, pointers, contexts, counters and failures. Tests of what uses it are worth as much as
// this.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "loaded.hpp"

namespace quadrille::standin {
namespace {

class StandinMemoryDeathTest : public CudaTest {};
class StandinMemory : public CudaTest {};
class StandinPointers : public CudaTest {};
class StandinContexts : public CudaTest {};
class StandinCounters : public CudaTest {};
class StandinFailures : public CudaTest {};

// -- Memory

TEST_F(StandinMemoryDeathTest, AProcessorThatTouchesItDies) {
  const Address memory = allocate(10000);
  for (const std::size_t offset : {0, 5000, 9999}) {
    EXPECT_DEATH(touch(memory + offset), "");
    EXPECT_DEATH(*reinterpret_cast<volatile unsigned char*>(memory + offset) = 1, "");
  }
  Address pool = 0;
  ASSERT_EQ(cuda().cuMemAllocAsync(&pool, 100, nullptr), success);
  EXPECT_DEATH(touch(pool), "");
  // Nor is it there once it is freed, nor beyond its end.
  EXPECT_DEATH(touch(memory + 10000), "");
  ASSERT_EQ(cuda().cuMemFree_v2(memory), success);
  EXPECT_DEATH(touch(memory), "");
}

TEST_F(StandinMemory, TheDriverCopiesIt) {
  const Address memory = allocate(1000);
  std::vector<unsigned char> sent(1000), received(1000);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<unsigned char>(i * 7);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(memory, sent.data(), sent.size()), success);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(received.data(), memory, received.size()), success);
  EXPECT_EQ(received, sent);
}

TEST_F(StandinMemory, ACopyEndsWithTheAllocation) {
  const Address memory = allocate(100);
  std::vector<unsigned char> host(200);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(memory, host.data(), 101), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(memory + 50, host.data(), 51), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(memory - 1, host.data(), 1), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(memory + 50, host.data(), 50), success);
}

TEST_F(StandinMemory, AFreedAddressComesBackAsOtherMemory) {
  const Address first = allocate(5000);
  allocate(5000);
  unsigned long long before = 0, after = 0;
  ASSERT_EQ(cuda().cuPointerGetAttribute(&before, 7, first), success);
  ASSERT_EQ(cuda().cuMemFree_v2(first), success);
  EXPECT_EQ(cuda().cuPointerGetAttribute(&after, 7, first), invalid_value);
  EXPECT_EQ(cuda().cuMemFree_v2(first), invalid_value);
  const Address second = allocate(5000);
  EXPECT_EQ(second, first);
  ASSERT_EQ(cuda().cuPointerGetAttribute(&after, 7, second), success);
  EXPECT_NE(after, before);
}

TEST_F(StandinMemory, FreshMemoryIsNotZero) { EXPECT_NE(at(allocate(10)), 0); }

TEST_F(StandinMemory, TheHostsIsTheHosts) {
  unsigned char* const pinned = pin(5000);
  pinned[4999] = 1;
  Address managed = 0;
  ASSERT_EQ(cuda().cuMemAllocManaged(&managed, 5000, 1), success);
  reinterpret_cast<unsigned char*>(managed)[4999] = 2;
  const Address memory = allocate(2);
  EXPECT_EQ(cuda().cuMemcpy(memory, reinterpret_cast<Address>(pinned + 4999), 1), success);
  EXPECT_EQ(cuda().cuMemcpy(memory + 1, managed + 4999, 1), success);
  EXPECT_EQ(at(memory), 1);
  EXPECT_EQ(at(memory, 1), 2);
  EXPECT_EQ(cuda().cuMemFree_v2(reinterpret_cast<Address>(pinned)), invalid_value);
  EXPECT_EQ(cuda().cuMemFreeHost(pinned), success);
  EXPECT_EQ(cuda().cuMemFreeHost(pinned), invalid_value);
  EXPECT_EQ(cuda().cuMemFree_v2(managed), success);
}

TEST_F(StandinMemory, IsRegisteredOnce) {
  std::vector<unsigned char> host(10000);
  Address device = 0;
  EXPECT_EQ(cuda().cuMemHostGetDevicePointer_v2(&device, host.data(), 0), invalid_value);
  EXPECT_EQ(cuda().cuMemHostRegister_v2(host.data() + 1000, 5000, 0), success);
  EXPECT_EQ(cuda().cuMemHostRegister_v2(host.data(), 1001, 0), already_registered);
  EXPECT_EQ(cuda().cuMemHostRegister_v2(host.data() + 5999, 10, 0), already_registered);
  EXPECT_EQ(cuda().cuMemHostRegister_v2(host.data() + 6000, 10, 0), success);
  EXPECT_EQ(cuda().cuMemHostGetDevicePointer_v2(&device, host.data() + 2000, 0), success);
  EXPECT_EQ(device, reinterpret_cast<Address>(host.data() + 2000));
  EXPECT_EQ(cuda().cuMemHostUnregister(host.data()), not_registered);
  EXPECT_EQ(cuda().cuMemHostUnregister(host.data() + 1000), success);
  EXPECT_EQ(cuda().cuMemHostUnregister(host.data() + 1000), not_registered);
  EXPECT_EQ(cuda().cuMemHostUnregister(host.data() + 6000), success);
}

TEST_F(StandinMemory, KnowsItsRanges) {
  const Address memory = allocate(5000);
  Address base = 0;
  std::size_t bytes = 0;
  EXPECT_EQ(cuda().cuMemGetAddressRange_v2(&base, &bytes, memory + 4999), success);
  EXPECT_EQ(base, memory);
  EXPECT_EQ(bytes, 5000U);
  EXPECT_EQ(cuda().cuMemGetAddressRange_v2(&base, &bytes, memory + 5000), not_found);
}

// -- Pointers

struct Answers {
  Handle context = nullptr, pool = nullptr;
  unsigned type = 77;
  Address device = 0, start = 0;
  void* host = nullptr;
  unsigned long long id = 0;
  std::size_t bytes = 0;
  unsigned managed = 0x77777777, ipc = 0x77777777;  // of which all bytes are written
  int ordinal = 77;
  unsigned sync = 0x77777777;
  int error = 0;
};

Answers ask(Address address) {
  Answers of;
  int attributes[] = {1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 17};
  void* data[] = {&of.context, &of.type,    &of.device, &of.host,  &of.sync,  &of.id,
                  &of.managed, &of.ordinal, &of.ipc,    &of.start, &of.bytes, &of.pool};
  of.error = cuda().cuPointerGetAttributes(12, attributes, data, address);
  return of;
}

TEST_F(StandinPointers, OfADevice) {
  const Address memory = allocate(5000);
  const Answers of = ask(memory + 100);
  EXPECT_EQ(of.error, success);
  EXPECT_EQ(of.context, context_);
  EXPECT_EQ(of.type, 2U);
  EXPECT_EQ(of.device, memory + 100);
  EXPECT_EQ(of.host, nullptr);
  EXPECT_NE(of.id, 0U);
  EXPECT_EQ(of.managed, 0U);
  EXPECT_EQ(of.ordinal, 0);
  EXPECT_EQ(of.ipc, 1U);
  EXPECT_EQ(of.start, memory);
  EXPECT_EQ(of.bytes, 5000U);
  EXPECT_EQ(of.pool, nullptr);
  EXPECT_EQ(of.sync, 0U);
  void* host = nullptr;
  EXPECT_EQ(cuda().cuPointerGetAttribute(&host, 4, memory), invalid_value);
  Handle context = nullptr;
  EXPECT_EQ(cuda().cuPointerGetAttribute(&context, 1, memory), success);
  EXPECT_EQ(context, context_);
}

TEST_F(StandinPointers, OfAPoolHasNoContextAndIsNotExported) {
  Address memory = 0;
  ASSERT_EQ(cuda().cuMemAllocAsync(&memory, 100, nullptr), success);
  const Answers of = ask(memory);
  EXPECT_EQ(of.context, nullptr);
  EXPECT_EQ(of.type, 2U);
  EXPECT_EQ(of.ipc, 0U);
  EXPECT_NE(of.pool, nullptr);
  IpcHandle handle;
  EXPECT_EQ(cuda().cuIpcGetMemHandle(&handle, memory), invalid_value);
  EXPECT_EQ(cuda().cuMemFree_v2(memory), success);
}

TEST_F(StandinPointers, OfTheHost) {
  unsigned char* const pinned = pin(100);
  const Answers of = ask(reinterpret_cast<Address>(pinned) + 5);
  EXPECT_EQ(of.context, context_);
  EXPECT_EQ(of.type, 1U);
  EXPECT_EQ(of.host, pinned + 5);
  EXPECT_EQ(of.ipc, 0U);
  EXPECT_EQ(of.managed, 0U);
  Address managed = 0;
  ASSERT_EQ(cuda().cuMemAllocManaged(&managed, 100, 1), success);
  EXPECT_EQ(ask(managed).managed, 1U);
  EXPECT_EQ(ask(managed).type, 2U);
  EXPECT_EQ(ask(managed).ipc, 0U);
}

TEST_F(StandinPointers, ThatAreNotKnown) {
  int own = 0;
  unsigned type = 5;
  EXPECT_EQ(cuda().cuPointerGetAttribute(&type, 2, reinterpret_cast<Address>(&own)), invalid_value);
  const Answers of = ask(reinterpret_cast<Address>(&own));
  EXPECT_EQ(of.error, success);
  EXPECT_EQ(of.type, 0U);
  EXPECT_EQ(of.context, nullptr);
  EXPECT_EQ(of.id, 0U);
  EXPECT_EQ(of.ordinal, -2);
}

TEST_F(StandinPointers, NoMemoryIsExportedWhereTheMachineCannot) {
  const Address memory = allocate(100);
  ASSERT_TRUE(cuda().set("NO_IPC", "1"));
  IpcHandle handle;
  EXPECT_EQ(cuda().cuIpcGetMemHandle(&handle, memory), not_supported);
  EXPECT_EQ(ask(memory).ipc, 0U);
  ASSERT_TRUE(cuda().set("NO_IPC", "0"));
  EXPECT_EQ(cuda().cuIpcGetMemHandle(&handle, memory), success);
}

// -- Contexts

TEST_F(StandinContexts, NothingGoesWithoutOne) {
  const Address memory = allocate(100);
  Handle popped = nullptr, current = &popped;
  ASSERT_EQ(cuda().cuCtxPopCurrent_v2(&popped), success);
  EXPECT_EQ(popped, context_);
  EXPECT_EQ(cuda().cuCtxGetCurrent(&current), success);
  EXPECT_EQ(current, nullptr);
  Address made = 0;
  int host = 0, device = 0;
  EXPECT_EQ(cuda().cuMemAlloc_v2(&made, 100), invalid_context);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&host, memory, 4), invalid_context);
  EXPECT_EQ(cuda().cuStreamCreate(&popped, 0), invalid_context);
  EXPECT_EQ(cuda().cuCtxGetDevice(&device), invalid_context);
  EXPECT_EQ(cuda().cuCtxSynchronize(), invalid_context);
  EXPECT_EQ(cuda().cuCtxPopCurrent_v2(nullptr), invalid_context);
  // What a pointer is can be asked all the same.
  EXPECT_EQ(ask(memory).type, 2U);
  ASSERT_EQ(cuda().cuCtxPushCurrent_v2(context_), success);
}

TEST_F(StandinContexts, AThreadHasItsOwn) {
  Handle current = context_;
  int error = 0;
  std::thread([&] {
    cuda().cuCtxGetCurrent(&current);
    Address made = 0;
    error = cuda().cuMemAlloc_v2(&made, 100);
  }).join();
  EXPECT_EQ(current, nullptr);
  EXPECT_EQ(error, invalid_context);
}

TEST_F(StandinContexts, MemoryIsOfOne) {
  const Address memory = allocate(100);
  Address pool = 0;
  ASSERT_EQ(cuda().cuMemAllocAsync(&pool, 100, nullptr), success);
  Handle other = nullptr;
  ASSERT_EQ(cuda().cuCtxCreate_v2(&other, 0, 0), success);
  int host = 0;
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&host, memory, 4), invalid_context);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(memory, &host, 4), invalid_context);
  EXPECT_EQ(cuda().cuMemsetD8_v2(memory, 1, 4), invalid_context);
  EXPECT_EQ(cuda().cuMemFree_v2(memory), invalid_context);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&host, pool, 4), success);
  const Address own = allocate(100);
  EXPECT_EQ(cuda().cuMemcpyDtoD_v2(own, memory, 100), success);
  EXPECT_EQ(cuda().cuCtxDestroy_v2(other), success);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&host, memory, 4), success);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&host, own, 4), invalid_value) << "it went with its context";
}

TEST_F(StandinContexts, StackAsCudaDoes) {
  Handle other = nullptr, current = nullptr;
  ASSERT_EQ(cuda().cuCtxCreate_v2(&other, 0, 1), success);
  int device = 0;
  EXPECT_EQ(cuda().cuCtxGetDevice(&device), success);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cuda().cuCtxPushCurrent_v2(context_), success);
  EXPECT_EQ(cuda().cuCtxGetDevice(&device), success);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuda().cuCtxSetCurrent(other), success);  // instead of the last one
  EXPECT_EQ(cuda().cuCtxPopCurrent_v2(&current), success);
  EXPECT_EQ(current, other);
  EXPECT_EQ(cuda().cuCtxGetCurrent(&current), success);
  EXPECT_EQ(current, other);
  EXPECT_EQ(cuda().cuCtxDestroy_v2(other), success);
  EXPECT_EQ(cuda().cuCtxPushCurrent_v2(other), invalid_context);
  EXPECT_EQ(cuda().cuCtxSetCurrent(other), invalid_context);
  EXPECT_EQ(cuda().cuCtxGetCurrent(&current), success);
  EXPECT_EQ(current, context_);
}

TEST_F(StandinContexts, ADestroyedOneIsOfNoUse) {
  Handle other = nullptr;
  ASSERT_EQ(cuda().cuCtxCreate_v2(&other, 0, 0), success);
  std::thread([&] {
    EXPECT_EQ(cuda().cuCtxPushCurrent_v2(other), success);
    EXPECT_EQ(cuda().cuCtxDestroy_v2(other), success);
  }).join();
  Address made = 0;
  EXPECT_EQ(cuda().cuMemAlloc_v2(&made, 100), context_is_destroyed);
  EXPECT_EQ(cuda().cuCtxPopCurrent_v2(nullptr), success);
}

TEST_F(StandinContexts, ThePrimaryOneIsThereWhileItIsHeld) {
  Handle first = nullptr, second = nullptr;
  int active = 1;
  EXPECT_EQ(cuda().cuDevicePrimaryCtxGetState(1, nullptr, &active), success);
  EXPECT_EQ(active, 0);
  EXPECT_EQ(cuda().cuDevicePrimaryCtxRelease_v2(1), invalid_context);
  ASSERT_EQ(cuda().cuDevicePrimaryCtxRetain(&first, 1), success);
  ASSERT_EQ(cuda().cuDevicePrimaryCtxRetain(&second, 1), success);
  EXPECT_EQ(first, second);
  EXPECT_EQ(cuda().cuCtxDestroy_v2(first), invalid_context);
  ASSERT_EQ(cuda().cuCtxPushCurrent_v2(first), success);
  const Address memory = allocate(100);
  ASSERT_EQ(cuda().cuCtxPopCurrent_v2(nullptr), success);
  EXPECT_EQ(cuda().cuDevicePrimaryCtxRelease_v2(1), success);
  EXPECT_EQ(ask(memory).context, first);
  EXPECT_EQ(ask(memory).ordinal, 1);
  EXPECT_EQ(cuda().cuDevicePrimaryCtxRelease_v2(1), success);
  EXPECT_EQ(ask(memory).type, 0U);
  // Another one gets its handle.
  ASSERT_EQ(cuda().cuDevicePrimaryCtxRetain(&second, 1), success);
  EXPECT_EQ(first, second);
  EXPECT_EQ(ask(memory).type, 0U);
  ASSERT_EQ(cuda().cuCtxPushCurrent_v2(second), success);
  EXPECT_EQ(cuda().cuMemFree_v2(memory), invalid_value);
  EXPECT_EQ(cuda().cuMemFree_v2(allocate(100)), success);
  ASSERT_EQ(cuda().cuCtxPopCurrent_v2(nullptr), success);
  EXPECT_EQ(cuda().cuDevicePrimaryCtxRelease_v2(1), success);
}

TEST_F(StandinContexts, DevicesHaveNames) {
  int count = 0;
  EXPECT_EQ(cuda().cuDeviceGetCount(&count), success);
  EXPECT_EQ(count, 2);
  Uuid first, second;
  EXPECT_EQ(cuda().cuDeviceGetUuid_v2(&first, 0), success);
  EXPECT_EQ(cuda().cuDeviceGetUuid_v2(&second, 1), success);
  EXPECT_NE(std::string(std::begin(first.bytes), std::end(first.bytes)),
            std::string(std::begin(second.bytes), std::end(second.bytes)));
  EXPECT_EQ(cuda().cuDeviceGetUuid_v2(&second, 2), invalid_device);
  int device = 0;
  EXPECT_EQ(cuda().cuDeviceGet(&device, 2), invalid_device);
}

TEST_F(StandinContexts, AChildHasNoDriver) {
  const pid_t child = fork();
  if (child == 0) {
    Address made = 0;
    _exit(cuda().cuMemAlloc_v2(&made, 100) == not_initialized && cuda().cuInit(0) == not_initialized ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// -- Counters and failures

TEST_F(StandinCounters, TellWhoCalled) {
  const unsigned long ours = cuda().count("cuMemAlloc_v2", "quadrille_standin_tests");
  const unsigned long all = cuda().count("allocations", nullptr), copies = cuda().count("copies", nullptr);
  const unsigned long others = cuda().count("calls", "another library");
  const Address memory = allocate(100);
  pin(100);
  int host = 0;
  cuda().cuMemcpyDtoH_v2(&host, memory, 4);
  EXPECT_EQ(cuda().count("cuMemAlloc_v2", "quadrille_standin_tests"), ours + 1);
  EXPECT_EQ(cuda().count("allocations", nullptr), all + 2);
  EXPECT_EQ(cuda().count("copies", nullptr), copies + 1);
  EXPECT_EQ(cuda().count("calls", "another library"), others);
  EXPECT_EQ(others, 0U);
}

TEST_F(StandinFailures, ComeWhenTheyAreAskedFor) {
  ASSERT_TRUE(cuda().set("FAIL", "cuMemAlloc_v2:2,cuMemcpyDtoH_v2:2+:719"));
  Address made = 0;
  int host = 0;
  EXPECT_EQ(cuda().cuMemAlloc_v2(&made, 100), success);
  const Address memory = made;
  EXPECT_EQ(cuda().cuMemAlloc_v2(&made, 100), out_of_memory);
  EXPECT_EQ(made, memory);
  EXPECT_EQ(cuda().cuMemAlloc_v2(&made, 100), success);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&host, memory, 4), success);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&host, memory, 4), 719);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&host, memory, 4), 719);
  ASSERT_TRUE(cuda().set("FAIL", ""));
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(&host, memory, 4), success);
  for (const char* nothing : {"x", "x:", "x:0", ":1", "x:1:0", "x:1:2:3", "x:-1"}) {
    EXPECT_FALSE(cuda().set("FAIL", nothing)) << nothing;
  }
}

// An error of what a stream does is seen by whoever waits for it, and then by all.
TEST_F(StandinFailures, OfAStreamStay) {
  const Address memory = allocate(100);
  unsigned char* const host = pin(100);
  const Handle own = stream();
  use("lazy");
  ASSERT_TRUE(cuda().set("FAIL", "operation:1:719"));
  EXPECT_EQ(cuda().cuMemcpyAsync(memory, reinterpret_cast<Address>(host), 100, own), success);
  EXPECT_EQ(cuda().cuStreamSynchronize(own), 719);
  EXPECT_EQ(cuda().cuMemcpyAsync(memory, reinterpret_cast<Address>(host), 100, own), 719);
  Address made = 0;
  EXPECT_EQ(cuda().cuMemAlloc_v2(&made, 100), 719);
}

}  // namespace
}  // namespace quadrille::standin
