#include "plan.hpp"

#include <algorithm>
#include <sstream>

#include "doors.hpp"

namespace quadrille::fuzz {
namespace {

// Sizes at which something changes: a cache line with its number, slots of inboxes, the heap's smallest block, CMA.
std::size_t draw_bytes(Draw& draw, std::size_t most) {
  const std::size_t edge = draw.pick({48, 64, 128, 176, 944, 1024, 4096, 4144, 8192, 16384, 32768, 131072});
  std::size_t bytes = 0;
  switch (draw.below(20)) {
    case 0:
      return 0;
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      bytes = draw.between(1, 64);
      break;
    case 6:
    case 7:
    case 8:
    case 9:
      bytes = draw.between(65, 4200);
      break;
    case 10:
    case 11:
    case 12:
      bytes = edge - draw.below(3) * 8 + draw.below(17);
      break;
    case 13:
    case 14:
    case 15:
      bytes = draw.between(4200, 32 << 10);
      break;
    case 16:
    case 17:
      bytes = draw.between(32 << 10, 256 << 10);
      break;
    default:
      bytes = draw.between(1, most);
      break;
  }
  return std::min(bytes, most);
}

Collective draw_collective(Draw& draw, const Communicator& c, int only) {
  const bool neighbors = c.topology && !draw.one_in(4);
  static const std::vector<Collective> dense = those(is_dense);
  static const std::vector<Collective> among_neighbors =
      those([](Collective one) { return is_neighbor(one) && row_of(one).of_mpi; });
  if (only >= 0 && (c.topology || is_dense(static_cast<Collective>(only)))) return static_cast<Collective>(only);
  return draw.pick(neighbors ? among_neighbors : dense);
}

// What the MPI has, and does rightly or is not asked for.
bool is_fit(Form form, Collective collective, const Communicator& c, const Wishes& wishes) {
  if (!is_there(collective, form)) return false;
  if (is_blocking(form) || is_served(form, c, wishes)) return true;
  return !wishes.skips.nonblocking && !(is_persistent(form) && wishes.skips.persistent);
}

Form draw_form(Draw& draw, Collective collective, bool blocking_only, const Communicator& c, const Wishes& wishes) {
  Form form = Form::blocking;
  const std::size_t chance = draw.below(20);
  if (chance < 4) form = Form::blocking_c;
  if (chance >= 17 && !blocking_only) {
    form = draw.pick({Form::nonblocking, Form::nonblocking_c, Form::persistent, Form::persistent_c});
  }
  if (is_fit(form, collective, c, wishes)) return form;
  if (is_blocking(form)) return Form::blocking;
  for (const Form instead : {Form::nonblocking_c, Form::nonblocking, Form::persistent}) {
    if (is_fit(instead, collective, c, wishes)) return instead;
  }
  return Form::blocking;
}

}  // namespace

std::string name_of(Collective collective, Form form) {
  std::string name(name_of(collective));
  if (form == Form::nonblocking || form == Form::nonblocking_c) {
    name = "I" + name;
  } else {
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
  }
  name = "MPI_" + name;
  if (is_persistent(form)) name += "_init";
  if (is_large(form)) name += "_c";
  return name;
}

bool is_served(Form form, const Communicator& c, const Wishes& wishes) {
  if (c.inter || c.size < 2) return false;
  switch (form) {
    case Form::blocking:
      return wishes.served;
    case Form::blocking_c:
      return wishes.served_large;
    case Form::nonblocking:
      return wishes.served_requests && c.ready;
    case Form::persistent:
      return wishes.served_requests;
    default:
      return false;
  }
}

bool is_there(Collective collective, Form form) { return function_of(collective, form) != nullptr; }

std::size_t CallPlan::elements(int from, int to, int id) const {
  if (is_regular(collective) || same_for_all) return quantum * most;
  if (is_allgather(collective)) to = id = 0;
  if (in_place && from > to && !is_allgather(collective)) std::swap(from, to);
  Draw draw(seed_of(
      {seed, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), static_cast<std::uint64_t>(id)}));
  const bool special = Draw(seed + 5).below(3) == static_cast<std::size_t>(from) % 3;
  switch (pattern) {
    case Pattern::even:
      return quantum * most;
    case Pattern::random:
      return draw.one_in(4) ? 0 : quantum * draw.between(0, most);
    case Pattern::zero_rows:
      return from % 2 == 0 ? 0 : quantum * draw.between(0, most);
    case Pattern::zero_columns:
      return (in_place ? from + to : to) % 2 == 0 ? 0 : quantum * most;
    case Pattern::zero:
      return 0;
    case Pattern::giant:
      return quantum * (special && draw.one_in(3) ? most : std::min<std::size_t>(most, draw.below(4)));
    case Pattern::sparse:
      return draw.one_in(5) ? quantum * draw.between(0, most) : 0;
  }
  return 0;
}

