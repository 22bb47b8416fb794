// The stand-in's library, loaded as programs load it, for the tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "standin.hpp"

namespace quadrille::standin {

template <class Function>
void load(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function != nullptr) return;
  std::fprintf(stderr, "%s is not there\n", name);
  std::abort();
}

inline void* open_library(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  std::fprintf(stderr, "%s\n", dlerror());
  std::abort();
}

inline int touch(Address address) { return *reinterpret_cast<volatile unsigned char*>(address); }

struct Controls {
  quadrille_standin_count_t* count = nullptr;
  quadrille_standin_set_t* set = nullptr;
  quadrille_standin_kernel_t* kernel = nullptr;
  quadrille_standin_host_t* host = nullptr;
  explicit Controls(void* library) {
    load(library, "quadrille_standin_count", count);
    load(library, "quadrille_standin_set", set);
    load(library, "quadrille_standin_kernel", kernel);
    load(library, "quadrille_standin_host", host);
  }
};

struct Cuda : Controls {
#define QUADRILLE_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
#define QUADRILLE_MEMBER_PTDS(name, ...) int (*name##_ptds)(__VA_ARGS__) = nullptr;
#define QUADRILLE_MEMBER_PTSZ(name, ...) int (*name##_ptsz)(__VA_ARGS__) = nullptr;
  QUADRILLE_CUDA_CALLS(QUADRILLE_MEMBER)
  QUADRILLE_CUDA_BLOCKING_CALLS(QUADRILLE_MEMBER_PTDS)
  QUADRILLE_CUDA_STREAM_CALLS(QUADRILLE_MEMBER_PTSZ)
  Cuda() : Controls(open_library(CUDA_STANDIN)) {
    void* const library = open_library(CUDA_STANDIN);
#define QUADRILLE_LOAD(name, ...) load(library, #name, name);
#define QUADRILLE_LOAD_PTDS(name, ...) load(library, #name "_ptds", name##_ptds);
#define QUADRILLE_LOAD_PTSZ(name, ...) load(library, #name "_ptsz", name##_ptsz);
    QUADRILLE_CUDA_CALLS(QUADRILLE_LOAD)
    QUADRILLE_CUDA_BLOCKING_CALLS(QUADRILLE_LOAD_PTDS)
    QUADRILLE_CUDA_STREAM_CALLS(QUADRILLE_LOAD_PTSZ)
  }
};

inline Cuda& cuda() {
  static Cuda loaded;
  return loaded;
}

// With a context of its own for each test, and eager streams unless it says otherwise.
class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuda().cuInit(0), success);
    use("eager");
    ASSERT_EQ(cuda().cuCtxCreate_v2(&context_, 0, 0), success);
  }
  void TearDown() override {
    cuda().set("FAIL", "");
    cuda().set("NO_IPC", "0");
    cuda().set("PATIENCE", "20");
    use("eager");
    EXPECT_EQ(cuda().cuCtxDestroy_v2(context_), success);
    Handle left = nullptr;
    EXPECT_EQ(cuda().cuCtxGetCurrent(&left), success);
    EXPECT_EQ(left, nullptr) << "a test leaves a context";
  }

  static void use(const std::string& mode) { ASSERT_TRUE(cuda().set("STREAMS", mode.c_str())); }
  static Address allocate(std::size_t bytes) {
    Address made = 0;
    EXPECT_EQ(cuda().cuMemAlloc_v2(&made, bytes), success);
    return made;
  }
  static unsigned char* pin(std::size_t bytes) {
    void* made = nullptr;
    EXPECT_EQ(cuda().cuMemAllocHost_v2(&made, bytes), success);
    return static_cast<unsigned char*>(made);
  }
  static Handle stream(unsigned flags = 1) {
    Handle made = nullptr;
    EXPECT_EQ(cuda().cuStreamCreate(&made, flags), success);
    return made;
  }
  static Handle event(unsigned flags = 0) {
    Handle made = nullptr;
    EXPECT_EQ(cuda().cuEventCreate(&made, flags), success);
    return made;
  }
  // What lies there now, whatever is still to come.
  static unsigned char& at(Address address, std::size_t offset = 0) {
    auto* const byte = static_cast<unsigned char*>(cuda().host(address + offset, 1));
    if (byte == nullptr) std::abort();
    return *byte;
  }
  static void fill(Address address, std::size_t bytes, int value) {
    for (std::size_t i = 0; i < bytes; ++i) at(address, i) = static_cast<unsigned char>(value);
  }

  Handle context_ = nullptr;
};

}  // namespace quadrille::standin
