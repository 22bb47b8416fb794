// Streams: queues of work, and who does it when. Any thread that calls the driver may do some; a thread of our own does
// what nobody calls for: functions of the host, and values that the host waits for without a call.
#include <algorithm>
#include <thread>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

constexpr auto pause = std::chrono::microseconds(50);

// Only one function of the host at a time, as with CUDA.
bool is_ready(const Stream& stream, bool may_call_host) {
  if (stream.running || stream.queue.empty()) return false;
  const Operation& operation = stream.queue.front();
  if (operation.calls_host && (!may_call_host || driver().host_function_runs)) return false;
  for (const MarkRef& mark : operation.after) {
    if (!mark->done) return false;
  }
  return !operation.ready || operation.ready();
}

int carry_out(const Operation& operation) {
  const int error = failure_of(driver().settings, "operation");
  if (error != success) return error;
  const Inside inside;
  if (!operation.calls_host) return operation.run();
  driver().host_function_runs = true;
  driver().mutex.unlock();
  const int returned = operation.run();
  driver().mutex.lock();
  driver().host_function_runs = false;
  return returned;
}

// The first in the queue of a stream. An error is its context's from then on.
void step(Stream& stream) {
  Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  stream.running = true;
  const int error = stream.context->error == success ? carry_out(operation) : success;
  if (error != success) stream.context->error = error;
  stream.running = false;
  ++driver().operations;
  operation.mark->when = Clock::now();
  operation.mark->done = true;
}

// One piece of work that has to be done for `mark`. False if none can be done now.
bool step_toward(const MarkRef& mark, bool may_call_host) {
  if (mark->done) return false;
  Stream& stream = *mark->stream;
  if (is_ready(stream, may_call_host)) {
    step(stream);
    return true;
  }
  if (stream.running || stream.queue.empty()) return false;
  for (const MarkRef& before : stream.queue.front().after) {
    if (!before->done && step_toward(before, may_call_host)) return true;
  }
  return false;
}

std::vector<Stream*> ready_streams(bool may_call_host) {
  std::vector<Stream*> ready;
  for (const auto& stream : driver().streams) {
    if (is_ready(*stream, may_call_host)) ready.push_back(stream.get());
  }
  return ready;
}

std::size_t draw(std::size_t below) { return driver().settings.random() % below; }

// Whatever can be done: the first stream's, or a drawn one's.
bool step_anywhere(bool may_call_host) {
  const std::vector<Stream*> ready = ready_streams(may_call_host);
  if (ready.empty()) return false;
  step(*ready[driver().settings.mode == Mode::random ? draw(ready.size()) : 0]);
  return true;
}

// What the host can see without a call, and has waited long.
bool step_toward_seen() {
  const Clock::time_point before = Clock::now() - driver().settings.patience;
  for (const auto& stream : driver().streams) {
    for (const Operation& operation : stream->queue) {
      if (operation.submitted > before) break;
      if (!operation.seen_by_host) continue;
      const MarkRef mark = operation.mark;
      if (step_toward(mark, true)) return true;
      break;
    }
  }
  return false;
}

void forget_destroyed() {
  std::erase_if(driver().streams,
                [](const auto& stream) { return stream->destroyed && stream->queue.empty() && !stream->running; });
}

void rest() {
  driver().mutex.unlock();
  std::this_thread::sleep_for(pause);
  driver().mutex.lock();
}

[[noreturn]] void work() {
  std::unique_lock lock(driver().mutex);
  while (true) {
    if (pending() == 0) driver().submitted.wait(lock);
    // When streams are lazy or draw, what is done may not depend on how fast this thread is.
    const bool worked = driver().settings.mode == Mode::eager ? step_anywhere(true) : step_toward_seen();
    if (!worked) rest();
    // Others come in between.
    lock.unlock();
    lock.lock();
  }
}

