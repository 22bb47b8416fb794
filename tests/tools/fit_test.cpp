#include "tools/tune/fit.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace quadrille::tools {
namespace {

std::vector<Sample> samples(const plan::Machine& truth, double noise) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> amount(0, 1), error(1 - noise, 1 + noise);
  std::vector<Sample> list;
  for (int i = 0; i < 60; ++i) {
    Sample s{1 + 100 * amount(random), 1e5 * amount(random),    1e5 * amount(random),
             500 * amount(random),     1 + 20 * amount(random), 0};
    s.seconds = modelled(s, truth) * error(random);
    list.push_back(s);
  }
  return list;
}

TEST(Fit, FindsTheConstantsAgain) {
  const plan::Machine truth{1.5e-6, 0.4e-9, 0.1e-9, 20e-9, 3e-6};
  const plan::Machine found = fit(samples(truth, 0));
  EXPECT_NEAR(found.alpha / truth.alpha, 1, 1e-6);
  EXPECT_NEAR(found.beta / truth.beta, 1, 1e-6);
  EXPECT_NEAR(found.gamma / truth.gamma, 1, 1e-6);
  EXPECT_NEAR(found.delta / truth.delta, 1, 1e-6);
  EXPECT_NEAR(found.rho / truth.rho, 1, 1e-6);
  EXPECT_LT(median_error(samples(truth, 0), found), 1e-6);
}

TEST(Fit, NoiseMovesItLittle) {
  const plan::Machine truth{1.5e-6, 0.4e-9, 0.1e-9, 20e-9, 3e-6};
  const std::vector<Sample> noisy = samples(truth, 0.1);
  const plan::Machine found = fit(noisy);
  EXPECT_NEAR(found.alpha / truth.alpha, 1, 0.2);
  EXPECT_LT(median_error(noisy, found), 0.1);
}

TEST(Fit, NothingIsNegative) {
  // Copies that seem to save time are noise.
  std::vector<Sample> list;
  for (int i = 1; i <= 10; ++i) {
    list.push_back({10.0 * i, 0, 100.0 * i * i, 0, 0, 10.0 * i * 1e-6 - 1e-9 * i * i});
  }
  const plan::Machine found = fit(list);
  EXPECT_GT(found.alpha, 0);
  EXPECT_EQ(found.gamma, 0);
  EXPECT_EQ(found.beta, 0);
}

}  // namespace
}  // namespace quadrille::tools
