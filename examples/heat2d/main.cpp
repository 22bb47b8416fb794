// The heat equation on an image. See ../heat/README.md.
#include "../heat/image.hpp"
#include "../heat/program.hpp"

int main(int argc, char** argv) {
  const heat::Kind kind{
      .name = "heat2d",
      .title = "The heat equation on an image.",
      .dimensions = 2,
      .stencils = {5, 9},
      .input = "Image: a PGM file, or a NIfTI-1 scan (.nii or .nii.gz) of which one plane is read",
      .read = [](const heat::Options& options) { return heat::read_image(options.input, options.slice); }};
  return heat::main_of(kind, argc, argv);
}
