// The verifier must find errors, and the parts of the problem must fit together.
#include "problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace ft {
namespace {

std::vector<Complex> published(const Problem& problem) { return {problem.checksums.begin(), problem.checksums.end()}; }

class FtEachClass : public testing::TestWithParam<const char*> {
 protected:
  const Problem problem = problem_of(GetParam()).value();
};
INSTANTIATE_TEST_SUITE_P(Classes, FtEachClass, testing::Values("S", "W", "A", "B"));

TEST_P(FtEachClass, PublishedChecksumsPass) { EXPECT_EQ(first_wrong_step(problem, published(problem)), 0); }

TEST_P(FtEachClass, FirstChecksumsAlonePass) { EXPECT_EQ(first_wrong_step(problem, problem.checksums.first(2)), 0); }

// Just inside and just outside of NPB's relative 1e-12, in every step, in both parts.
TEST_P(FtEachClass, EveryWrongChecksumIsNoticed) {
  for (std::size_t step = 0; step < problem.checksums.size(); ++step) {
    const double magnitude = std::abs(problem.checksums[step]);
    for (const Complex part : {Complex(1, 0), Complex(0, 1), Complex(-1, 0), Complex(0, -1)}) {
      std::vector<Complex> found = published(problem);
      found[step] += part * magnitude * 0.9e-12;
      EXPECT_EQ(first_wrong_step(problem, found), 0);
      found[step] += part * magnitude * 0.2e-12;
      EXPECT_EQ(first_wrong_step(problem, found), static_cast<int>(step) + 1);
    }
  }
}

TEST_P(FtEachClass, NotANumberIsNoticed) {
  std::vector<Complex> found = published(problem);
  found[1] = {std::numeric_limits<double>::quiet_NaN(), found[1].imag()};
  EXPECT_EQ(first_wrong_step(problem, found), 2);
}

TEST_P(FtEachClass, MoreChecksumsThanPublishedAreNotAccepted) {
  std::vector<Complex> found = published(problem);
  found.push_back(found.back());
  EXPECT_EQ(first_wrong_step(problem, found), static_cast<int>(found.size()));
}

TEST(FtClasses, UnknownOnesAreRefused) {
  for (const char* name : {"", "s", "C", "SW"}) EXPECT_FALSE(problem_of(name)) << name;
}

// 5^13 * 314159265 = 383495196533203125 = 55909509111989 mod 2^46.
TEST(FtGenerator, BeginsAsNpbDoes) { EXPECT_EQ(Generator(0).next(), 55909509111989.0 / 70368744177664.0); }

TEST(FtGenerator, JumpsAhead) {
  Generator steps(0);
  for (int skipped = 0; skipped < 1000; ++skipped) {
    const double number = steps.next();
    ASSERT_EQ(Generator(skipped).next(), number) << skipped;
  }
}

TEST(FtInitial, APlaneIsTheSameWhereverARankBegins) {
  const Problem problem = problem_of("S").value();
  const std::size_t plane = 64 * 64;
  std::vector<Complex> all(5 * plane), part(2 * plane);
  fill_initial(problem, 0, all);
  fill_initial(problem, 3, part);
  for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], all[3 * plane + i]) << i;
}

TEST(FtStep, WaveNumbersAreSymmetric) {
  const std::vector<double> factors = step_factors(8);
  EXPECT_EQ(factors[0], 1.0);
  EXPECT_LT(factors[4], factors[3]);  // wave number -4
  for (int k = 1; k < 4; ++k) EXPECT_EQ(factors[k], factors[8 - k]);
}

}  // namespace
}  // namespace ft
