#include "doors.hpp"

#include <dlfcn.h>

#include <array>

namespace quadrille::fuzz {
namespace {

// The arguments are the same in all forms, but for what follows the communicator.
template <class... Words>
int invoke(void* function, Form form, MPI_Request* request, MPI_Comm comm, Words... words) {
  if (is_blocking(form)) return reinterpret_cast<int (*)(Words..., MPI_Comm)>(function)(words..., comm);
  if (is_persistent(form)) {
    using Init = int (*)(Words..., MPI_Comm, MPI_Info, MPI_Request*);
    return reinterpret_cast<Init>(function)(words..., comm, MPI_INFO_NULL, request);
  }
  return reinterpret_cast<int (*)(Words..., MPI_Comm, MPI_Request*)>(function)(words..., comm, request);
}

template <class A>
int call_any(Collective collective, Form form, const A& a, MPI_Comm comm, MPI_Request* request) {
  void* const f = function_of(collective, form);
  const auto& s = a.send;
  const auto& r = a.receive;
  const void* const from = s.buffer;
  if (is_uniform(collective)) return invoke(f, form, request, comm, from, s.count, s.type, r.buffer, r.count, r.type);
  if (is_gather(collective)) {
    return invoke(f, form, request, comm, from, s.count, s.type, r.buffer, r.counts.data(), r.places.data(), r.type);
  }
  if (is_typed(collective)) {
    return invoke(f, form, request, comm, from, s.counts.data(), s.places.data(), s.types.data(), r.buffer,
                  r.counts.data(), r.places.data(), r.types.data());
  }
  return invoke(f, form, request, comm, from, s.counts.data(), s.places.data(), s.type, r.buffer, r.counts.data(),
                r.places.data(), r.type);
}

using Functions = std::array<std::array<void*, forms>, collectives>;

// By name, as programs that look for optional functions find them: in what is preloaded first.
Functions find_all() {
  Functions all{};
  for (std::size_t c = 0; c < collectives; ++c) {
    for (std::size_t f = 0; f < forms; ++f) {
      all[c][f] = dlsym(RTLD_DEFAULT, name_of(static_cast<Collective>(c), static_cast<Form>(f)).c_str());
    }
  }
  return all;
}

}  // namespace

void* function_of(Collective collective, Form form) {
  static const Functions all = find_all();
  return all[static_cast<std::size_t>(collective)][static_cast<std::size_t>(form)];
}

int call(Collective c, Form f, const Small& a, MPI_Comm comm, MPI_Request* r) { return call_any(c, f, a, comm, r); }
int call(Collective c, Form f, const Mixed& a, MPI_Comm comm, MPI_Request* r) { return call_any(c, f, a, comm, r); }
int call(Collective c, Form f, const Large& a, MPI_Comm comm, MPI_Request* r) { return call_any(c, f, a, comm, r); }

}  // namespace quadrille::fuzz
