#include "call.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <sstream>

#include "completion.hpp"

namespace quadrille::fuzz {
namespace {

constexpr std::size_t slim_from = 256 << 10;

std::ptrdiff_t span_of(const Type& type, std::size_t count) {
  return static_cast<std::ptrdiff_t>(count - 1) * type.extent;
}

std::ptrdiff_t round_up(std::ptrdiff_t value, std::ptrdiff_t to) {
  const std::ptrdiff_t rest = ((value % to) + to) % to;
  return rest == 0 ? value : value + to - rest;
}

// Elements of the base in one element of the type, so that a whole number of them makes up each message.
std::size_t draw_units(Draw& draw, std::size_t elements, std::size_t quantum) {
  std::vector<std::size_t> fitting = {1, elements};
  for (const std::size_t units : {quantum, quantum / 2, std::size_t{2}, std::size_t{3}, std::size_t{5}, elements / 2}) {
    if (units > 0 && elements % units == 0) fitting.push_back(units);
  }
  return draw.pick(fitting);
}

}  // namespace

void succeed(int error, const std::string& what) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(error, text, &length);
  throw Finding{what + " returned an error: " + text};
}

Call::Call(const CallPlan& plan, const Communicator& where, int me) : plan_(plan), where_(where), me_(me) {
  Draw draw(seed_of({plan.seed, 31, static_cast<std::uint64_t>(me)}));
  std::vector<std::size_t> in, out;
  for (const Edge& e : sources()) in.push_back(plan_.elements(e.peer, me_, plan_.id_of(e)));
  for (const Edge& e : targets()) out.push_back(plan_.elements(me_, e.peer, plan_.id_of(e)));
  if (is_allgather(plan_.collective)) out.assign(1, plan_.elements(me_, 0, 0));
  choose_side(draw, in, true, receive_);
  if (!plan_.in_place) choose_side(draw, out, false, send_);
  take_buffers(draw);
  make_arguments(draw);
}

Call::~Call() {
  if (request_ != MPI_REQUEST_NULL && is_persistent(plan_.form)) MPI_Request_free(&request_);
  for (MPI_Datatype& handle : own_handles_) MPI_Type_free(&handle);
  for (Type& type : send_.types) free_type(type);
  for (Type& type : receive_.types) free_type(type);
  set_writable(send_memory_, true);
  give_back(send_memory_);
  give_back(receive_memory_);
}

void Call::choose_side(Draw& draw, const std::vector<std::size_t>& elements, bool receive, Side& side) {
  std::size_t total = 0;
  for (const std::size_t count : elements) total += count * plan_.base->size;
  side.blocks.resize(elements.size());
  choose_types(draw, elements, receive, total > slim_from, side);
  choose_places(draw, elements, receive, side);
  bool any = false;
  for (const Block& b : side.blocks) {
    const Type& type = side.types[b.type];
    if (b.count == 0 || type.size == 0) continue;
    const std::ptrdiff_t low = b.at + type.first, high = b.at + span_of(type, b.count) + type.last;
    side.low = any ? std::min(side.low, low) : low;
    side.high = any ? std::max(side.high, high) : high;
    any = true;
  }
  side.absolute = !plan_.skips.absolute && draw.one_in(8);
  if (!side.absolute && !plan_.skips.absolute && draw.one_in(12)) {
    side.shift = static_cast<std::ptrdiff_t>(draw.between(1, 300)) * (draw.one_in(2) ? 16 : -16);
  }
}

