// Which MPI it is that has the ABI of the MPI standard, and what that MPI does otherwise: src/mpi/mpi.cpp.
#include <gtest/gtest.h>

#include <cstdio>

#include "changed_mpi.hpp"
#include "mpi/errors.hpp"
#include "mpi/mpi.hpp"

namespace quadrille::test::customs {
namespace {

const char* description = "";
const bool tolerates = true;

class Customs : public testing::Test {
 protected:
  Mpi& learn(Abi abi, const char* library) {
    description = library;
    Mpi& t = changed_.table();
    t.abi = abi;
    t.Get_library_version = [](char* text, int* length) {
      *length = std::snprintf(text, most_mpi_text, "%s", description);
      return int{mpi_success};
    };
    quadrille::detail::load_customs(t);
    return t;
  }

 private:
  ChangedMpi changed_;
};

TEST_F(Customs, OpenMpiIsNoMpichByTheStandardsAbi) {
  Mpi& t = learn(Abi::standard, "Open MPI v6.0.0, package: Open MPI, ident: 6.0.0");
  EXPECT_TRUE(t.is_openmpi());
  EXPECT_FALSE(t.cuts_long_gathers || t.cuts_long_neighbors || t.device_lacks_gaps || t.threads_block_collectives);
  EXPECT_FALSE(hides_handled_errors());
  EXPECT_FALSE(tolerates_faults());
  t.ftmpi_enabled = &tolerates;
  EXPECT_TRUE(tolerates_faults());
}

TEST_F(Customs, MpichIsFoundByEitherAbi) {
  for (const Abi abi : {Abi::standard, Abi::mpich}) {
    const Mpi& t = learn(abi, "MPICH Version:      5.0.0\nMPICH Release date: unreleased");
    EXPECT_FALSE(t.is_openmpi());
    EXPECT_TRUE(t.cuts_long_gathers && t.cuts_long_neighbors);
    EXPECT_FALSE(t.device_lacks_gaps || t.threads_block_collectives);
    EXPECT_TRUE(hides_handled_errors());
  }
}

TEST_F(Customs, IntelMpiIsFoundByTheStandardsAbi) {
  const Mpi& t = learn(Abi::standard, "Intel(R) MPI Library 2021.19 for Linux* OS");
  EXPECT_FALSE(t.is_openmpi());
  EXPECT_FALSE(t.cuts_long_gathers);
  EXPECT_TRUE(t.cuts_long_neighbors && t.device_lacks_gaps && t.threads_block_collectives);
}

}  // namespace
}  // namespace quadrille::test::customs
