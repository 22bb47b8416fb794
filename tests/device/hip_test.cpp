// The stand-in behind HIP's names: it starts by itself, and the rest is the same code.
#include <cstring>
#include <string>

#include "hip_calls.hpp"
#include "loaded.hpp"

namespace quadrille::standin {
namespace {

struct Hip : Controls {
  QUADRILLE_HIP_CALLS(QUADRILLE_MEMBER)
  Hip() : Controls(open_library(HIP_STANDIN)) {
    void* const library = open_library(HIP_STANDIN);
    QUADRILLE_HIP_CALLS(QUADRILLE_LOAD)
  }
};

Hip& hip() {
  static Hip loaded;
  return loaded;
}

class StandinHip : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(hip().set("STREAMS", "eager"));
    ASSERT_EQ(hip().hipSetDevice(0), success);
  }
  void TearDown() override {
    EXPECT_TRUE(hip().set("STREAMS", "eager"));
    EXPECT_EQ(hip().hipDeviceSynchronize(), success);
  }
  static unsigned char* allocate(std::size_t bytes) {
    void* made = nullptr;
    EXPECT_EQ(hip().hipMalloc(&made, bytes), success);
    return static_cast<unsigned char*>(made);
  }
  static unsigned char& at(const unsigned char* address) {
    return *static_cast<unsigned char*>(hip().host(reinterpret_cast<Address>(address), 1));
  }
};

class StandinHipDeathTest : public StandinHip {};

TEST_F(StandinHip, IsAnotherDriver) {
  unsigned char* const memory = allocate(100);
  unsigned type = 0;
  EXPECT_NE(cuda().cuPointerGetAttribute(&type, 2, reinterpret_cast<Address>(memory)), success);
  EXPECT_EQ(hip().hipPointerGetAttribute(&type, 2, memory), success);
  EXPECT_EQ(type, 2U);
  EXPECT_EQ(hip().hipFree(memory), success);
}

TEST_F(StandinHip, TellsHowMuchMemoryIsLeft) {
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(hip().hipMemGetInfo(&before, &total), success);
  unsigned char* const memory = allocate(1000);
  ASSERT_EQ(hip().hipMemGetInfo(&after, &total), success);
  EXPECT_EQ(before - after, 1000U);
  EXPECT_GE(total, before);
  void* more = nullptr;
  ASSERT_TRUE(hip().set("MEMORY", "2000"));
  EXPECT_EQ(hip().hipMalloc(&more, 1001), out_of_memory);
  ASSERT_TRUE(hip().set("MEMORY", std::to_string(total).c_str()));
  EXPECT_EQ(hip().hipFree(memory), success);
}

TEST_F(StandinHipDeathTest, AProcessorThatTouchesItDies) {
  unsigned char* const memory = allocate(100);
  EXPECT_DEATH(*static_cast<volatile unsigned char*>(memory) = 1, "");
  EXPECT_EQ(hip().hipFree(memory), success);
  EXPECT_EQ(hip().hipFree(memory), invalid_value);
}

TEST_F(StandinHip, CopiesInTheDirectionThatItIsTold) {
  unsigned char *const one = allocate(100), *const other = allocate(100);
  std::vector<unsigned char> host(100, 3);
  EXPECT_EQ(hip().hipMemcpy(one, host.data(), 100, hip_to_device), success);
  EXPECT_EQ(hip().hipMemcpy(other, one, 100, hip_on_device), success);
  host[99] = 0;
  EXPECT_EQ(hip().hipMemcpy(host.data(), other, 100, hip_default), success);
  EXPECT_EQ(host[99], 3);
  EXPECT_EQ(hip().hipMemcpy(one, host.data(), 100, hip_to_host), invalid_value);
  EXPECT_EQ(hip().hipMemcpy(host.data(), one, 100, hip_to_device), invalid_value);
  EXPECT_EQ(hip().hipMemcpy(host.data(), one, 100, 9), hip_invalid_direction);
}

TEST_F(StandinHip, MemoryOfAllDevicesCanBeCopied) {
  unsigned char* const first = allocate(100);
  int device = 7;
  ASSERT_EQ(hip().hipSetDevice(1), success);
  EXPECT_EQ(hip().hipGetDevice(&device), success);
  EXPECT_EQ(device, 1);
  unsigned char* const second = allocate(100);
  EXPECT_EQ(hip().hipMemset(second, 4, 100), success);
  EXPECT_EQ(hip().hipMemcpy(first, second, 100, hip_default), success);
  EXPECT_EQ(hip().hipDeviceSynchronize(), success);
  EXPECT_EQ(at(first), 4);
  unsigned char host = 0;
  EXPECT_EQ(hip().hipMemcpy(&host, first, 1, hip_to_host), success);
  EXPECT_EQ(host, 4);
  HipPointer of{};
  EXPECT_EQ(hip().hipPointerGetAttributes(&of, first + 10), success);
  EXPECT_EQ(of.device, 0);
  EXPECT_EQ(of.type, 2);
  EXPECT_EQ(of.on_device, first + 10);
  EXPECT_EQ(hip().hipPointerGetAttributes(&of, &of), success);
  EXPECT_EQ(of.type, 0);
  EXPECT_EQ(hip().hipFree(first), success);
}

