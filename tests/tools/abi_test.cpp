#include "tool/launch/abi.hpp"

#include <gtest/gtest.h>

namespace quadrille::tools {
namespace {

TEST(Abi, KnowsTheLibrariesOfOpenMpi) {
  for (const char* name : {"libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40",
                           "libmpi_usempi_ignore_tkr.so.40", "libmpi_cxx.so.40", "libmpi.so.40.30.4"}) {
    EXPECT_EQ(abi_of_library(name), Abi::openmpi) << name;
  }
}

TEST(Abi, KnowsTheLibrariesOfMpich) {
  for (const char* name :
       {"libmpi.so.12", "libmpich.so.12", "libmpichfort.so.12", "libmpifort.so.12", "libmpicxx.so.12",
        "libmpichcxx.so.12", "libmpi_gnu_91.so.12", "libmpi.so.12.0.0", "libfmpich.so.12", "libmpi_cray.so.12",
        "libmpi_cray.so", "libmpi_gnu_123.so", "libmpifort_gnu_123.so.12"}) {
    EXPECT_EQ(abi_of_library(name), Abi::mpich) << name;
  }
}

TEST(Abi, TellsWhatIsNotServed) {
  EXPECT_EQ(abi_of_library("libmpi_abi.so.1"), Abi::standard);
  EXPECT_EQ(abi_of_library("libmpi_abi.so"), Abi::standard);
  EXPECT_EQ(abi_of_library("libmpi_abi.so.1.2"), Abi::standard);
  EXPECT_EQ(abi_of_library("libmpifort_abi.so.1"), Abi::standard);
  EXPECT_EQ(abi_of_library("libmpi_abi.so.2"), Abi::other);
  EXPECT_EQ(abi_of_library("libmpi_abi.so.10"), Abi::other);
  EXPECT_EQ(abi_of_library("libmpifort_abi.so.2"), Abi::other);
  EXPECT_EQ(abi_of_library("libmpi.so.20"), Abi::other);
  EXPECT_EQ(abi_of_library("libmpi.so"), Abi::other);
  EXPECT_EQ(abi_of_library("libmpich.so.10"), Abi::other);
}

TEST(Abi, IsNotMisledByOtherLibraries) {
  for (const char* name : {"libmpfr.so.6", "libmpir.so.40", "libmpifr.so.12", "libc.so.6", "libmpi", "mpi.so.40",
                           "libmpi_shm_heap_proxy.so", "libmpi.so.400", ""}) {
    EXPECT_NE(abi_of_library(name), Abi::openmpi) << name;
    EXPECT_NE(abi_of_library(name), Abi::mpich) << name;
  }
  EXPECT_EQ(abi_of_library("libmpi_shm_heap_proxy.so"), Abi::none);
  EXPECT_EQ(abi_of_library("libc.so.6"), Abi::none);
}

}  // namespace
}  // namespace quadrille::tools
