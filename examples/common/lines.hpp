// Batches of one-dimensional transforms of double-precision complex numbers, by FFTW on the host or by cuFFT, which is
// loaded at run time.
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

// In place, and not normalised: backward of forward is the data times the length. With cuFFT a function returns when
// its work is in the NULL stream.
class LineTransform {
 public:
  virtual ~LineTransform() = default;
  virtual void forward(Complex* data) = 0;
  virtual void backward(Complex* data) = 0;
};

// `data` has the address, or the alignment, of the data to transform; it may be overwritten.
std::unique_ptr<LineTransform> plan_with_fftw(const Lines& lines, Complex* data);

struct CufftCalls;
class Cufft {
 public:
  // Throws DeviceError if cuFFT is unavailable.
  Cufft();
  // Uses the current context. Throws DeviceError.
  std::unique_ptr<LineTransform> plan(const Lines& lines) const;

 private:
  std::shared_ptr<const CufftCalls> calls_;
};

}  // namespace examples