// Legacy semantics: work of the NULL stream waits for that of all blocking streams of its context, and they for it.
void order_with_null_stream(const Stream& stream, Operation& operation) {
  const Context& context = *stream.context;
  if (&stream != context.legacy) {
    if (stream.blocking && context.legacy->last != nullptr) operation.after.push_back(context.legacy->last);
    return;
  }
  for (const auto& other : driver().streams) {
    if (other.get() != &stream && other->context == &context && other->blocking && other->last != nullptr) {
      operation.after.push_back(other->last);
    }
  }
}

}  // namespace

void start_worker() {
  if (driver().worker) return;
  driver().worker = true;
  std::thread(work).detach();
}

MarkRef submit(Stream& stream, Operation operation) {
  if (stream.capture != Capture::none) {
    ++stream.captured;
    auto mark = std::make_shared<Mark>();
    mark->done = true;
    return mark;
  }
  order_with_null_stream(stream, operation);
  std::erase_if(operation.after, [](const MarkRef& mark) { return mark->done; });
  operation.mark = std::make_shared<Mark>();
  operation.mark->stream = &stream;
  operation.submitted = Clock::now();
  MarkRef mark = stream.last = operation.mark;
  const bool is_seen = operation.seen_by_host || operation.calls_host;
  stream.queue.push_back(std::move(operation));
  if (is_seen) start_worker();
  driver().submitted.notify_one();
  while (driver().settings.mode == Mode::eager && step_anywhere(false)) {
  }
  return mark;
}

void wait_for(MarkRef mark) {
  if (mark == nullptr) return;
  while (!mark->done) {
    const bool any = driver().settings.mode == Mode::random && draw(2) == 0 && step_anywhere(true);
    if (any || step_toward(mark, true)) continue;
    // It waits for a value, which may come from other work.
    if (!step_anywhere(true)) rest();
  }
}

bool ask_for(MarkRef mark) {
  if (mark == nullptr || mark->done) return true;
  // Whether it is done is found out before work is done for it: who asks once has waited for nothing.
  if (!step_toward(mark, false)) start_worker();
  return driver().settings.mode == Mode::eager && mark->done;
}

void wait_for_all(const Context& context) {
  std::vector<MarkRef> marks;
  for (const auto& stream : driver().streams) {
    if (stream->context == &context && stream->last != nullptr) marks.push_back(stream->last);
  }
  for (const MarkRef& mark : marks) wait_for(mark);
  forget_destroyed();
}

// Streams may have done some work since the last call, or none.
void stir() {
  while (draw(2) == 0 && step_anywhere(false)) {
  }
}

std::size_t pending() {
  std::size_t sum = 0;
  for (const auto& stream : driver().streams) sum += stream->queue.size() + (stream->running ? 1 : 0);
  return sum;
}

Stream* make_stream(Context& context, unsigned flags, int priority) {
  auto& streams = driver().streams;
  streams.push_back(std::make_unique<Stream>());
  Stream& stream = *streams.back();
  stream.context = &context;
  stream.flags = flags;
  stream.blocking = (flags & 1) == 0;
  stream.priority = priority;
  stream.id = ++driver().last_id;
  return &stream;
}

int create_stream(Context& context, Handle* stream, unsigned flags, int priority) {
  if (stream == nullptr || flags > 1) return invalid_value;
  *stream = make_stream(context, flags, priority);
  return success;
}

int synchronize_stream(Stream& stream) {
  const Context& context = *stream.context;
  wait_for(stream.last);
  return context.error;
}

int query_stream(Stream& stream) { return ask_for(stream.last) ? stream.context->error : static_cast<int>(not_ready); }

Stream* stream_of(Handle handle, bool per_thread, Context& context) {
  thread_local std::map<unsigned long long, Stream*> own;  // by context
  if (handle == legacy_stream || (handle == null_stream && !per_thread)) return context.legacy;
  if (handle == null_stream || handle == per_thread_stream) {
    Stream*& stream = own[context.id];
    if (stream == nullptr) stream = make_stream(context, 0, 0);
    return stream;
  }
  for (const auto& stream : driver().streams) {
    if (stream.get() == handle && !stream->destroyed && stream.get() != stream->context->legacy) return stream.get();
  }
  return nullptr;
}

}  // namespace quadrille::standin
