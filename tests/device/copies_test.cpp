// Which copies of the stand-in the host waits for, and what else they promise; kernels.
#include <cstring>

#include "loaded.hpp"

namespace quadrille::standin {
namespace {

class StandinCopies : public CudaTest {};
class StandinKernels : public CudaTest {};

Address at_host(const void* pointer) { return reinterpret_cast<Address>(pointer); }

// -- Copies: which the host waits for

TEST_F(StandinCopies, BetweenDevicesDoNotWait) {
  use("lazy");
  const Address from = allocate(100), to = allocate(100);
  fill(from, 100, 3);
  fill(to, 100, 4);
  ASSERT_EQ(cuda().cuMemcpyDtoD_v2(to, from, 100), success);
  EXPECT_EQ(at(to, 99), 4);
  ASSERT_EQ(cuda().cuMemcpy(to, from, 100), success);
  EXPECT_EQ(at(to, 99), 4);
  EXPECT_EQ(cuda().cuStreamSynchronize(nullptr), success);
  EXPECT_EQ(at(to, 99), 3);
}

TEST_F(StandinCopies, BetweenDevicesWaitWhereAPointerSaysSo) {
  use("lazy");
  const Address from = allocate(100), to = allocate(100);
  const unsigned on = 1;
  unsigned is = 0;
  ASSERT_EQ(cuda().cuPointerSetAttribute(&on, 6, to), success);
  ASSERT_EQ(cuda().cuPointerGetAttribute(&is, 6, to), success);
  EXPECT_EQ(is, 1U);
  fill(from, 100, 3);
  fill(to, 100, 4);
  ASSERT_EQ(cuda().cuMemcpyDtoD_v2(to, from, 100), success);
  EXPECT_EQ(at(to, 99), 3);
}

TEST_F(StandinCopies, ToTheHostWait) {
  use("lazy");
  const Address from = allocate(100), between = allocate(100);
  fill(from, 100, 3);
  fill(between, 100, 4);
  std::vector<unsigned char> host(100);
  ASSERT_EQ(cuda().cuMemcpyDtoD_v2(between, from, 100), success);
  ASSERT_EQ(cuda().cuMemcpyDtoH_v2(host.data(), between, 100), success);
  EXPECT_EQ(host[99], 3);
  // Also where the call says that it does not, if the memory is not pinned.
  std::fill(host.begin(), host.end(), static_cast<unsigned char>(0));
  const Handle own = stream();
  ASSERT_EQ(cuda().cuMemcpyDtoHAsync_v2(host.data(), between, 100, own), success);
  EXPECT_EQ(host[99], 3);
  unsigned char* const pinned = pin(100);
  pinned[99] = 9;
  ASSERT_EQ(cuda().cuMemcpyDtoHAsync_v2(pinned, between, 100, own), success);
  EXPECT_EQ(pinned[99], 9);
  EXPECT_EQ(cuda().cuStreamSynchronize(own), success);
  EXPECT_EQ(pinned[99], 3);
}

TEST_F(StandinCopies, FromTheHostTakeTheBytesButMayArriveLater) {
  use("lazy");
  const Address to = allocate(100);
  fill(to, 100, 4);
  std::vector<unsigned char> host(100, 3);
  ASSERT_EQ(cuda().cuMemcpyHtoD_v2(to, host.data(), 100), success);
  std::fill(host.begin(), host.end(), static_cast<unsigned char>(5));
  EXPECT_EQ(at(to, 99), 4);
  EXPECT_EQ(cuda().cuStreamSynchronize(nullptr), success);
  EXPECT_EQ(at(to, 99), 3);
  // Pinned memory is read when the copy runs, unless the call waits.
  unsigned char* const pinned = pin(100);
  std::memset(pinned, 6, 100);
  const Handle own = stream();
  ASSERT_EQ(cuda().cuMemcpyHtoDAsync_v2(to, pinned, 100, own), success);
  std::memset(pinned, 7, 100);
  EXPECT_EQ(cuda().cuStreamSynchronize(own), success);
  EXPECT_EQ(at(to, 99), 7);
  std::memset(pinned, 8, 100);
  ASSERT_EQ(cuda().cuMemcpyHtoD_v2(to, pinned, 100), success);
  EXPECT_EQ(at(to, 99), 8);
}

TEST_F(StandinCopies, HaveTheirDirection) {
  const Address device = allocate(100), other = allocate(100);
  std::vector<unsigned char> host(100);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(at_host(host.data()), host.data(), 100), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(device, reinterpret_cast<void*>(other), 100), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(reinterpret_cast<void*>(device), other, 100), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(host.data(), at_host(host.data()), 100), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyDtoD_v2(device, at_host(host.data()), 100), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyHtoDAsync_v2(at_host(host.data()), host.data(), 100, nullptr), invalid_value);
}

TEST_F(StandinCopies, InBatches) {
  const Address device = allocate(100);
  fill(device, 100, 9);
  unsigned char* const pinned = pin(100);
  for (int i = 0; i < 100; ++i) pinned[i] = static_cast<unsigned char>(i);
  Address to[] = {device, device + 50}, from[] = {at_host(pinned + 10), at_host(pinned)};
  std::size_t bytes[] = {10, 20}, begins[] = {0, 1}, failed = 5;
  CopyAttributes attributes[2] = {};
  attributes[0].from_order = attributes[1].from_order = 1;
  const Handle own = stream();
  for (const char* mode : {"eager", "lazy", "random:1", "random:2"}) {
    use(mode);
    fill(device, 100, 9);
    EXPECT_EQ(cuda().cuMemcpyBatchAsync(to, from, bytes, 2, attributes, begins, 2, &failed, own), success);
    EXPECT_EQ(failed, SIZE_MAX);
    EXPECT_EQ(cuda().cuMemcpyBatchAsync_v2(to, from, bytes, 2, attributes, begins, 1, own), success);
    EXPECT_EQ(cuda().cuStreamSynchronize(own), success);
    EXPECT_EQ(at(device, 9), 19);
    EXPECT_EQ(at(device, 10), 9);
    EXPECT_EQ(at(device, 69), 19);
    EXPECT_EQ(at(device, 70), 9);
  }
  EXPECT_EQ(cuda().cuMemcpyBatchAsync(to, from, bytes, 2, attributes, begins, 2, &failed, nullptr), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyBatchAsync_v2(to, from, bytes, 2, attributes, begins, 2, legacy_stream), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyBatchAsync_v2(to, from, bytes, 2, attributes, begins, 2, per_thread_stream), success);
  bytes[1] = 51;
  EXPECT_EQ(cuda().cuMemcpyBatchAsync(to, from, bytes, 2, attributes, begins, 2, &failed, own), invalid_value);
  EXPECT_EQ(failed, 1U);
}

TEST_F(StandinCopies, InTwoDimensions) {
  const Address device = allocate(100);
  fill(device, 100, 9);
  std::vector<unsigned char> host(12);
  for (std::size_t i = 0; i < 12; ++i) host[i] = static_cast<unsigned char>(i);
  Copy2D copy{};
  copy.from_type = 1;
  copy.from_host = host.data();
  copy.from_pitch = 4;
  copy.to_type = 2;
  copy.to_device = device;
  copy.to_pitch = 10;
  copy.to_x = 2;
  copy.to_y = 1;
  copy.width = 3;
  copy.height = 3;
  EXPECT_EQ(cuda().cuMemcpy2DAsync_v2(&copy, nullptr), success);
  EXPECT_EQ(at(device, 11), 9);
  EXPECT_EQ(at(device, 12), 0);
  EXPECT_EQ(at(device, 34), 10);
  EXPECT_EQ(at(device, 35), 9);
  copy.height = 10;
  EXPECT_EQ(cuda().cuMemcpy2DAsync_v2(&copy, nullptr), invalid_value);
  // Each side is what its type says.
  copy.height = 3;
  copy.from_type = 2;
  copy.from_device = at_host(host.data());
  EXPECT_EQ(cuda().cuMemcpy2DAsync_v2(&copy, nullptr), invalid_value);
  copy.from_type = 4;
  EXPECT_EQ(cuda().cuMemcpy2DAsync_v2(&copy, nullptr), success);
  copy.to_type = 1;
  copy.to_host = reinterpret_cast<void*>(device);
  EXPECT_EQ(cuda().cuMemcpy2DAsync_v2(&copy, nullptr), invalid_value);
}

TEST_F(StandinCopies, OfOneValue) {
  use("lazy");
  const Address device = allocate(100);
  fill(device, 100, 9);
  ASSERT_EQ(cuda().cuMemsetD8_v2(device, 1, 50), success);
  EXPECT_EQ(at(device), 9);
  ASSERT_EQ(cuda().cuMemsetD32Async(device + 4, 0x02020202, 1, nullptr), success);
  EXPECT_EQ(cuda().cuCtxSynchronize(), success);
  EXPECT_EQ(at(device, 3), 1);
  EXPECT_EQ(at(device, 7), 2);
  EXPECT_EQ(at(device, 8), 1);
  EXPECT_EQ(at(device, 50), 9);
}

// -- Kernels

const char* const module_text = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry add_one(
  .param .u64 add_one_param_0,
  .param .u32 add_one_param_1,
  .param .align 8 .b8 add_one_param_2[16]
)
.maxntid 128, 1, 1
{ ret; }
.visible .entry nothing()
{ ret; }
.visible .entry without_twin(.param .u64 p) { bar.sync 0; ret; }
)";

