// For enqueue_check.cpp: what a rank knows, and calls of which a kernel makes what is sent and another one looks at
// what has come.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "enqueued_device.hpp"
#include "program.hpp"
#include "quadrille.h"

namespace quadrille::test::enqueued {

using test::begin_with_threads, test::check, test::rank, test::say_verdict, test::size;

inline int first_with_driver = 0;  // of the ranks
inline bool never_waits = false;   // those ranks

inline unsigned long calls_of(const char* what) { return device.count(what, "libquadrille"); }
// Of the host for the device, by Quadrille; nor may it let the driver call it.
inline unsigned long waits() {
  if (!device.is_there()) return 0;
  unsigned long sum = 0;
  for (const char* what : {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize", "cuStreamQuery",
                           "hipStreamSynchronize", "hipDeviceSynchronize", "hipEventSynchronize", "hipStreamQuery",
                           "cuLaunchHostFunc", "cuStreamAddCallback", "hipLaunchHostFunc"}) {
    sum += calls_of(what);
  }
  return sum;
}

inline void set(const char* name, const char* value) {
  if (device.is_there() && !device.set(name, value)) must(-1, name);
}

// Ints in the device's memory, or the host's where there is none. `view` is for kernels and the test.
struct Ints {
  explicit Ints(std::size_t n) : count(n) {
    if (device.is_there()) {
      on_device = allocate(n * sizeof(int));
      data = reinterpret_cast<int*>(on_device);
      view = static_cast<int*>(device.host(on_device, n * sizeof(int)));
    } else {
      host.resize(n);
      data = view = host.data();
    }
  }
  Ints(const Ints&) = delete;
  Ints& operator=(const Ints&) = delete;
  ~Ints() {
    if (on_device != 0) release(on_device);
  }
  void fill(int value) { std::fill(view, view + count, value); }
  std::size_t count;
  std::vector<int> host;
  std::uintptr_t on_device = 0;
  int *data = nullptr, *view = nullptr;
};

// Work of the device in a stream; where there is none it is done here and now.
inline void in_stream(Handle stream, Kernel work) {
  if (!device.is_there()) return work();
  launch(stream, std::move(work));
}
inline Handle new_stream(bool blocking = false) { return device.is_there() ? make_stream(blocking) : nullptr; }
inline void synchronize(Handle stream) {
  if (device.is_there()) must(device.synchronize()(stream), "synchronize");
}

inline int value(int from, int to, int i, int turn) { return from * 100003 + to * 1009 + i + turn * 17 + 1; }

enum class Form { uniform, vector, typed };

// One communicator's calls with blocks of `n` ints, between which there are as many that are not theirs.
class Exchange {
 public:
  Exchange(MPI_Comm comm, int n, Form form, bool in_place)
      : comm_(comm),
        n_(n),
        form_(form),
        in_place_(in_place),
        pitch_(form == Form::uniform ? n : 2 * n),
        send_(static_cast<std::size_t>(pitch_ * size)),
        recv_(static_cast<std::size_t>(pitch_ * size)) {}

  // In the stream: sends what a kernel makes, and a kernel looks at what has come. Both buffers are then overwritten.
  void turn(Handle stream, int number) {
    make(stream, number);
    check(enqueue(stream) == MPI_SUCCESS, "enqueued");
    look(stream, number);
  }
  void make(Handle stream, int number) {
    in_stream(stream, [this, number] {
      fill(send_, number);
      recv_.fill(-5);
      if (in_place_) fill(recv_, number);
    });
  }
  int enqueue(Handle stream) {
    const auto n = static_cast<std::size_t>(size);
    std::vector<int> counts_here(n, n_), places(n), bytes(n);
    std::vector<MPI_Datatype> types(n, MPI_INT);
    for (std::size_t i = 0; i < n; ++i) {
      places[i] = static_cast<int>(i) * pitch_;
      bytes[i] = places[i] * static_cast<int>(sizeof(int));
    }
    const void* const from = in_place_ ? MPI_IN_PLACE : static_cast<const void*>(send_.data);
    int error = MPI_SUCCESS;
    if (form_ == Form::uniform) {
      error = Quadrille_Alltoall_enqueue(from, n_, MPI_INT, recv_.data, n_, MPI_INT, stream, comm_);
    } else if (form_ == Form::vector) {
      error = Quadrille_Alltoallv_enqueue(from, counts_here.data(), places.data(), MPI_INT, recv_.data,
                                          counts_here.data(), places.data(), MPI_INT, stream, comm_);
    } else {
      error = Quadrille_Alltoallw_enqueue(from, counts_here.data(), bytes.data(), types.data(), recv_.data,
                                          counts_here.data(), bytes.data(), types.data(), stream, comm_);
    }
    // They were copied.
    std::fill(counts_here.begin(), counts_here.end(), 1 << 20);
    std::fill(places.begin(), places.end(), -(1 << 20));
    std::fill(bytes.begin(), bytes.end(), -(1 << 20));
    std::fill(types.begin(), types.end(), MPI_DATATYPE_NULL);
    return error;
  }
  void look(Handle stream, int number) {
    in_stream(stream, [this, number] {
      send_.fill(-3);
      ++looked_;
      for (int peer = 0; peer < size; ++peer) {
        for (int i = 0; i < pitch_; ++i) {
          const int found = recv_.view[peer * pitch_ + i];
          check(found == (i < n_ ? value(peer, rank, i, number) : -5), "what has come");
        }
      }
      recv_.fill(-9);
    });
  }
  int looked() const { return looked_; }
  Ints& sent() { return send_; }
  Ints& got() { return recv_; }

 private:
  void fill(Ints& ints, int number) {
    for (int peer = 0; peer < size; ++peer) {
      for (int i = 0; i < n_; ++i) ints.view[peer * pitch_ + i] = value(rank, peer, i, number);
    }
  }
  MPI_Comm comm_;
  const int n_;
  const Form form_;
  const bool in_place_;
  const int pitch_;
  Ints send_, recv_;
  std::atomic<int> looked_ = 0;
};

}  // namespace quadrille::test::enqueued