TEST_F(StandinHip, StreamsRunLate) {
  unsigned char* const memory = allocate(100);
  Handle first = nullptr, second = nullptr, done = nullptr;
  ASSERT_EQ(hip().hipStreamCreateWithFlags(&first, 1), success);
  ASSERT_EQ(hip().hipStreamCreateWithFlags(&second, 1), success);
  ASSERT_EQ(hip().hipEventCreateWithFlags(&done, 2), success);
  ASSERT_EQ(hip().hipMemset(memory, 1, 100), success);
  ASSERT_EQ(hip().hipDeviceSynchronize(), success);
  for (const bool waits : {true, false}) {
    at(memory) = 1;
    ASSERT_TRUE(hip().set("STREAMS", "lazy"));
    ASSERT_EQ(hip().hipMemsetAsync(memory, 2, 100, first), success);
    ASSERT_EQ(hip().hipEventRecord(done, first), success);
    if (waits) {
      ASSERT_EQ(hip().hipStreamWaitEvent(second, done, 0), success);
    }
    ASSERT_EQ(hip().hipMemcpyDtoDAsync(memory + 50, memory, 1, second), success);
    EXPECT_EQ(at(memory), 1);
    ASSERT_EQ(hip().hipStreamSynchronize(second), success);
    EXPECT_EQ(at(memory + 50), waits ? 2 : 1);
    ASSERT_EQ(hip().hipDeviceSynchronize(), success);
  }
}

TEST_F(StandinHip, ValuesAndManagedMemory) {
  void *flag = nullptr, *managed = nullptr;
  ASSERT_EQ(hip().hipHostMalloc(&flag, 4, 0), success);
  ASSERT_EQ(hip().hipMallocManaged(&managed, 4, 1), success);
  std::memset(flag, 0, 4);
  unsigned type = 0;
  EXPECT_EQ(hip().hipPointerGetAttribute(&type, 2, managed), success);
  EXPECT_EQ(type, 1U);
  HipPointer of{};
  EXPECT_EQ(hip().hipPointerGetAttributes(&of, managed), success);
  EXPECT_EQ(of.type, 3);
  EXPECT_EQ(hip().hipStreamWriteValue32(nullptr, flag, 5, 0), success);
  EXPECT_EQ(hip().hipStreamWaitValue32(nullptr, flag, 5, 1, UINT32_MAX), success);
  EXPECT_EQ(hip().hipStreamWaitValue32(nullptr, flag, 5, 1, 1), not_supported);
  EXPECT_EQ(hip().hipStreamSynchronize(nullptr), success);
  EXPECT_EQ(*static_cast<unsigned*>(flag), 5U);
  EXPECT_EQ(hip().hipHostFree(flag), success);
  EXPECT_EQ(hip().hipFree(managed), success);
}

TEST_F(StandinHip, KeepsAnErrorUntilItIsRead) {
  unsigned type = 7;
  int device = 7;
  hip().hipGetLastError();
  EXPECT_EQ(hip().hipPointerGetAttribute(&type, 2, &type), invalid_value);
  EXPECT_EQ(hip().hipGetDevice(&device), success);
  EXPECT_EQ(hip().hipPeekAtLastError(), invalid_value);
  EXPECT_EQ(hip().hipGetLastError(), invalid_value);
  EXPECT_EQ(hip().hipGetLastError(), success);
  int attributes[] = {2, 9};
  void* results[] = {&type, &device};
  EXPECT_EQ(hip().hipDrvPointerGetAttributes(2, attributes, results, &type), success);
  EXPECT_EQ(type, 0U);
  EXPECT_EQ(device, -2);
  EXPECT_EQ(hip().hipGetLastError(), success);
}

TEST_F(StandinHip, SaysOfIpcWhatItsVersionDoes) {
  constexpr int is_ipc_capable = 10;
  unsigned char* const memory = allocate(100);
  int can = 7;
  EXPECT_EQ(hip().hipPointerGetAttribute(&can, is_ipc_capable, memory), not_supported);
  ASSERT_TRUE(hip().set("HIP_IPC_ATTRIBUTE", "1"));
  EXPECT_EQ(hip().hipPointerGetAttribute(&can, is_ipc_capable, memory), success);
  EXPECT_EQ(can, 1);
  ASSERT_TRUE(hip().set("HIP_IPC_ATTRIBUTE", "0"));
  EXPECT_EQ(hip().hipGetLastError(), not_supported);
  EXPECT_EQ(hip().hipFree(memory), success);
}

TEST_F(StandinHip, IsCountedAndFails) {
  const unsigned long before = hip().count("allocations", "quadrille_standin_tests");
  void* made = nullptr;
  ASSERT_TRUE(hip().set("FAIL", "hipMalloc:1:2"));
  EXPECT_EQ(hip().hipMalloc(&made, 100), out_of_memory);
  ASSERT_TRUE(hip().set("FAIL", ""));
  EXPECT_EQ(hip().hipMalloc(&made, 100), success);
  EXPECT_EQ(hip().count("allocations", "quadrille_standin_tests"), before + 2);
}

}  // namespace
}  // namespace quadrille::standin