std::string CallPlan::describe() const {
  constexpr const char* patterns[] = {"even", "random", "zero rows", "zero columns", "zero", "giant", "sparse"};
  std::ostringstream text;
  text << name_of(collective, form) << (in_place ? " in place" : "") << ", " << quantum << "*" << most << " x "
       << base->name;
  if (!is_regular(collective)) text << ", " << patterns[static_cast<int>(pattern)];
  if (same_for_all) text << ", same for all";
  text << ", " << repeats << " times";
  return text.str();
}

CallPlan draw_call(std::uint64_t seed, const Communicator& c, const Wishes& wishes, bool blocking_only) {
  Draw draw(seed);
  CallPlan plan;
  plan.seed = draw.next();
  plan.collective = draw_collective(draw, c, wishes.only_collective);
  plan.form = draw_form(draw, plan.collective, blocking_only, c, wishes);
  if (wishes.skips.lone_started && !c.inter && c.size < 2 && !is_blocking(plan.form)) plan.form = Form::blocking;
  if (!is_served(plan.form, c, wishes)) plan.skips = wishes.skips;
  if (plan.skips.lone_w && !c.inter && c.size < 2 && is_typed(plan.collective)) plan.collective = Collective::alltoallv;
  if (plan.skips.gatherv_types && plan.collective == Collective::allgatherv) plan.skips.uneven_types = true;
  if (plan.skips.uniform_types && plan.collective == Collective::alltoall) plan.skips.uneven_types = true;
  plan.in_place = !is_neighbor(plan.collective) && !c.inter && !plan.skips.in_place && draw.one_in(5);
  if (plan.skips.started_in_place && !is_blocking(plan.form)) plan.in_place = false;
  plan.same_for_all = !plan.in_place && draw.one_in(12);
  plan.base = &(draw.one_in(2) ? bases()[draw.below(3)] : draw.pick(bases()));
  if (plan.skips.gaps && !plan.base->dense()) plan.base = &bases()[0];
  plan.quantum = draw.pick<std::size_t>({1, 1, 2, 3, 4, 6, 8, 12});
  // A rank of a neighbour collective has as many messages as it has edges, which not all ranks know.
  const std::size_t messages = (c.everybody.size() + c.world.size()) * (is_neighbor(plan.collective) ? 2 : 1) / 2;
  const std::size_t most = (draw.one_in(64) ? 8 : 1) * wishes.most_bytes / messages;
  const std::size_t bytes = draw_bytes(draw, most), unit = plan.quantum * plan.base->size;
  plan.most = bytes == 0 ? 0 : std::max<std::size_t>(1, bytes / unit);
  plan.pattern = static_cast<Pattern>(draw.below(7));
  plan.repeats = static_cast<int>(draw.pick<std::size_t>({1, 2, 3, 4, 6, 8, 14}));
  if (bytes > (256U << 10)) plan.repeats = std::min(plan.repeats, 3);
  return plan;
}

}  // namespace quadrille::fuzz
