// The neighbours of this rank in a graph of any kind, and how much goes along each edge.
//
// The k-th edge to a rank is that rank's k-th edge from here. Where several edges join two ranks, the same bytes go
// along all of them: some MPIs mix them up, and that is no matter then.
#pragma once

#include <cstddef>
#include <vector>

namespace quadrille::tools {

struct BenchEdges {
  std::vector<int> sources, destinations;
  std::vector<std::size_t> received, sent;  // bytes along each
};

}  // namespace quadrille::tools
