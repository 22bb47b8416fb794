#include "tool/bench/device/rates.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "tool/bench/by_turns.hpp"
#include "tool/bench/statistics.hpp"

namespace quadrille::tools {
namespace {

constexpr std::size_t most_copied = std::size_t{64} << 20;
constexpr int rate_batches = 7;
enum CopyKind : std::size_t { device_copy, to_device, to_host, both_ways, copy_kinds };

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class OwnStream {
 public:
  explicit OwnStream(const std::shared_ptr<Gpu>& gpu) : gpu_(gpu), stream_(gpu->make_stream()) {}
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() { gpu_->free_stream(stream_); }
  void* get() const { return stream_; }

 private:
  std::shared_ptr<Gpu> gpu_;
  void* stream_;
};

// What one rank copies.
class DeviceCopier {
 public:
  DeviceCopier(const std::shared_ptr<Gpu>& gpu, std::size_t bytes)
      : gpu_(gpu),
        bytes_(bytes),
        one_(gpu),
        other_(gpu),
        on_device_(allocate_on(gpu, bytes)),
        on_device_too_(allocate_on(gpu, bytes)),
        on_host_(pin_for(gpu, bytes)),
        on_host_too_(pin_for(gpu, bytes)) {
    if (!has_host()) return;
    // Pages that nobody has written are not there yet.
    std::fill_n(on_host_.get(), bytes, std::byte{1});
    std::fill_n(on_host_too_.get(), bytes, std::byte{2});
  }
  bool has_host() const { return on_host_ != nullptr && on_host_too_ != nullptr; }

  // Seconds of so many copies, one after the other; of both ways, of so many pairs.
  double time(CopyKind kind, long times) {
    memory::DeviceCopies first(one_.get()), second(other_.get());
    const double begin = clock_seconds();
    for (long i = 0; i < times; ++i) {
      if (kind == device_copy) first.copy(on_device_too_.get(), on_device_.get(), bytes_);
      if (kind == to_device || kind == both_ways) first.copy(on_device_.get(), on_host_.get(), bytes_);
      if (kind == to_host) first.copy(on_host_too_.get(), on_device_too_.get(), bytes_);
      if (kind == both_ways) second.copy(on_host_too_.get(), on_device_too_.get(), bytes_);
    }
    const bool done = first.wait(), done_too = second.wait();
    return done && done_too ? clock_seconds() - begin : std::numeric_limits<double>::infinity();
  }

  // 10^9 bytes a second.
  double rate(CopyKind kind) {
    if (kind != device_copy && !has_host()) return 0;
    time(kind, 1);
    const double estimate = std::max(time(kind, 1), 1e-7);
    const long times = std::clamp<long>(std::lround(batch_seconds_on_devices / estimate), 1, 1000);
    std::vector<double> seconds;
    seconds.reserve(rate_batches);
    for (int batch = 0; batch < rate_batches; ++batch) seconds.push_back(time(kind, times));
    const double bytes = static_cast<double>(bytes_) * static_cast<double>(times) * (kind == both_ways ? 2 : 1);
    return bytes / quantile(seconds, 0.5) * 1e-9;
  }

 private:
  std::shared_ptr<Gpu> gpu_;
  std::size_t bytes_;
  OwnStream one_, other_;
  GpuBytes on_device_, on_device_too_, on_host_, on_host_too_;
};

}  // namespace

GpuRates measure_rates(const std::shared_ptr<Gpu>& gpu, bool leads, MpiComm world) {
  const std::size_t left = gpu->free_bytes();
  const std::size_t bytes = left == 0 ? most_copied : std::min(most_copied, left / 8);
  std::array<double, copy_kinds> mine, slowest;
  mine.fill(std::numeric_limits<double>::infinity());
  std::unique_ptr<DeviceCopier> copier = leads ? std::make_unique<DeviceCopier>(gpu, bytes) : nullptr;
  for (std::size_t kind = 0; kind < copy_kinds; ++kind) {
    // One kind after the other on all GPUs: they may share a bus.
    mpi().Barrier(world);
    if (copier != nullptr) mine[kind] = copier->rate(static_cast<CopyKind>(kind));
  }
  mpi().Allreduce(mine.data(), slowest.data(), static_cast<int>(copy_kinds), mpi().double_type, mpi().op_min, world);
  return {slowest[device_copy], slowest[to_device], slowest[to_host], slowest[both_ways], bytes};
}

}  // namespace quadrille::tools
