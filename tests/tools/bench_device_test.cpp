// The benchmark's data in the memory of a GPU, by the stand-in of CUDA's driver (tests/device): the oracle looks at
// what is there.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "../device/standin.hpp"
#include "tool/bench/data.hpp"
#include "tool/bench/device/gpu.hpp"

namespace quadrille::tools {
namespace {

constexpr std::uint64_t drawn = 3, numbered = 5, salted = 11;

// What the driver has at an address of the device, which the processor may not touch.
class Standin : public testing::Test {
 protected:
  void SetUp() override {
    // As a driver that the loader finds.
    void* const library = dlopen(CUDA_STANDIN, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    host_ = reinterpret_cast<quadrille_standin_host_t*>(dlsym(library, "quadrille_standin_host"));
    ASSERT_NE(host_, nullptr);
    std::string problem;
    gpu_ = Gpu::open(DeviceKind::cuda, problem);
    ASSERT_NE(gpu_, nullptr) << problem;
    gpu_->use(0);
  }
  std::byte& at(std::byte* address) const {
    return *static_cast<std::byte*>(host_(reinterpret_cast<std::uintptr_t>(address), 1));
  }

  std::shared_ptr<Gpu> gpu_;
  quadrille_standin_host_t* host_ = nullptr;
};

TEST_F(Standin, IsKnownAsOne) {
  EXPECT_TRUE(gpu_->is_standin());
  EXPECT_EQ(gpu_->driver_version(), "13.0");
  EXPECT_EQ(gpu_->devices(), 1);
  EXPECT_GT(gpu_->free_bytes(), 0u);
}

// Of four ranks, elements of 8 bytes in 16.
class OnDevice : public Standin {
 protected:
  void SetUp() override {
    Standin::SetUp();
    for (int rank = 0; rank < 4; ++rank) buffer_.set_block(rank, 3);
    buffer_.allocate_on(gpu_, true);
    buffer_.poison(salted);
    for (int rank = 0; rank < 4; ++rank) {
      buffer_.write(rank, drawn, rank, 2, numbered);
      expected_.push_back({rank, 2});
    }
    buffer_.put();
  }
  std::uint64_t mismatches() const { return buffer_.mismatches(expected_, drawn, numbered, salted); }

  BlockBuffer buffer_{4, 8, 16};
  std::vector<BlockBuffer::Expected> expected_;
};

TEST_F(OnDevice, RightDataPass) { EXPECT_EQ(mismatches(), 0u); }

TEST_F(OnDevice, AnyWrongByteIsSeen) {
  for (std::ptrdiff_t place = -64; place < static_cast<std::ptrdiff_t>(buffer_.size()) + 64; place += 5) {
    std::byte& byte = at(buffer_.data() + place);
    byte ^= std::byte{1};
    EXPECT_EQ(mismatches(), 1u) << place;
    byte ^= std::byte{1};
  }
  EXPECT_EQ(mismatches(), 0u);
}

TEST_F(OnDevice, WhatIsOnlyOnTheHostIsNotTaken) {
  buffer_.write(1, drawn, 1, 2, numbered + 1);  // without put()
  EXPECT_EQ(mismatches(), 0u);
}

TEST_F(OnDevice, TheMpiIsGivenMemoryOfTheHost) {
  memory::DevicePlace place;
  EXPECT_EQ(memory::find_memory(buffer_.data(), place), memory::Where::device);
  EXPECT_NE(memory::find_memory(buffer_.for_mpi(), place), memory::Where::device);
  buffer_.bring_to_mpi();
  EXPECT_EQ(buffer_.for_mpi()[0], pattern(drawn, 0, 2, 0, numbered));
  EXPECT_EQ(buffer_.for_mpi()[buffer_.size() - 9], pattern(drawn, 3, 2, 23, numbered));
  buffer_.for_mpi()[0] ^= std::byte{1};
  buffer_.for_mpi()[buffer_.size() - 1] ^= std::byte{1};
  EXPECT_EQ(mismatches(), 0u);
  buffer_.bring_from_mpi();
  EXPECT_EQ(mismatches(), 2u);
}

TEST_F(Standin, CopiesWait) {
  void* const library = dlopen(CUDA_STANDIN, RTLD_NOW | RTLD_NOLOAD);
  auto* const set_of = reinterpret_cast<quadrille_standin_set_t*>(dlsym(library, "quadrille_standin_set"));
  ASSERT_NE(set_of, nullptr);
  ASSERT_TRUE(set_of("STREAMS", "lazy"));
  const GpuBytes device = allocate_on(gpu_, 64), host = pin_for(gpu_, 64);
  std::fill_n(host.get(), 64, std::byte{7});
  gpu_->copy(device.get(), host.get(), 64);
  EXPECT_EQ(at(device.get() + 63), std::byte{7});
  EXPECT_TRUE(set_of("STREAMS", "eager"));
}

TEST_F(Standin, WhatTheDriverRefusesIsThrown) {
  const GpuBytes device = allocate_on(gpu_, 64);
  EXPECT_THROW(gpu_->copy(device.get(), device.get(), std::size_t{1} << 30), std::runtime_error);
  EXPECT_THROW(gpu_->allocate(std::size_t{1} << 50), std::runtime_error);
}

}  // namespace
}  // namespace quadrille::tools
