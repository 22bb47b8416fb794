// Idea    Least squares with no negative constant, by coordinate descent: the normal equations are solved for one
//         unknown at a time, cut off at 0, until nothing changes. The sum is convex, so this finds the least one. Of
//         terms that the samples do not tell apart the first gets all.
#include "tool/tune/fit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace quadrille::tools {
namespace {

constexpr std::size_t unknowns = plan::terms;
using Row = std::array<double, unknowns>;

// Divided by its time, each sample is to come to 1. Columns are scaled to length 1.
struct Equations {
  std::array<Row, unknowns> products{};
  Row wanted{}, scale{};
};

Equations equations_of(std::span<const Sample> samples) {
  Equations e;
  for (const Sample& s : samples) {
    for (std::size_t i = 0; i < unknowns; ++i) {
      e.wanted[i] += s.amounts[i] / s.seconds;
      for (std::size_t j = 0; j < unknowns; ++j)
        e.products[i][j] += s.amounts[i] * s.amounts[j] / (s.seconds * s.seconds);
    }
  }
  for (std::size_t i = 0; i < unknowns; ++i) e.scale[i] = std::sqrt(e.products[i][i]);
  for (std::size_t i = 0; i < unknowns; ++i) {
    if (e.scale[i] == 0) continue;
    e.wanted[i] /= e.scale[i];
    for (std::size_t j = 0; j < unknowns; ++j) e.products[i][j] /= e.scale[j] > 0 ? e.scale[i] * e.scale[j] : 1;
  }
  return e;
}

// The part of column `of` that no sum of the others makes, of its length 1; by elimination.
double rest_of_column(const Equations& e, std::size_t of) {
  std::array<Row, unknowns> m = e.products;
  std::array<bool, unknowns> used{};
  for (std::size_t step = 0; step < unknowns; ++step) {
    std::size_t pivot = unknowns;
    for (std::size_t i = 0; i < unknowns; ++i) {
      if (i == of || used[i] || e.scale[i] == 0) continue;
      if (pivot == unknowns || m[i][i] > m[pivot][pivot]) pivot = i;
    }
    if (pivot == unknowns || m[pivot][pivot] < 1e-9) break;
    used[pivot] = true;
    for (std::size_t i = 0; i < unknowns; ++i) {
      if (i == pivot || (used[i] && i != of)) continue;
      const double factor = m[i][pivot] / m[pivot][pivot];
      for (std::size_t j = 0; j < unknowns; ++j) m[i][j] -= factor * m[pivot][j];
    }
  }
  return std::max(m[of][of], 0.0);
}

std::string name_of_term(std::size_t term) { return std::string(plan::term_rows[term].name); }

}  // namespace

plan::Machine fit(std::span<const Sample> samples) {
  constexpr double same = 1 - 1e-9;
  Equations e = equations_of(samples);
  for (std::size_t i = 0; i < unknowns; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (e.scale[j] > 0 && e.products[i][j] > same) e.scale[i] = 0;
    }
  }
  Row x{};
  for (int sweep = 0; sweep < 100000; ++sweep) {
    double change = 0;
    for (std::size_t i = 0; i < unknowns; ++i) {
      if (e.scale[i] == 0) continue;
      double rest = e.wanted[i];
      for (std::size_t j = 0; j < unknowns; ++j) {
        if (j != i && e.scale[j] > 0) rest -= e.products[i][j] * x[j];
      }
      const double next = std::max(rest, 0.0);
      change = std::max(change, std::abs(next - x[i]));
      x[i] = next;
    }
    if (change < 1e-12) break;
  }
  plan::Machine machine{};
  for (std::size_t i = 0; i < unknowns; ++i)
    machine.*plan::term_rows[i].constant = e.scale[i] > 0 ? x[i] / e.scale[i] : 0;
  return machine;
}

void fill_unknown(plan::Machine& machine, std::span<const Sample> samples) {
  using plan::Term;
  const auto known = [&](Term term) {
    return std::any_of(samples.begin(), samples.end(), [&](const Sample& s) { return of(s.amounts, term) > 0; });
  };
  constexpr std::pair<Term, Term> alike[] = {{Term::near_message, Term::message},
                                             {Term::near_byte, Term::byte},
                                             {Term::copied_block, Term::shared_block},
                                             {Term::copied_byte, Term::shared_byte},
                                             {Term::shared_block, Term::copied_block},
                                             {Term::shared_byte, Term::copied_byte},
                                             {Term::fence, Term::round}};
  for (const auto& [term, other] : alike) {
    if (known(term) || !known(other)) continue;
    machine.*plan::term_rows[static_cast<std::size_t>(term)].constant =
        machine.*plan::term_rows[static_cast<std::size_t>(other)].constant;
  }
}

std::vector<std::string> not_told_apart(std::span<const Sample> samples) {
  constexpr double alike = 0.99, little = 0.02;
  const Equations e = equations_of(samples);
  std::vector<std::string> lines;
  std::string missing;
  for (std::size_t i = 0; i < unknowns; ++i) {
    if (e.scale[i] == 0) missing += (missing.empty() ? "" : ", ") + name_of_term(i);
  }
  if (!missing.empty()) lines.push_back(missing + " not measured: no call has any");
  for (std::size_t i = 0; i < unknowns; ++i) {
    if (e.scale[i] == 0) continue;
    std::optional<std::size_t> twin;
    for (std::size_t j = 0; j < unknowns && !twin; ++j) {
      if (j != i && e.scale[j] > 0 && e.products[i][j] > alike) twin = j;
    }
    if (twin && *twin > i) continue;  // said of the other
    if (twin) {
      lines.push_back(fmt::format("{} and {} cannot be distinguished", name_of_term(*twin), name_of_term(i)));
    } else if (rest_of_column(e, i) < little) {
      lines.push_back(fmt::format("{} hardly distinguishable from a sum of others", name_of_term(i)));
    }
  }
  return lines;
}

double median_error(std::span<const Sample> samples, const plan::Machine& machine) {
  std::vector<double> errors;
  for (const Sample& s : samples) errors.push_back(std::abs(plan::time(s.amounts, machine) / s.seconds - 1));
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2), errors.end());
  return errors[errors.size() / 2];
}

}  // namespace quadrille::tools
