// Forms of one call, measured by turns in one run.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace quadrille::measure {

struct Form {
  std::string name;
  std::function<void()> call;
  std::vector<double> times;  // microseconds of a call, of the slowest rank, for each batch
};

inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

// The order of the forms is drawn anew in each batch, the same on all ranks.
inline void measure_by_turns(std::vector<Form>& forms, int batches, int calls) {
  std::mt19937 random(1);
  std::vector<std::size_t> order(forms.size());
  for (std::size_t f = 0; f < order.size(); ++f) order[f] = f;
  for (int b = -2; b < batches; ++b) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t f : order) {
      for (int i = 0; i < 5; ++i) forms[f].call();
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      for (int i = 0; i < calls; ++i) forms[f].call();
      double mine = (MPI_Wtime() - begin) / calls * 1e6, slowest = 0;
      MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (b >= 0) forms[f].times.push_back(slowest);
    }
  }
}

inline int calls_of(std::size_t block_bytes) { return block_bytes <= 4096 ? 500 : block_bytes <= 65536 ? 100 : 20; }

// The median of what `of` gives for the times of two forms in one batch, and its quartiles.
template <class Of>
void print_pair(const char* name, const Form& one, const Form& other, Of of) {
  std::vector<double> values;
  for (std::size_t b = 0; b < one.times.size(); ++b) values.push_back(of(one.times[b], other.times[b]));
  std::printf("  %s %.3f (%.3f..%.3f)", name, quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75));
}
inline void print_ratio(const char* name, const Form& ours, const Form& theirs) {
  print_pair(name, ours, theirs, [](double a, double b) { return a / b; });
}
inline void print_difference(const char* name, const Form& ours, const Form& theirs) {
  print_pair(name, ours, theirs, [](double a, double b) { return a - b; });
}

inline void print_times(const std::vector<Form>& forms) {
  for (const Form& form : forms) std::printf("  %s %.3f", form.name.c_str(), quantile(form.times, 0.5));
}

}  // namespace quadrille::measure
