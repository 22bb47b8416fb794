#include "tool/launch/abi.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace quadrille::tools {

namespace {

// Cray MPICH has a library for each compiler, such as libmpi_gnu_123; its links for the linker have no number.
bool is_of_cray(std::string_view stem) {
  constexpr std::string_view compilers[] = {"cray", "gnu", "intel", "nvidia", "aocc", "amd", "pgi"};
  const std::size_t at = stem.find('_');
  if (at == std::string_view::npos) return false;
  const std::string_view after = stem.substr(at + 1), compiler = after.substr(0, after.find('_'));
  return std::find(std::begin(compilers), std::end(compilers), compiler) != std::end(compilers);
}

}  // namespace

std::string_view name_of(Abi abi) {
  constexpr std::array<std::string_view, 5> names = {"none", "openmpi", "mpich", "standard", "other"};
  return names[static_cast<std::size_t>(abi)];
}

std::string_view title_of(Abi abi) {
  constexpr std::array<std::string_view, 5> titles = {"no MPI", "Open MPI", "MPICH (or an MPI with its ABI)",
                                                      "the MPI standard ABI", "an MPI that Quadrille does not know"};
  return titles[static_cast<std::size_t>(abi)];
}

bool abi_from_name(std::string_view name, Abi& abi) {
  for (Abi candidate : all_abis) {
    if (name == name_of(candidate)) {
      abi = candidate;
      return true;
    }
  }
  return false;
}

Abi abi_of_library(std::string_view soname) {
  const std::size_t suffix = soname.find(".so");
  if (suffix == std::string_view::npos) return Abi::none;
  const std::string_view stem = soname.substr(0, suffix);
  const std::string_view version = soname.substr(suffix + 3);
  if (stem == "libmpi_abi" || stem == "libmpifort_abi")
    return version.empty() || version == ".1" || version.starts_with(".1.") ? Abi::standard : Abi::other;
  // libmpi, libmpi_cxx, libmpi_mpifh, libmpi_usempif08, libmpi_cray, libmpifort, libmpifort_gnu_123, libmpicxx,
  // libmpich, libmpichfort, libmpichcxx, libfmpich. Not libmpifr or libmpir.
  const bool of_mpi = stem == "libmpi" || stem.starts_with("libmpi_") || stem == "libmpifort" ||
                      stem.starts_with("libmpifort_") || stem == "libmpicxx" || stem.starts_with("libmpich") ||
                      stem.starts_with("libfmpich");
  if (!of_mpi) return Abi::none;
  if (version.empty() && is_of_cray(stem)) return Abi::mpich;
  if (version == ".40" || version.starts_with(".40.")) return Abi::openmpi;
  if (version == ".12" || version.starts_with(".12.")) return Abi::mpich;
  // Other numbers belong to old releases of both; helpers without a number are not an MPI.
  return stem == "libmpi" || stem == "libmpich" ? Abi::other : Abi::none;
}

std::vector<const char*> libraries_of(Abi abi) {
  if (abi == Abi::openmpi) return {"libmpi.so.40"};
  if (abi == Abi::standard) return {"libmpi_abi.so.1"};
  return {"libmpi.so.12", "libmpich.so.12"};
}

bool starts(Abi launcher, Abi program, bool of_openmpi) {
  const bool has_both = program == Abi::standard && launcher == (of_openmpi ? Abi::openmpi : Abi::mpich);
  return launcher == Abi::none || launcher == program || has_both;
}

bool knows(Abi abi) {
  constexpr std::string_view built_with = QUADRILLE_ABIS;
  return built_with.find(name_of(abi)) != std::string_view::npos;
}

}  // namespace quadrille::tools
