#include "team/record_starts.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "mpi/thrown.hpp"
#include "mpi/types.hpp"
#include "sys/sys.hpp"
#include "team/record_parts.hpp"
#include "team/record_tables.hpp"

namespace quadrille::record {
namespace {

// What a request sends: in bytes, with numbers of its own, since the program may free its datatypes and change its
// arrays.
struct Sent {
  run::Call call;
  std::vector<MpiCount> bytes;          // of each block, where they differ
  std::shared_ptr<const MpiComm> comm;  // MPI_COMM_NULL once the program has freed it
  const char* by = "mpi";               // what carries it out
};

// Outliving all destructors: a program may free a request late. How many there are can be seen without the lock, so
// that a program without any pays for one look when it starts or frees others.
struct Made {
  std::mutex mutex;
  std::unordered_map<MpiRequest, std::shared_ptr<Sent>> all;
  std::atomic<std::size_t> count = 0;

  static Made& here() { return sys::immortal<Made>(); }
};

// How many blocks of a call's arrays are sent, at most.
std::size_t blocks_of(const run::Call& call, CommunicatorHere& communicator) {
  if (is_dense(call.collective)) return static_cast<std::size_t>(communicator.ranks);
  const std::vector<int>& numbers = Tables::here().neighbors_of(communicator).numbers;
  return numbers.empty() ? 0 : static_cast<std::size_t>(*std::max_element(numbers.begin(), numbers.end())) + 1;
}

void tell_blocks(Sent& sent, const run::Call& call, CommunicatorHere& communicator) {
  const run::Side& side = sent_side(call);
  if (has_one_block(call.collective)) {
    const std::ptrdiff_t count = count_of(call, communicator.rank);
    if (count > 0) sent.call.send.count = static_cast<std::size_t>(count) * type_info(side.type_of(0)).size;
    return;
  }
  const std::size_t blocks = blocks_of(call, communicator);
  sent.bytes.assign(std::max<std::size_t>(blocks, 1), 0);  // the array is there, also without blocks
  for (std::size_t b = 0; b < blocks; ++b) {
    const int block = static_cast<int>(b);
    const MpiCount count = side.count_of(block);
    if (count <= 0) continue;  // its type may be none
    sent.bytes[b] = count * static_cast<MpiCount>(type_info(side.type_of(block)).size);
  }
  sent.call.send.counts_large = sent.bytes.data();
}

std::shared_ptr<Sent> sent_by(const run::Call& call, const char* by) {
  auto sent = std::make_shared<Sent>();
  CommunicatorHere* const communicator = Tables::here().communicator_of(call.comm);
  if (communicator == nullptr) return nullptr;
  sent->by = by;
  sent->comm = communicator->there;
  sent->call.collective = call.collective;
  sent->call.send.type = mpi().byte;
  tell_blocks(*sent, call, *communicator);
  return sent;
}

}  // namespace

void keep_made(MpiRequest request, const run::Call& call, const char* by) {
  static_cast<void>(thrown_by([&] {
    std::shared_ptr<Sent> sent = sent_by(call, by);
    Made& made = Made::here();
    const std::scoped_lock lock(made.mutex);
    made.all[request] = std::move(sent);
    made.count = made.all.size();
  }));
}

void forget_made(MpiRequest request) {
  Made& made = Made::here();
  if (made.count == 0) return;
  const std::scoped_lock lock(made.mutex);
  made.all.erase(request);
  made.count = made.all.size();
}

void begin_start(Recorded& recorded, MpiRequest request, Form form, const void* site) {
  Made& made = Made::here();
  if (made.count == 0) return;
  // Finding the site may wait for Python's lock: not under ours.
  std::shared_ptr<Sent> sent;
  {
    const std::scoped_lock lock(made.mutex);
    if (const auto found = made.all.find(request); found != made.all.end()) sent = found->second;
  }
  if (sent == nullptr) return;
  sent->call.comm = *sent->comm;
  recorded.begin(sent->call, form, site);
  by(sent->by);
}

}  // namespace quadrille::record
