#include "volume.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <type_traits>

namespace fft3d {
namespace {

constexpr std::size_t kHeaderBytes = 348;

// Offsets of the fields of the NIfTI-1 header that are read here.
constexpr std::size_t kDimAt = 40;  // int16 dim[8]: number of dimensions, then their extents
constexpr std::size_t kTypeAt = 70;
constexpr std::size_t kDataOffsetAt = 108;
constexpr std::size_t kSlopeAt = 112;
constexpr std::size_t kInterceptAt = 116;
constexpr std::size_t kMagicAt = 344;

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw std::runtime_error(path + ": " + what);
}

template <class T>
T load(const unsigned char* from, bool swap) {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, from, sizeof(T));
  if (swap) std::reverse(bytes, bytes + sizeof(T));
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
void convert(const std::vector<unsigned char>& raw, bool swap, std::vector<double>& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<double>(load<T>(raw.data() + i * sizeof(T), swap));
  }
}

// One voxel type of the format: its size and how to read it.
struct VoxelType {
  int code;
  std::size_t bytes;
  void (*convert)(const std::vector<unsigned char>&, bool, std::vector<double>&);
};

constexpr VoxelType kVoxelTypes[] = {
    {2, 1, convert<std::uint8_t>},    {256, 1, convert<std::int8_t>}, {4, 2, convert<std::int16_t>},
    {512, 2, convert<std::uint16_t>}, {8, 4, convert<std::int32_t>},  {768, 4, convert<std::uint32_t>},
    {16, 4, convert<float>},          {64, 8, convert<double>},
};

const VoxelType& voxel_type(int code, const std::string& path) {
  for (const VoxelType& type : kVoxelTypes) {
    if (type.code == code) return type;
  }
  fail(path, "voxel type " + std::to_string(code) + " is not a real number type of NIfTI-1");
}

// gzread takes plain files as well as compressed ones.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (!file_) fail(path, "cannot be opened");
  }
  void read(void* to, std::size_t bytes, const char* what) {
    auto* at = static_cast<unsigned char*>(to);
    while (bytes > 0) {
      const auto step = static_cast<unsigned>(std::min<std::size_t>(bytes, 1u << 30));
      const int got = gzread(file_.get(), at, step);
      if (got <= 0) fail(path_, what);
      at += got;
      bytes -= static_cast<std::size_t>(got);
    }
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::remove_pointer_t<gzFile>, Close> file_;
};

Extents read_extents(const unsigned char* header, bool swap, const std::string& path) {
  Extents extents{1, 1, 1};
  const int dimensions = load<std::int16_t>(header + kDimAt, swap);
  for (int axis = 0; axis < std::min(dimensions, 3); ++axis) {
    extents[axis] = load<std::int16_t>(header + kDimAt + 2 * (axis + 1), swap);
    if (extents[axis] < 1) fail(path, "a dimension has no voxels");
  }
  return extents;
}

// Position of sample i of `to` between the samples of a line of `from`: the lower neighbour and
// the weight of the upper one. Both lines cover the same length; samples are at cell centres.
struct Position {
  int lower;
  int upper;
  double weight;
};

std::vector<Position> positions(int from, int to) {
  std::vector<Position> result(to);
  for (int i = 0; i < to; ++i) {
    const double at = std::clamp((i + 0.5) * from / to - 0.5, 0.0, from - 1.0);
    const int lower = static_cast<int>(at);
    result[i] = {lower, std::min(lower + 1, from - 1), at - lower};
  }
  return result;
}

}  // namespace

Volume read_nifti(const std::string& path) {
  Reader reader(path);
  unsigned char header[kHeaderBytes];
  reader.read(header, sizeof header, "not a NIfTI-1 file (shorter than its header)");
  if (std::memcmp(header + kMagicAt, "n+1", 4) != 0) fail(path, "not a NIfTI-1 file");

  // The number of dimensions is 1 to 7 in one of the two byte orders only.
  const int dimensions = load<std::int16_t>(header + kDimAt, false);
  const bool swap = dimensions < 1 || dimensions > 7;

  Volume volume;
  volume.extents = read_extents(header, swap, path);
  const VoxelType& type = voxel_type(load<std::int16_t>(header + kTypeAt, swap), path);
  const float data_offset = load<float>(header + kDataOffsetAt, swap);
  if (!(data_offset >= kHeaderBytes && data_offset < 1e6f)) fail(path, "bad offset of the voxels");

  std::vector<unsigned char> gap(static_cast<std::size_t>(data_offset) - kHeaderBytes);
  reader.read(gap.data(), gap.size(), "ends before its voxels");
  std::vector<unsigned char> raw(voxel_count(volume.extents) * type.bytes);
  reader.read(raw.data(), raw.size(), "ends before its last voxel");

  volume.voxels.resize(voxel_count(volume.extents));
  type.convert(raw, swap, volume.voxels);
  double slope = load<float>(header + kSlopeAt, swap);
  double intercept = load<float>(header + kInterceptAt, swap);
  if (slope == 0 || !std::isfinite(slope) || !std::isfinite(intercept)) slope = 1, intercept = 0;
  for (double& voxel : volume.voxels) {
    voxel = std::isfinite(voxel) ? slope * voxel + intercept : 0;
  }
  return volume;
}

Volume resample(const Volume& volume, const Extents& extents) {
  if (extents == volume.extents) return volume;
  const auto [from_x, from_y, from_z] = volume.extents;
  const std::vector<Position> along_x = positions(from_x, extents[0]);
  const std::vector<Position> along_y = positions(from_y, extents[1]);
  const std::vector<Position> along_z = positions(from_z, extents[2]);

  const auto line = [&](int y, int z) {
    return volume.voxels.data() + static_cast<std::size_t>(from_x) * (y + static_cast<std::size_t>(from_y) * z);
  };
  Volume result{extents, {}};
  result.voxels.reserve(voxel_count(extents));
  for (const Position& z : along_z) {
    for (const Position& y : along_y) {
      const double* lines[2][2] = {{line(y.lower, z.lower), line(y.upper, z.lower)},
                                   {line(y.lower, z.upper), line(y.upper, z.upper)}};
      for (const Position& x : along_x) {
        const auto on_line = [&](const double* at) { return std::lerp(at[x.lower], at[x.upper], x.weight); };
        const double low = std::lerp(on_line(lines[0][0]), on_line(lines[0][1]), y.weight);
        const double high = std::lerp(on_line(lines[1][0]), on_line(lines[1][1]), y.weight);
        result.voxels.push_back(std::lerp(low, high, z.weight));
      }
    }
  }
  return result;
}

}  // namespace fft3d
