#include "run/call.hpp"

namespace quadrille::run {

namespace {

// Makes `array`, if there is one, point to a copy of its first elements. That there is one says which form the call
// has, also if it has no elements.
template <class T>
void own(const T*& array, std::vector<T>& copy, int elements) {
  if (array == nullptr) return;
  copy.reserve(1);
  copy.assign(array, array + elements);
  array = copy.data();
}

}  // namespace

void StoredCall::Arrays::take(Side& side, int blocks) {
  if (side.types) {
    types.reserve(1);
    types.assign(side.types, static_cast<std::size_t>(blocks));
    side.types = types.all();
  }
  own(side.counts, counts, blocks);
  own(side.displacements, displacements, blocks);
  own(side.counts_large, counts_large, blocks);
  own(side.displacements_large, displacements_large, blocks);
}

StoredCall::StoredCall(const Call& call, int send_blocks, int recv_blocks) : call_(call) {
  if (!call.in_place) send_.take(call_.send, send_blocks);  // else they may be anything
  recv_.take(call_.recv, recv_blocks);
}

}  // namespace quadrille::run
