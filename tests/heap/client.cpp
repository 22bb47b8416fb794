// A C++ program as a user writes it. Prints a sum that must not depend on the library, and then "heap"
// or "none": whether its data is in the shared heap.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "maps.hpp"

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "--close") == 0) {
    std::vector<char> first(100'000);  // starts the heap
    for (int descriptor = 3; descriptor < 2000; ++descriptor) close(descriptor);
  }
  std::vector<long> numbers(500'000);
  std::iota(numbers.begin(), numbers.end(), 0L);
  std::reverse(numbers.begin(), numbers.end());
  std::sort(numbers.begin(), numbers.end());
  std::unordered_map<int, std::string> texts;
  for (int i = 0; i < 20'000; ++i) texts[i] = std::string(static_cast<std::size_t>(i % 40'000), 'a');
  std::map<std::size_t, int> lengths;
  for (const auto& [key, text] : texts) ++lengths[text.size() % 97];
  texts.clear();
  long sum = std::accumulate(numbers.begin(), numbers.end(), 0L);
  for (const auto& [length, times] : lengths) sum += static_cast<long>(length) * times;
  const bool shared = quadrille::test::in_shared_heap(numbers.data());
  std::printf("%ld %s\n", sum, shared ? "heap" : "none");
  return 0;
}
