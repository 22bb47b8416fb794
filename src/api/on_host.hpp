// A call whose buffers are a device's memory, made with buffers of the host.
#pragma once

#include <cstddef>
#include <memory>

#include "memory/device.hpp"
#include "run/call.hpp"

namespace quadrille::api {

// Where a buffer is is a fact of one rank, on which the others cannot go by, and which the MPI may not support. So the
// rank brings its data to the host, takes part in the call as any other, and brings them back. What lies between the
// blocks of a receive buffer stays as it was. The blocks of a side must be in one piece of memory of the device.
class OnHost {
 public:
  // `blocks` of each side, as many as the user's arrays have. Throws std::bad_alloc.
  OnHost(const run::Call& call, int send_blocks, int recv_blocks, const memory::DeviceDriver& driver);
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;
  // The call with buffers that the processor can reach.
  const run::Call& call() const { return call_; }
  // Brings the data to the host once more: for the next start of a persistent call.
  void fetch();
  // Brings what was received to the device. Returns an MPI error code.
  int finish();

 private:
  struct Copy {
    std::byte* device = nullptr;
    std::unique_ptr<std::byte[]> host;
    std::size_t bytes = 0;
  };
  void take(run::Side& side, int blocks, Copy& copy);

  const memory::DeviceDriver& driver_;
  run::Call call_;
  Copy send_, recv_;
  bool failed_ = false;
};

// Makes a call by `run`, which returns an MPI error code: with its buffers as they are, unless the program has loaded a
// driver.
template <class Run>
int run_anywhere(const run::Call& call, int send_blocks, int recv_blocks, Run&& run) {
  const memory::DeviceDriver* const driver = memory::device_driver();
  if (driver == nullptr) return run(call);
  OnHost on_host(call, send_blocks, recv_blocks, *driver);
  const int error = run(on_host.call());
  const int brought = on_host.finish();
  return error != MPI_SUCCESS ? error : brought;
}

}  // namespace quadrille::api
