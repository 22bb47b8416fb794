// Many one-dimensional transforms of complex numbers of double precision at a time: by FFTW on the host, or by cuFFT,
// whose library is found when the program runs.
#pragma once

#include <complex>
#include <memory>

namespace examples {

using Complex = std::complex<double>;

// `count` lines of `length` numbers. Numbers of a line lie `stride` apart, the first ones of two lines `distance`.
struct Lines {
  int length;
  int count;
  int stride;
  int distance;
};

// In place, and not normalised: backward of forward is the data times the length. By cuFFT the work is in the NULL
// stream when a function returns.
class LineTransform {
 public:
  virtual ~LineTransform() = default;
  virtual void forward(Complex* data) = 0;
  virtual void backward(Complex* data) = 0;
};

// `data` is where, or aligned as, what will be transformed; it may be written to.
std::unique_ptr<LineTransform> plan_with_fftw(const Lines& lines, Complex* data);

struct CufftCalls;
class Cufft {
 public:
  // Throws DeviceError if there is no such library.
  Cufft();
  // In the context that is current. Throws DeviceError.
  std::unique_ptr<LineTransform> plan(const Lines& lines) const;

 private:
  std::shared_ptr<const CufftCalls> calls_;
};

}  // namespace examples
