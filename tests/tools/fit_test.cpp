#include "tool/tune/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace quadrille::tools {
namespace {

using plan::Term;

const plan::Machine& truth() {
  static const plan::Machine machine = [] {
    plan::Machine m{1.5e-6, 0.4e-9, 0.1e-9, 20e-9, 3e-6};
    m.node_message = 0.3e-6, m.node_byte = 0.1e-9, m.near_message = 0.4e-6, m.near_byte = 0.2e-9;
    m.shared_byte = 0.15e-9, m.shared_block = 30e-9, m.fence = 1e-6, m.flight = 0.05e-6, m.handshake = 20e-6;
    return m;
  }();
  return machine;
}

std::vector<Sample> samples(double noise) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> amount(0, 1), error(1 - noise, 1 + noise);
  std::vector<Sample> list;
  for (int i = 0; i < 200; ++i) {
    Sample s;
    // Each term makes about as much of the time, in other shares each time.
    for (const plan::TermRow& row : plan::term_rows)
      of(s.amounts, row.term) = amount(random) * 1e-4 / (truth().*row.constant);
    s.seconds = plan::time(s.amounts, truth()) * error(random);
    list.push_back(s);
  }
  return list;
}

TEST(Fit, FindsTheConstantsAgain) {
  const plan::Machine found = fit(samples(0));
  for (const plan::TermRow& row : plan::term_rows)
    EXPECT_NEAR(found.*row.constant / truth().*row.constant, 1, 1e-5) << row.name;
  EXPECT_LT(median_error(samples(0), found), 1e-6);
  EXPECT_TRUE(not_told_apart(samples(0)).empty());
}

TEST(Fit, NoiseMovesItLittle) {
  const std::vector<Sample> noisy = samples(0.1);
  const plan::Machine found = fit(noisy);
  EXPECT_NEAR(found.alpha / truth().alpha, 1, 0.3);
  EXPECT_LT(median_error(noisy, found), 0.1);
}

TEST(Fit, NothingIsNegative) {
  // Copies that seem to save time are noise.
  std::vector<Sample> list;
  for (int i = 1; i <= 10; ++i) {
    Sample s;
    of(s.amounts, Term::message) = 10.0 * i;
    of(s.amounts, Term::copied_byte) = 100.0 * i * i;
    s.seconds = 10.0 * i * 1e-6 - 1e-9 * i * i;
    list.push_back(s);
  }
  const plan::Machine found = fit(list);
  EXPECT_GT(found.alpha, 0);
  EXPECT_EQ(found.gamma, 0);
  EXPECT_EQ(found.beta, 0);
}

bool says(const std::vector<std::string>& lines, const std::string& words) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(words) != std::string::npos; });
}

TEST(Fit, SaysWhatCannotBeToldApart) {
  std::vector<Sample> list = samples(0);
  for (Sample& s : list) {
    of(s.amounts, Term::node_message) = 2 * of(s.amounts, Term::message);  // two ranks a node that all send the same
    of(s.amounts, Term::fence) = 0;
    of(s.amounts, Term::round) = of(s.amounts, Term::near_message) + of(s.amounts, Term::flight) / 8;
  }
  const std::vector<std::string> lines = not_told_apart(list);
  EXPECT_TRUE(says(lines, "fence not measured"));
  EXPECT_TRUE(says(lines, "message and node_message cannot be distinguished"));
  EXPECT_TRUE(says(lines, "round hardly distinguishable"));
  EXPECT_FALSE(says(lines, "byte and"));
  // Of the two the first has it all, so what is predicted is right all the same.
  const plan::Machine found = fit(list);
  EXPECT_EQ(found.node_message, 0);
}

TEST(Fit, WhatWasNotMeasuredCostsAsItsLike) {
  std::vector<Sample> list = samples(0);
  for (Sample& s : list) {
    for (const Term term : {Term::near_message, Term::near_byte, Term::fence, Term::shared_block, Term::shared_byte})
      of(s.amounts, term) = 0;
    s.seconds = plan::time(s.amounts, truth());
  }
  plan::Machine found = fit(list);
  fill_unknown(found, list);
  EXPECT_DOUBLE_EQ(found.near_message, found.alpha);
  EXPECT_DOUBLE_EQ(found.near_byte, found.beta);
  EXPECT_DOUBLE_EQ(found.shared_block, found.delta);
  EXPECT_DOUBLE_EQ(found.fence, found.rho);
}

}  // namespace
}  // namespace quadrille::tools
