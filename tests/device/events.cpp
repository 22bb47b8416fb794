// Events: marks in streams.
#include "driver.hpp"

namespace quadrille::standin {
namespace {

constexpr unsigned without_times = 2, between_processes = 4;

Event* event_of(Handle handle) {
  const auto found = driver().events.find(static_cast<Event*>(handle));
  return found == driver().events.end() ? nullptr : found->second.get();
}

}  // namespace

int create_event(Context& context, unsigned flags, Handle* handle) {
  if (handle == nullptr || flags > 7) return invalid_value;
  if ((flags & between_processes) != 0) return (flags & without_times) != 0 ? not_supported : invalid_value;
  auto event = std::make_unique<Event>();
  event->context = &context;
  event->flags = flags;
  *handle = event.get();
  driver().events[event.get()] = std::move(event);
  return success;
}

int record_event(Stream& stream, Handle handle) {
  Event* const event = event_of(handle);
  if (event == nullptr || event->context != stream.context) return invalid_handle;
  event->mark = submit(stream, [] { return success; });
  return success;
}

// What was recorded last counts; of an event that never was, nothing is waited for.
int wait_in_stream(Stream& stream, Handle handle) {
  const Event* const event = event_of(handle);
  if (event == nullptr) return invalid_handle;
  if (event->mark == nullptr || event->mark->done) return success;
  Operation operation;
  operation.run = [] { return success; };
  operation.after.push_back(event->mark);
  submit(stream, std::move(operation));
  return success;
}

int query_event(Handle handle) {
  const Event* const event = event_of(handle);
  if (event == nullptr) return invalid_handle;
  if (!ask_for(event->mark)) return not_ready;
  return event->context->error;
}

int wait_for_event(Handle handle) {
  const Event* const event = event_of(handle);
  if (event == nullptr) return invalid_handle;
  const Context& context = *event->context;
  wait_for(event->mark);
  return context.error;
}

int elapsed_time(float* milliseconds, Handle from, Handle to) {
  const Event *const begin = event_of(from), *const end = event_of(to);
  if (milliseconds == nullptr) return invalid_value;
  if (begin == nullptr || end == nullptr || begin->mark == nullptr || end->mark == nullptr) return invalid_handle;
  if (((begin->flags | end->flags) & without_times) != 0) return invalid_handle;
  if (!begin->mark->done || !end->mark->done) return not_ready;
  *milliseconds = std::chrono::duration<float, std::milli>(end->mark->when - begin->mark->when).count();
  return success;
}

int destroy_event(Handle handle) {
  return driver().events.erase(static_cast<Event*>(handle)) == 0 ? invalid_handle : success;
}

}  // namespace quadrille::standin
