#include "lines.hpp"

#include <dlfcn.h>
#include <fftw3.h>

#include <string>
#include <utility>

#include "device.hpp"
#include "driver_calls.hpp"

namespace examples {
namespace {

class ByFftw : public LineTransform {
 public:
  // FFTW_ESTIMATE, because a measured plan may differ from run to run, and with it the last bits of the result.
  ByFftw(const Lines& lines, Complex* data) {
    const auto plan = [&](int sign) {
      return fftw_plan_many_dft(1, &lines.length, lines.count, fftw(data), nullptr, lines.stride, lines.distance,
                                fftw(data), nullptr, lines.stride, lines.distance, sign, FFTW_ESTIMATE);
    };
    forward_ = plan(FFTW_FORWARD);
    backward_ = plan(FFTW_BACKWARD);
  }
  ~ByFftw() override {
    fftw_destroy_plan(forward_);
    fftw_destroy_plan(backward_);
  }
  ByFftw(const ByFftw&) = delete;
  ByFftw& operator=(const ByFftw&) = delete;
  void forward(Complex* data) override { fftw_execute_dft(forward_, fftw(data), fftw(data)); }
  void backward(Complex* data) override { fftw_execute_dft(backward_, fftw(data), fftw(data)); }

 private:
  static fftw_complex* fftw(Complex* numbers) { return reinterpret_cast<fftw_complex*>(numbers); }
  fftw_plan forward_, backward_;
};

void check(int result, const char* function) {
  if (result == 0) return;
  std::string what = std::string(function) + ": error " + std::to_string(result);
  if (result == cufft_alloc_failed) what += " (CUFFT_ALLOC_FAILED)";
  throw DeviceError(what);
}

}  // namespace

struct CufftCalls {
#define EXAMPLES_MEMBER(name, ...) int (*name)(__VA_ARGS__) = nullptr;
  EXAMPLES_CUFFT_CALLS(EXAMPLES_MEMBER)
#undef EXAMPLES_MEMBER
};

namespace {

class ByCufft : public LineTransform {
 public:
  ByCufft(std::shared_ptr<const CufftCalls> calls, const Lines& lines) : calls_(std::move(calls)) {
    int length = lines.length;
    // Without these two the strides would be ignored.
    int extents[] = {lines.length};
    check(calls_->cufftPlanMany(&plan_, 1, &length, extents, lines.stride, lines.distance, extents, lines.stride,
                                lines.distance, cufft_double_to_double, lines.count),
          "cufftPlanMany");
  }
  ~ByCufft() override { calls_->cufftDestroy(plan_); }
  ByCufft(const ByCufft&) = delete;
  ByCufft& operator=(const ByCufft&) = delete;
  void forward(Complex* data) override {
    check(calls_->cufftExecZ2Z(plan_, data, data, cufft_forward), "cufftExecZ2Z");
  }
  void backward(Complex* data) override {
    check(calls_->cufftExecZ2Z(plan_, data, data, cufft_inverse), "cufftExecZ2Z");
  }

 private:
  std::shared_ptr<const CufftCalls> calls_;
  int plan_ = 0;
};

}  // namespace

std::unique_ptr<LineTransform> plan_with_fftw(const Lines& lines, Complex* data) {
  return std::make_unique<ByFftw>(lines, data);
}

Cufft::Cufft() {
  void* library = nullptr;
  std::string why;
  // The names of all versions, the newest first.
  for (const char* name : {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10", "libcufft.so"}) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    if (why.empty()) why = dlerror();
  }
  if (library == nullptr) throw DeviceError("there is no cuFFT: " + why);
  auto calls = std::make_shared<CufftCalls>();
#define EXAMPLES_LOAD(name, ...)                                                \
  calls->name = reinterpret_cast<decltype(calls->name)>(dlsym(library, #name)); \
  if (calls->name == nullptr) throw DeviceError("the library of cuFFT has no " #name);
  EXAMPLES_CUFFT_CALLS(EXAMPLES_LOAD)
#undef EXAMPLES_LOAD
  calls_ = std::move(calls);
}

std::unique_ptr<LineTransform> Cufft::plan(const Lines& lines) const {
  return std::make_unique<ByCufft>(calls_, lines);
}

}  // namespace examples