void Call::choose_types(Draw& draw, const std::vector<std::size_t>& elements, bool receive, bool slim, Side& side) {
  const Skips& skips = plan_.skips;
  const auto fitting = [&](std::size_t units) {
    if (skips.uneven_types) return *plan_.base;
    Type type = draw_type(draw, *plan_.base, units, slim);
    const bool refused = (skips.gaps && !type.dense()) ||
                         (plan_.in_place && skips.in_place_lower && (type.first < 0 || type.lower < 0)) ||
                         (type.owned && type.size < 65536 && !is_right(type, 3));
    if (!refused) return type;
    free_type(type);
    return *plan_.base;
  };
  const bool gather_send = !receive && is_allgather(plan_.collective);
  if (is_typed(plan_.collective)) {
    for (std::size_t b = 0; b < elements.size(); ++b) {
      const bool empty = elements[b] == 0 && !skips.empty_types && draw.one_in(3);
      const bool again = b > 0 && elements[b] > 0 && draw.one_in(2) && side.types.back().units > 0 &&
                         elements[b] % side.types.back().units == 0;
      if (!again) {
        side.types.push_back(
            empty ? empty_type(draw)
                  : fitting(elements[b] == 0 ? draw.between(1, 3) : draw_units(draw, elements[b], plan_.quantum)));
      }
      const Type& type = side.types.back();
      side.blocks[b] = {side.types.size() - 1, type.units == 0 ? draw.below(4) : elements[b] / type.units, 0, 0};
    }
    return;
  }
  const bool one_count = is_regular(plan_.collective) || gather_send;
  std::size_t some = elements.empty() ? 0 : *std::max_element(elements.begin(), elements.end());
  // Also a rank without neighbours names the count of all: some MPIs compare the counts of the two sides.
  if (is_regular(plan_.collective)) some = plan_.elements(me_, 0, 0);
  if (some == 0 && one_count && !skips.empty_types && draw.one_in(3)) {
    side.types.push_back(empty_type(draw));
    for (Block& b : side.blocks) b.count = 3;
    side.count = 3;
    return;
  }
  const std::size_t units = some == 0   ? 1
                            : one_count ? draw_units(draw, some, plan_.quantum)
                                        : draw_units(draw, plan_.quantum, plan_.quantum);
  const std::size_t total = std::accumulate(elements.begin(), elements.end(), std::size_t{0});
  if (!gather_send && !skips.gaps && !skips.uneven_types && total > 0 && total <= 4096 && draw.one_in(9)) {
    side.types.push_back(column_type(*plan_.base, units, total + draw.below(4)));
  } else {
    side.types.push_back(fitting(units));
  }
  const std::size_t of_type = side.types[0].units;
  for (std::size_t b = 0; b < elements.size(); ++b) side.blocks[b].count = elements[b] / of_type;
  side.count = some / of_type;
}

