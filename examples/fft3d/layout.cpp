#include "layout.hpp"

#include <algorithm>
#include <new>

namespace fft3d {

int part_length(int extent, int parts) { return (extent + parts - 1) / parts; }

Part part_of(int extent, int parts, int index) {
  const int length = part_length(extent, parts);
  const int begin = static_cast<int>(std::min<long>(extent, static_cast<long>(length) * index));
  return {begin, std::min(length, extent - begin)};
}

Numbers allocate(std::size_t count) {
  // FFTW may return null for zero numbers; an idle rank still needs an address.
  count = std::max<std::size_t>(count, 1);
  auto* memory = static_cast<Complex*>(fftw_malloc(count * sizeof(Complex)));
  if (!memory) throw std::bad_alloc();
  std::fill(memory, memory + count, Complex{});
  return Numbers(memory);
}

std::size_t Layout::count() const { return static_cast<std::size_t>(parts[0].count) * parts[1].count * parts[2].count; }

Layout input_layout(const Extents& extents, int rows, int columns, int rank) {
  return {
      {2, 1, 0},
      {Part{0, extents[0]}, part_of(extents[1], rows, rank / columns), part_of(extents[2], columns, rank % columns)}};
}

Layout spectrum_layout(const Extents& extents, int rows, int columns, int rank, const std::array<int, 3>& axes) {
  return {
      axes,
      {part_of(extents[0], rows, rank / columns), part_of(extents[1], columns, rank % columns), Part{0, extents[2]}}};
}

}  // namespace fft3d
