// Memory that is mapped by hand, in the stand-in.
#include "loaded.hpp"

namespace quadrille::standin {
namespace {

constexpr std::size_t piece = 65536;

class StandinMapped : public CudaTest {
 protected:
  void TearDown() override {
    for (std::size_t i = 0; i < mapped_; ++i) cuda().cuMemUnmap(base_ + i * piece, piece);
    if (base_ != 0) {
      EXPECT_EQ(cuda().cuMemAddressFree(base_, reserved_ * piece), success);
    }
    CudaTest::TearDown();
  }

  void reserve(std::size_t pieces) {
    ASSERT_EQ(cuda().cuMemAddressReserve(&base_, pieces * piece, 0, 0, 0), success);
    reserved_ = pieces;
  }
  static std::uint64_t make(std::size_t bytes = piece) {
    std::uint64_t handle = 0;
    EXPECT_EQ(cuda().cuMemCreate(&handle, bytes, &of_device, 0), success);
    return handle;
  }
  // Maps one more piece, which lives as long as it is mapped.
  void map() {
    const std::uint64_t handle = make();
    ASSERT_EQ(cuda().cuMemMap(base_ + mapped_ * piece, piece, 0, handle, 0), success);
    ASSERT_EQ(cuda().cuMemRelease(handle), success);
    ++mapped_;
  }
  void open() { ASSERT_EQ(cuda().cuMemSetAccess(base_, mapped_ * piece, &all, 1), success); }

  static constexpr MemoryProperties of_device{1, 0, {1, 0}, nullptr, 0, 0, 0, {}};
  static constexpr Access all{{1, 0}, 3};
  Address base_ = 0;
  std::size_t reserved_ = 0, mapped_ = 0;
};
using StandinMappedDeathTest = StandinMapped;

TEST_F(StandinMappedDeathTest, AProcessorThatTouchesItDies) {
  reserve(2);
  EXPECT_DEATH(touch(base_), "");
  map();
  open();
  EXPECT_DEATH(touch(base_), "");
}

TEST_F(StandinMapped, WhatLiesOnSeveralPiecesIsCopiedAsOne) {
  reserve(3);
  for (int i = 0; i < 3; ++i) map();
  open();
  std::vector<unsigned char> sent(2 * piece), received(2 * piece);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<unsigned char>(i * 7 + i / 251);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(base_ + 100, sent.data(), sent.size()), success);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(received.data(), base_ + 100, received.size()), success);
  EXPECT_EQ(received, sent);
  EXPECT_EQ(at(base_ + 100, piece), sent[piece]);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(base_ + piece, sent.data(), 2 * piece), success);
  EXPECT_EQ(cuda().cuMemcpyHtoD_v2(base_ + piece + 1, sent.data(), 2 * piece), invalid_value);
}

TEST_F(StandinMapped, NobodyHasAccessBeforeItIsGiven) {
  reserve(1);
  map();
  std::vector<unsigned char> host(10);
  EXPECT_EQ(cuda().host(base_, 1), nullptr);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(host.data(), base_, host.size()), illegal_address);
}

TEST_F(StandinMapped, ItHasADeviceButNoContextAndIsNotExported) {
  reserve(2);
  map();
  map();
  open();
  Handle context = this;
  unsigned type = 0;
  int ipc = 1, device = -1;
  Address start = 0;
  int attributes[] = {1, 2, 10, 9, 11};
  void* values[] = {&context, &type, &ipc, &device, &start};
  EXPECT_EQ(cuda().cuPointerGetAttributes(5, attributes, values, base_ + piece + 5), success);
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(type, 2U);
  EXPECT_EQ(ipc, 0);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(start, base_ + piece);
  IpcHandle handle;
  EXPECT_EQ(cuda().cuIpcGetMemHandle(&handle, base_), invalid_value);
}

TEST_F(StandinMapped, WhatIsUnmappedIsNowhere) {
  reserve(2);
  map();
  map();
  open();
  EXPECT_EQ(cuda().cuMemUnmap(base_, piece / 2), invalid_value);
  EXPECT_EQ(cuda().cuMemUnmap(base_ + piece, piece), success);
  std::vector<unsigned char> host(10);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(host.data(), base_ + piece, host.size()), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(host.data(), base_ + piece - 5, host.size()), invalid_value);
  EXPECT_EQ(cuda().cuMemcpyDtoH_v2(host.data(), base_, host.size()), success);
  EXPECT_EQ(cuda().cuMemAddressFree(base_, 2 * piece), invalid_value);  // there is still one
  EXPECT_EQ(cuda().cuMemUnmap(base_, piece), success);
  mapped_ = 0;
}

TEST_F(StandinMapped, MemoryStaysWhileItIsMappedOrHeld) {
  std::size_t before = 0, now = 0, total = 0;
  EXPECT_EQ(cuda().cuMemGetInfo_v2(&before, &total), success);
  reserve(1);
  map();
  open();
  fill(base_, 10, 77);
  EXPECT_EQ(cuda().cuMemGetInfo_v2(&now, &total), success);
  EXPECT_EQ(now, before - piece);
  std::uint64_t handle = 0;
  EXPECT_EQ(cuda().cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(base_ + 9)), success);
  MemoryProperties properties{};
  EXPECT_EQ(cuda().cuMemGetAllocationPropertiesFromHandle(&properties, handle), success);
  EXPECT_EQ(properties.location.id, 0);
  EXPECT_EQ(cuda().cuMemUnmap(base_, piece), success);
  EXPECT_EQ(cuda().cuMemMap(base_, piece, 0, handle, 0), success);
  open();
  EXPECT_EQ(at(base_, 9), 77);
  EXPECT_EQ(cuda().cuMemUnmap(base_, piece), success);
  mapped_ = 0;
  EXPECT_EQ(cuda().cuMemRelease(handle), success);
  EXPECT_EQ(cuda().cuMemRelease(handle), invalid_value);
  EXPECT_EQ(cuda().cuMemGetInfo_v2(&now, &total), success);
  EXPECT_EQ(now, before);
}

TEST_F(StandinMapped, WhatCudaRefusesIsRefused) {
  Address other = 0;
  std::uint64_t handle = 0;
  EXPECT_EQ(cuda().cuMemAddressReserve(&other, piece + 1, 0, 0, 0), invalid_value);
  EXPECT_EQ(cuda().cuMemCreate(&handle, 100, &of_device, 0), invalid_value);
  MemoryProperties nowhere = of_device;
  nowhere.location.id = 7;
  EXPECT_EQ(cuda().cuMemCreate(&handle, piece, &nowhere, 0), invalid_device);
  std::size_t granularity = 0;
  EXPECT_EQ(cuda().cuMemGetAllocationGranularity(&granularity, &of_device, 0), success);
  EXPECT_EQ(granularity, piece);
  reserve(2);
  map();
  handle = make();
  EXPECT_EQ(cuda().cuMemMap(base_, piece, 0, handle, 0), invalid_value);  // there is one
  EXPECT_EQ(cuda().cuMemMap(base_ + 2 * piece, piece, 0, handle, 0), invalid_value);
  EXPECT_EQ(cuda().cuMemMap(base_ + piece, piece / 2, 0, handle, 0), invalid_value);
  EXPECT_EQ(cuda().cuMemSetAccess(base_, 2 * piece, &all, 1), invalid_value);  // one of two is there
  EXPECT_EQ(cuda().cuMemFree_v2(base_), invalid_value);
  EXPECT_EQ(cuda().cuMemRelease(handle), success);
}

}  // namespace
}  // namespace quadrille::standin