void Call::choose_places(Draw& draw, const std::vector<std::size_t>& elements, bool receive, Side& side) {
  const bool gather_send = !receive && is_allgather(plan_.collective);
  if (gather_send) return;
  if (is_regular(plan_.collective)) {
    for (std::size_t b = 0; b < side.blocks.size(); ++b) {
      side.blocks[b].at = static_cast<std::ptrdiff_t>(b * side.blocks[b].count) * side.types[0].extent;
    }
    return;
  }
  std::vector<std::size_t> order(side.blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (draw.one_in(2)) draw.shuffle(order);
  const bool columns = !is_typed(plan_.collective) && side.types[0].name.starts_with("resized") &&
                       side.types[0].last - side.types[0].first > side.types[0].extent;
  const bool aliased = !receive && plan_.same_for_all && side.types.size() < 2 && draw.one_in(2);
  const bool packed = columns || aliased || draw.one_in(2);
  std::ptrdiff_t cursor = packed ? 0 : static_cast<std::ptrdiff_t>(draw.below(5)) - 2;
  if (is_typed(plan_.collective)) cursor *= 16;
  for (const std::size_t b : order) {
    Block& block = side.blocks[b];
    const Type& type = side.types[block.type];
    if (block.count == 0 || type.size == 0) {
      block.place = static_cast<std::ptrdiff_t>(draw.below(1000)) - 300;
    } else if (is_typed(plan_.collective)) {
      block.place = round_up(cursor - type.first, 16);
      if (!aliased) cursor = block.place + span_of(type, block.count) + type.last;
      if (!packed) cursor += static_cast<std::ptrdiff_t>(draw.below(100));
    } else {
      block.place = cursor;
      if (!aliased) cursor += static_cast<std::ptrdiff_t>(block.count + (packed ? 0 : draw.below(3)));
    }
    block.at = is_typed(plan_.collective) ? block.place : block.place * type.extent;
  }
  static_cast<void>(elements);
}

void Call::take_buffers(Draw& draw) {
  const auto lead = [&] { return 64 + 16 * draw.below(17) + (plan_.base->size == 1 ? draw.below(16) : 0); };
  const std::size_t send_lead = lead(), receive_lead = lead();
  const auto rounded = [](std::ptrdiff_t bytes) { return static_cast<std::size_t>(round_up(bytes, 16)); };
  // Where the data begin must be as aligned as the base is: `low` is a multiple of its extent or of 16.
  send_bytes_ = send_lead + rounded(send_.high - send_.low) + 80;
  receive_bytes_ = receive_lead + rounded(receive_.high - receive_.low) + 80;
  const bool together = !plan_.in_place && draw.one_in(6);
  const std::size_t first = static_cast<std::size_t>(round_up(static_cast<std::ptrdiff_t>(send_bytes_), 16));
  if (plan_.in_place) send_bytes_ = 0;
  if (together) {
    receive_memory_ = take_memory(draw, first + receive_bytes_);
    send_buffer_ = receive_memory_.data;
    receive_buffer_ = receive_memory_.data + first;
  } else {
    receive_memory_ = take_memory(draw, receive_bytes_);
    if (!plan_.in_place) send_memory_ = take_memory(draw, send_bytes_);
    send_buffer_ = send_memory_.data;
    receive_buffer_ = receive_memory_.data;
  }
  send_origin_ = send_buffer_ == nullptr ? nullptr : send_buffer_ + send_lead - send_.low;
  receive_origin_ = receive_buffer_ + receive_lead - receive_.low;
}

MPI_Datatype Call::handle_of(const Side& side, std::size_t index, unsigned char* origin) {
  const Type& type = side.types[index];
  MPI_Aint by = side.shift;
  if (side.absolute) MPI_Get_address(origin, &by);
  if (by == 0) return type.handle;
  own_handles_.push_back(moved(type, by).handle);
  return own_handles_.back();
}

template <class ArgumentSide>
void Call::make_side(Draw& draw, const Side& side, unsigned char* origin, ArgumentSide& made) {
  using Count = decltype(made.count);
  using Place = typename decltype(made.places)::value_type;
  const bool nothing = std::all_of(side.blocks.begin(), side.blocks.end(), [](const Block& b) { return b.count == 0; });
  made.buffer = side.absolute ? MPI_BOTTOM : origin - side.shift;
  // The places may be absolute where they are wide enough, and the types as they are.
  const bool by_place =
      side.absolute && sizeof(Place) == sizeof(MPI_Aint) && is_typed(plan_.collective) && draw.one_in(2);
  if (nothing && side.count == 0 && draw.one_in(3)) made.buffer = nullptr;
  std::vector<MPI_Datatype> handles;
  for (std::size_t t = 0; t < side.types.size(); ++t) {
    handles.push_back(by_place ? side.types[t].handle : handle_of(side, t, origin));
  }
  MPI_Aint address = 0;
  if (by_place) MPI_Get_address(origin, &address);
  made.type = handles.empty() ? plan_.base->handle : handles[0];
  made.count = static_cast<Count>(side.count);
  made.counts.reserve(1), made.places.reserve(1), made.types.reserve(1);  // no array is null
  for (const Block& b : side.blocks) {
    made.counts.push_back(static_cast<Count>(b.count));
    made.places.push_back(static_cast<Place>(b.place + address));
    made.types.push_back(handles[b.type]);
  }
}

template <class A>
void Call::make_arguments(Draw& draw, A& arguments) {
  make_side(draw, receive_, receive_origin_, arguments.receive);
  if (!plan_.in_place) {
    make_side(draw, send_, send_origin_, arguments.send);
  } else {
    arguments.send.buffer = MPI_IN_PLACE;
    arguments.send.type = draw.one_in(2) ? MPI_DATATYPE_NULL : MPI_INT;
  }
  before_ = arguments;
}

void Call::make_arguments(Draw& draw) {
  if (is_large(plan_.form)) {
    arguments_ = Large();
  } else if (row_of(plan_.collective).places == Places::addresses) {
    arguments_ = Mixed();
  } else {
    arguments_ = Small();
  }
  std::visit([&](auto& a) { make_arguments(draw, a); }, arguments_);
}

void Call::write(const Side& side, std::size_t block, unsigned char* origin, int from, int to, int id) const {
  if (is_allgather(plan_.collective) || plan_.same_for_all) to = -1, id = 0;
  const test::Key key{from, to,
                      seed_of({plan_.seed, static_cast<std::uint64_t>(repeat_), static_cast<std::uint64_t>(id)})};
  const Block& b = side.blocks[block];
  const Type& type = side.types[b.type];
  if (type.dense()) {
    test::fill(key, 0, b.count * type.size, origin + b.at);
    return;
  }
  std::size_t done = 0;
  for (std::size_t e = 0; e < b.count; ++e) {
    unsigned char* const element = origin + b.at + static_cast<std::ptrdiff_t>(e) * type.extent;
    for (const Run& run : type.runs) {
      test::fill(key, done, run.length, element + run.at);
      done += run.length;
    }
  }
}

void Call::fill(int repeat) {
  repeat_ = repeat;
  const std::uint64_t poison = seed_of({plan_.seed, 99, static_cast<std::uint64_t>(repeat)});
  test::fill({me_, -2, poison}, 0, receive_bytes_, receive_buffer_);
  expected_.assign(receive_buffer_, receive_buffer_ + receive_bytes_);
  unsigned char* const origin = expected_.data() + (receive_origin_ - receive_buffer_);
  for (std::size_t b = 0; b < receive_.blocks.size(); ++b) {
    const Edge& e = sources()[b];
    if (plan_.in_place && (!is_allgather(plan_.collective) || e.peer == me_)) {
      write(receive_, b, receive_origin_, me_, e.peer, 0);
    }
    if (e.peer >= 0) write(receive_, b, origin, e.peer, me_, plan_.id_of(e));
  }
  if (plan_.in_place) return;
  set_writable(send_memory_, true);
  test::fill({me_, -3, poison}, 0, send_bytes_, send_buffer_);
  for (std::size_t b = 0; b < send_.blocks.size(); ++b) {
    const Edge e = is_allgather(plan_.collective) ? Edge{me_, 0, 0} : targets()[b];
    write(send_, b, send_origin_, me_, e.peer, plan_.id_of(e));
  }
  sent_.assign(send_buffer_, send_buffer_ + send_bytes_);
  set_writable(send_memory_, false);
}

// A negative count, or a null datatype, in one that no block is without.
void Call::make_mistake(Draw& draw) {
  const bool has_blocks = !sources().empty() && !targets().empty();
  if (where_.inter || !has_blocks) return;
  auto arguments = arguments_;
  const auto spoil_side = [&](auto& side, bool may_be_negative) {
    const auto used = std::find_if(side.counts.begin(), side.counts.end(), [](auto count) { return count > 0; });
    if (used != side.counts.end() && (!may_be_negative || draw.one_in(2))) {
      side.type = side.types[static_cast<std::size_t>(used - side.counts.begin())] = MPI_DATATYPE_NULL;
      return true;
    }
    if (may_be_negative) side.count = side.counts[0] = -1;
    return may_be_negative;
  };
  // Not all MPIs look at all receive counts.
  const bool is_wrong = std::visit(
      [&](auto& a) { return plan_.in_place ? spoil_side(a.receive, false) : spoil_side(a.send, true); }, arguments);
  if (!is_wrong) return;
  // MPICH does not give the handler of a communicator to one that is made of its group.
  MPI_Comm_set_errhandler(where_.comm, MPI_ERRORS_RETURN);
  MPI_Request request = MPI_REQUEST_NULL;
  const int error =
      std::visit([&](auto& a) { return call(plan_.collective, plan_.form, a, where_.comm, &request); }, arguments);
  if (error == MPI_SUCCESS) throw Finding{"a call with a mistake returned no error"};
}

void Call::start() {
  const std::string name = name_of(plan_.collective, plan_.form);
  if (request_ == MPI_REQUEST_NULL) {
    if (Draw draw = draw_of_repeat(43); draw.one_in(12)) make_mistake(draw);
    const auto make = [&](auto& a) { return call(plan_.collective, plan_.form, a, where_.comm, &request_); };
    succeed(std::visit(make, arguments_), name);
  }
  if (!is_persistent(plan_.form)) return;
  const bool by_list = draw_of_repeat(41).one_in(3);
  succeed(by_list ? MPI_Startall(1, &request_) : MPI_Start(&request_), "MPI_Start of " + name);
}

void Call::finish() {
  if (is_blocking(plan_.form)) return;
  Draw draw = draw_of_repeat(42);
  const Completed completed = complete(draw, {&request_, 1}, plan_.skips.testall);
  succeed(completed.error, completed.by + (" of " + name_of(plan_.collective, plan_.form)));
}

// For what this rank alone chooses, each time anew.
Draw Call::draw_of_repeat(std::uint64_t what) const {
  return Draw(seed_of({plan_.seed, what, static_cast<std::uint64_t>(me_), static_cast<std::uint64_t>(repeat_)}));
}

void Call::compare(const unsigned char* got, const std::vector<unsigned char>& expected, const unsigned char* origin,
                   const char* what) const {
  if (expected.empty() || std::memcmp(got, expected.data(), expected.size()) == 0) return;
  std::size_t wrong = 0, first = 0, last = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (got[i] == expected[i]) continue;
    if (wrong++ == 0) first = i;
    last = i;
  }
  const std::ptrdiff_t base = origin - got;
  std::ostringstream text;
  text << what << ": " << wrong << " bytes are wrong, from " << static_cast<std::ptrdiff_t>(first) - base << " to "
       << static_cast<std::ptrdiff_t>(last) - base << " of [" << -base << ", "
       << static_cast<std::ptrdiff_t>(expected.size()) - base << ") in repeat " << repeat_;
  throw Finding{text.str()};
}

