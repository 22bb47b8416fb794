// Fields read from files and written to images. Every function throws std::runtime_error with one
// line that names the file.
#pragma once

#include <string>

#include "decomposition.hpp"

namespace heat {

// A scan of three dimensions, from a NIfTI-1 file.
Field read_volume(const std::string& path);

// An image: a PGM file, or plane `slice` of a scan (-1: the middle one).
Field read_image(const std::string& path, int slice);

// Samples the field on a grid of another size.
Field resized(const Field& field, const Extents& extents);

// Plane `z` of a field.
Field plane_of(const Field& field, int z);

// Writes a plane as PGM: `low` is black, `high` is white.
void write_pgm(const std::string& path, const Field& plane, double low, double high);

}  // namespace heat
