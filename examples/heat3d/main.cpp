// The heat equation on a scan. See ../heat/README.md.
#include "../heat/image.hpp"
#include "../heat/program.hpp"

int main(int argc, char** argv) {
  const heat::Kind kind{.name = "heat3d",
                        .title = "The heat equation on a scan.",
                        .dimensions = 3,
                        .stencils = {7, 27},
                        .input = "Scan: a NIfTI-1 file (.nii or .nii.gz)",
                        .read = [](const heat::Options& options) { return heat::read_volume(options.input); }};
  return heat::main_of(kind, argc, argv);
}
