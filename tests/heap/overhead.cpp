// Nanoseconds of malloc, touch and free for a program that never communicates.
//   overhead          prints "bytes ns" lines
// Run it natively, with LD_PRELOAD=lib/libquadrille_mpi.so, and with QUADRILLE_HEAP=early too:
// `lab/applications.py run --only heap-cost` alternates these.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

// The best of several passes: everything else is somebody else's work.
double best_ns(std::size_t bytes, int live) {
  using Clock = std::chrono::steady_clock;
  void* blocks[64];
  const int rounds = std::max(20, static_cast<int>(4'000'000 / (bytes + 1000)) / live);
  double best = 1e30;
  for (int pass = 0; pass < 100; ++pass) {
    const auto begin = Clock::now();
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < live; ++i) {
        blocks[i] = malloc(bytes);
        *static_cast<volatile char*>(blocks[i]) = 1;
      }
      for (int i = 0; i < live; ++i) free(blocks[i]);
    }
    const std::chrono::duration<double, std::nano> time = Clock::now() - begin;
    best = std::min(best, time.count() / (rounds * live));
  }
  return best;
}

}  // namespace

int main() {
  for (std::size_t bytes = 16; bytes <= 256 * 1024; bytes *= 4) {
    std::printf("%8zu %9.1f %9.1f\n", bytes, best_ns(bytes, 1), best_ns(bytes, 32));
  }
}