void Call::verify() {
  compare(receive_buffer_, expected_, receive_origin_, "receive buffer");
  if (!plan_.in_place) compare(send_buffer_, sent_, send_origin_, "send buffer was changed");
  if (arguments_ != before_) throw Finding{"the arrays of arguments were changed"};
}

std::string Call::describe() const {
  std::ostringstream text;
  text << plan_.describe() << " on " << where_.name << ", rank " << where_.rank << " of " << where_.size;
  const auto side = [&text](const char* name, const Side& s, const Memory& m) {
    text << "; " << name << " " << name_of(m.origin) << (s.absolute ? ", absolute" : "")
         << (s.shift != 0 ? ", shifted" : "") << ", [" << s.low << ", " << s.high << ")";
    for (std::size_t t = 0; t < s.types.size() && t < 4; ++t) text << ", " << s.types[t].name;
    for (std::size_t b = 0; b < s.blocks.size() && b < 10; ++b)
      text << " " << s.blocks[b].count << "@" << s.blocks[b].place;
  };
  if (!plan_.in_place) side("send", send_, send_memory_);
  side("receive", receive_, receive_memory_);
  return text.str();
}

bool Call::spoil(const std::string& mistake) {
  unsigned char* wrong = nullptr;
  if (mistake == "guard") wrong = receive_origin_ + receive_.high;
  if (mistake == "send" && !plan_.in_place && !send_memory_.writable_by_choice) wrong = send_origin_ + send_.low - 1;
  for (std::size_t b = 0; b < receive_.blocks.size(); ++b) {
    const Block& block = receive_.blocks[b];
    const Type& type = receive_.types[block.type];
    if (block.count == 0 || type.size == 0) continue;
    if (mistake == "receive") wrong = receive_origin_ + block.at + type.last - 1;
    if (mistake == "gap" && type.runs.size() == 2 &&
        type.runs[1].at > type.runs[0].at + static_cast<std::ptrdiff_t>(type.runs[0].length)) {
      wrong = receive_origin_ + block.at + type.runs[1].at - 1;
    }
  }
  if (mistake == "hang") pause();
  if (wrong == nullptr) return false;
  *wrong = static_cast<unsigned char>(*wrong ^ 1);
  return true;
}

void Call::scribble() {
  for (std::size_t i = 0; i < receive_bytes_ && !receive_memory_.shared; i += 512) receive_buffer_[i] ^= 0xff;
  // It may be read-only, or a part of the memory of the receive buffer.
  const bool own = send_memory_.data != nullptr && !send_memory_.shared && !send_memory_.writable_by_choice;
  for (std::size_t i = 0; i < send_bytes_ && own; i += 512) send_buffer_[i] ^= 0xff;
}

}  // namespace quadrille::fuzz
