#include "image.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "../fft3d/volume.hpp"

namespace heat {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

// The next number of the header. Comments begin with '#' and end with the line.
int header_number(std::istream& file, const std::string& path, int most) {
  while (file >> std::ws && file.peek() == '#') {
    std::string comment;
    std::getline(file, comment);
  }
  int number = 0;
  if (!(file >> number) || number < 1 || number > most) fail(path, "not a PGM file: bad header");
  return number;
}

int pixel(std::istream& file, bool binary, bool wide) {
  int value = 0;
  if (!binary) {
    file >> value;
    return value;
  }
  value = file.get();
  return wide ? value * 256 + file.get() : value;
}

Field read_pgm(std::istream& file, const std::string& path, bool binary) {
  Field field;
  field.extents = {header_number(file, path, 1 << 20), header_number(file, path, 1 << 20), 1};
  const int white = header_number(file, path, 65535);
  file.get();  // the one blank after the header
  // Not reserved: a header can promise more pixels than there are.
  for (std::size_t i = 0; i < point_count(field.extents); ++i) {
    const int value = pixel(file, binary, white > 255);
    if (!file) fail(path, "ends before its last pixel");
    if (value < 0 || value > white) fail(path, "a pixel is brighter than white");
    field.values.push_back(value);
  }
  return field;
}

}  // namespace

Field read_volume(const std::string& path) {
  fft3d::Volume volume = fft3d::read_nifti(path);
  return {volume.extents, std::move(volume.voxels)};
}

Field read_image(const std::string& path, int slice) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, std::strerror(errno));
  char magic[2] = {};
  file.read(magic, 2);
  if (magic[0] == 'P' && (magic[1] == '2' || magic[1] == '5')) {
    return read_pgm(file, path, magic[1] == '5');
  }
  const Field volume = read_volume(path);
  const int planes = volume.extents[2];
  if (slice >= planes) fail(path, "there are only planes 0 to " + std::to_string(planes - 1));
  return plane_of(volume, slice < 0 ? planes / 2 : slice);
}

Field resized(const Field& field, const Extents& extents) {
  fft3d::Volume volume = fft3d::resample({field.extents, field.values}, extents);
  return {volume.extents, std::move(volume.voxels)};
}

Field plane_of(const Field& field, int z) {
  const Extents extents{field.extents[0], field.extents[1], 1};
  const auto count = static_cast<std::ptrdiff_t>(point_count(extents));
  const auto begin = field.values.begin() + z * count;
  return {extents, {begin, begin + count}};
}

void write_pgm(const std::string& path, const Field& plane, double low, double high) {
  std::ofstream file(path, std::ios::binary);
  if (!file) fail(path, std::strerror(errno));
  file << "P5\n" << plane.extents[0] << ' ' << plane.extents[1] << "\n255\n";
  const double scale = high > low ? 255 / (high - low) : 0;
  for (const double value : plane.values) {
    const double grey = std::clamp((value - low) * scale, 0.0, 255.0);
    file.put(static_cast<char>(static_cast<unsigned char>(std::lround(grey))));
  }
  file.close();
  if (!file) fail(path, "cannot be written");
}

}  // namespace heat
