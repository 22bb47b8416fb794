// That capturing streams do nothing, and which calls end a capture.
#include <thread>

#include "loaded.hpp"

namespace quadrille::standin {
namespace {

constexpr int global = 0, thread_alone = 1, relaxed = 2, none = 0, active = 1;

class StandinCapture : public CudaTest {
 protected:
  int status(Handle stream) {
    int now = -1;
    EXPECT_EQ(cuda().cuStreamIsCapturing(stream, &now), success);
    return now;
  }
  // What the end of the capture says.
  static int end(Handle stream) {
    Handle graph = nullptr;
    const int error = cuda().cuStreamEndCapture(stream, &graph);
    EXPECT_EQ(graph != nullptr, error == success);
    if (graph != nullptr) {
      EXPECT_EQ(cuda().cuGraphDestroy(graph), success);
    }
    return error;
  }
};

TEST_F(StandinCapture, DoesNothingThatIsCaptured) {
  const Handle own = stream();
  const Address device = allocate(1);
  fill(device, 1, 1);
  EXPECT_EQ(status(own), none);
  ASSERT_EQ(cuda().cuStreamBeginCapture_v2(own, global), success);
  EXPECT_EQ(cuda().cuStreamBeginCapture_v2(own, global), invalid_value);
  EXPECT_EQ(status(own), active);
  ASSERT_EQ(cuda().cuMemsetD8Async(device, 2, 1, own), success);
  EXPECT_EQ(status(own), active);
  EXPECT_EQ(end(own), success);
  EXPECT_EQ(end(own), capture_unsupported);
  ASSERT_EQ(cuda().cuCtxSynchronize(), success);
  EXPECT_EQ(at(device), 1);
  EXPECT_EQ(status(own), none);
  ASSERT_EQ(cuda().cuMemsetD8Async(device, 2, 1, own), success);
  EXPECT_EQ(at(device), 2);
  EXPECT_EQ(cuda().cuStreamBeginCapture_v2(legacy_stream, global), capture_unsupported);
}

TEST_F(StandinCapture, IsLostByAWaitForTheStream) {
  const Handle own = stream();
  ASSERT_EQ(cuda().cuStreamBeginCapture_v2(own, relaxed), success);
  EXPECT_EQ(cuda().cuStreamQuery(own), capture_unsupported);
  EXPECT_EQ(end(own), capture_invalidated);
  ASSERT_EQ(cuda().cuStreamBeginCapture_v2(own, relaxed), success);
  EXPECT_EQ(cuda().cuStreamSynchronize(own), capture_unsupported);
  EXPECT_EQ(end(own), capture_invalidated);
}

TEST_F(StandinCapture, IsLostByUnsafeCalls) {
  const Handle own = stream();
  Address made = 0;
  void* pinned = nullptr;
  const auto allocations = [&](int expected) {
    EXPECT_EQ(cuda().cuMemAlloc_v2(&made, 1), expected);
    if (expected != success) return;
    EXPECT_EQ(cuda().cuMemAllocHost_v2(&pinned, 1), success);
  };
  ASSERT_EQ(cuda().cuStreamBeginCapture_v2(own, global), success);
  allocations(capture_unsupported);
  EXPECT_EQ(end(own), capture_invalidated);
  // Not where the capture or the thread says that it does not mind.
  ASSERT_EQ(cuda().cuStreamBeginCapture_v2(own, relaxed), success);
  allocations(success);
  EXPECT_EQ(end(own), success);
  ASSERT_EQ(cuda().cuStreamBeginCapture_v2(own, global), success);
  int mode = relaxed;
  ASSERT_EQ(cuda().cuThreadExchangeStreamCaptureMode(&mode), success);
  EXPECT_EQ(mode, global);
  allocations(success);
  ASSERT_EQ(cuda().cuThreadExchangeStreamCaptureMode(&mode), success);
  EXPECT_EQ(mode, relaxed);
  EXPECT_EQ(end(own), success);
}

TEST_F(StandinCapture, OfAThreadConcernsItAlone) {
  const Handle own = stream();
  const auto allocates_elsewhere = [this] {
    int error = -1;
    std::thread([&] {
      Address made = 0;
      cuda().cuCtxPushCurrent_v2(context_);
      error = cuda().cuMemAlloc_v2(&made, 1);
    }).join();
    return error;
  };
  ASSERT_EQ(cuda().cuStreamBeginCapture_v2(own, thread_alone), success);
  EXPECT_EQ(allocates_elsewhere(), success);
  EXPECT_EQ(end(own), success);
  ASSERT_EQ(cuda().cuStreamBeginCapture_v2(own, global), success);
  EXPECT_EQ(allocates_elsewhere(), capture_unsupported);
  EXPECT_EQ(end(own), capture_invalidated);
}

// The NULL stream would wait for it. Who asks learns that, and nothing is lost.
TEST_F(StandinCapture, OfABlockingStreamKeepsTheNullStreamOut) {
  const Address device = allocate(1);
  const Handle blocking = stream(0), other = stream(1);
  int now = -1;
  ASSERT_EQ(cuda().cuStreamBeginCapture_v2(blocking, relaxed), success);
  EXPECT_EQ(cuda().cuStreamIsCapturing(nullptr, &now), capture_implicit);
  EXPECT_EQ(end(blocking), success);
  ASSERT_EQ(cuda().cuStreamBeginCapture_v2(blocking, relaxed), success);
  EXPECT_EQ(cuda().cuMemsetD8Async(device, 1, 1, nullptr), capture_implicit);
  EXPECT_EQ(end(blocking), capture_invalidated);
  ASSERT_EQ(cuda().cuStreamBeginCapture_v2(other, relaxed), success);
  EXPECT_EQ(cuda().cuMemsetD8Async(device, 1, 1, nullptr), success);
  EXPECT_EQ(end(other), success);
}

}  // namespace
}  // namespace quadrille::standin
