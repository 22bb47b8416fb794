// Which ABI a library has that a program loads: src/abi/abi.cpp.
#include "abi/abi.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

namespace quadrille::test {
namespace {

TEST(AbiOfALibrary, AnotherVersionOfTheStandardsIsRefusedInOneLine) {
  void* const library = dlopen(ABI_2_STANDIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  Mpi table;
  table.library = "libmpi_abi.so.2";
  abi::load_constants(library, table);
  EXPECT_TRUE(table.foreign);
  EXPECT_NE(table.problem.find(table.library), std::string::npos) << table.problem;
  EXPECT_NE(table.problem.find("version"), std::string::npos) << table.problem;
  EXPECT_EQ(table.problem.find('\n'), std::string::npos) << table.problem;
  dlclose(library);
}

}  // namespace
}  // namespace quadrille::test
