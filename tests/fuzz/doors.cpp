#include "doors.hpp"

#include <dlfcn.h>

#include <array>
#include <type_traits>

#include "collective/collective.hpp"

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

// A side's arrays, as the argument list of any collective may ask for them.
template <class Count, class Place>
auto arrays_of(const typename Arguments<Count, Place>::Side& side) {
  SideArguments<MPI_Datatype, const MPI_Datatype*, MPI_Aint, Count,
                std::conditional_t<std::is_same_v<Count, int>, int, Place>>
      all;
  all.buffer = side.buffer, all.count = side.count, all.type = side.type;
  all.counts = side.counts.data(), all.types = side.types.data();
  if constexpr (std::is_same_v<Place, MPI_Aint>) all.addresses = side.places.data();
  if constexpr (std::is_same_v<Place, int> || !std::is_same_v<Count, int>) {
    all.displacements = all.bytes = side.places.data();
  }
  return all;
}

template <class Count, class Place>
int call_any(Collective collective, Form form, const Arguments<Count, Place>& a, MPI_Comm comm, MPI_Request* request) {
  void* const f = function_of(collective, form);
  const auto invoke_it = [&](auto... words) { return invoke(f, form, request, comm, words...); };
  const auto send = arrays_of<Count, Place>(a.send), receive = arrays_of<Count, Place>(a.receive);
  return do_as(
      collective, [&](auto one) { return call_with<one>(invoke_it, send, receive); }, MPI_ERR_INTERN);
}

using Functions = std::array<std::array<void*, forms>, collective_count>;

// By name, as programs that look for optional functions find them: in what is preloaded first. Open MPI 4.1 has those
// that make persistent requests under names that begin with MPIX_.
void* find(const std::string& name, Form form) {
  void* const function = dlsym(RTLD_DEFAULT, name.c_str());
  if (function != nullptr || form != Form::persistent) return function;
  return dlsym(RTLD_DEFAULT, ("MPIX" + name.substr(name.find('_'))).c_str());
}

Functions find_all() {
  Functions all{};
  for (std::size_t c = 0; c < collective_count; ++c) {
    for (std::size_t f = 0; f < forms; ++f) {
      const Form form = static_cast<Form>(f);
      all[c][f] = find(name_of(static_cast<Collective>(c), form), form);
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
