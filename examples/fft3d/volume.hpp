// Volumes: reading a scan from a NIfTI-1 file, and resampling.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace fft3d {

// Voxels along x, y and z.
using Extents = std::array<int, 3>;

inline std::size_t voxel_count(const Extents& extents) {
  return static_cast<std::size_t>(extents[0]) * extents[1] * extents[2];
}

// A scan in memory. Voxel (x, y, z) is voxels[x + extents[0] * (y + extents[1] * z)].
struct Volume {
  Extents extents{};
  std::vector<double> voxels;
};

// Reads a NIfTI-1 file (.nii or .nii.gz, either byte order, real voxel types). Reads the
// first volume of a series. NaN becomes zero. Throws std::runtime_error with one line that names the file.
Volume read_nifti(const std::string& path);

// Samples the volume on a grid of another size by trilinear interpolation.
Volume resample(const Volume& volume, const Extents& extents);

}  // namespace fft3d