struct Pair {
  std::uint64_t first, second;
};

void add_one(const Launch* launch, void** parameters) {
  Address address = 0;
  unsigned count = 0;
  Pair pair{};
  std::memcpy(&address, parameters[0], sizeof address);
  std::memcpy(&count, parameters[1], sizeof count);
  std::memcpy(&pair, parameters[2], sizeof pair);
  auto* const bytes = static_cast<unsigned char*>(cuda().host(address, count));
  for (unsigned i = 0; i < count; ++i) {
    bytes[i] = static_cast<unsigned char>(bytes[i] + launch->grid[0] * launch->block[1] + pair.second);
  }
}

TEST_F(StandinKernels, AreTheirTwins) {
  cuda().kernel("add_one", add_one);
  cuda().kernel("nothing", [](const Launch*, void**) {});
  Handle module = nullptr, function = nullptr;
  EXPECT_EQ(cuda().cuModuleLoadData(&module, "this is no module"), invalid_image);
  ASSERT_EQ(cuda().cuModuleLoadData(&module, module_text), success);
  EXPECT_EQ(cuda().cuModuleGetFunction(&function, module, "another"), not_found);
  EXPECT_EQ(cuda().cuModuleGetFunction(&function, module, "without_twin"), not_found);
  EXPECT_EQ(cuda().cuModuleGetFunction(&function, module, "nothing"), success);
  ASSERT_EQ(cuda().cuModuleGetFunction(&function, module, "add_one"), success);
  use("lazy");
  Address device = allocate(10);
  fill(device, 10, 1);
  const Address memory = device;
  unsigned count = 5;
  Pair pair{0, 100};
  void* parameters[] = {&device, &count, &pair};
  ASSERT_EQ(cuda().cuLaunchKernel(function, 3, 1, 1, 1, 4, 1, 0, nullptr, parameters, nullptr), success);
  device = count = 0;  // they were read
  pair = {};
  EXPECT_EQ(at(memory), 1);
  ASSERT_EQ(cuda().cuStreamSynchronize(nullptr), success);
  EXPECT_EQ(at(memory, 4), 113);
  EXPECT_EQ(at(memory, 5), 1);
  EXPECT_EQ(cuda().cuLaunchKernel(function, 0, 1, 1, 1, 4, 1, 0, nullptr, parameters, nullptr), invalid_value);
  EXPECT_EQ(cuda().cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, nullptr, parameters, nullptr), invalid_value);
  // A stream of another context.
  const Handle own = stream();
  Handle other = nullptr;
  ASSERT_EQ(cuda().cuCtxCreate_v2(&other, 0, 0), success);
  EXPECT_EQ(cuda().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, own, parameters, nullptr), invalid_handle);
  EXPECT_EQ(cuda().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), invalid_handle)
      << "it is of another context itself";
  EXPECT_EQ(cuda().cuCtxDestroy_v2(other), success);
  EXPECT_EQ(cuda().cuModuleUnload(module), success);
  EXPECT_EQ(cuda().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, own, parameters, nullptr), invalid_handle);
}

}  // namespace
}  // namespace quadrille::standin
