// Devices, contexts, and each thread's stack of them.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

thread_local std::vector<Context*> own_stack;

Context& make_context(int device, unsigned flags) {
  auto& contexts = driver().contexts;
  contexts.push_back(std::make_unique<Context>());
  Context& context = *contexts.back();
  context.device = device;
  context.flags = flags;
  context.id = ++driver().last_id;
  context.legacy = make_stream(context, 0, 0);
  return context;
}

// Its memory goes with it. The object stays, so that its handle is known to be of none.
void end_context(Context& context) {
  wait_for_all(context);
  release_all(context);
  context.destroyed = true;
}

}  // namespace

int initialize() {
  Driver& all = driver();
  if (all.forked) return not_initialized;
  if (all.initialized) return success;
  use(all.settings);
  if (all.settings.visible.empty()) return no_device;
  all.primary.resize(all.settings.visible.size(), nullptr);
  all.initialized = true;
  return success;
}

int device_count() { return static_cast<int>(driver().settings.visible.size()); }
bool has_device(int device) { return device >= 0 && device < device_count(); }
int physical(int device) { return driver().settings.visible[static_cast<std::size_t>(device)]; }

Uuid uuid_of(int physical) {
  Uuid uuid{};
  std::memcpy(uuid.bytes, "Quadrille", 9);
  uuid.bytes[15] = static_cast<unsigned char>(physical + 1);
  return uuid;
}

Context* context_of(Handle handle) {
  for (const auto& context : driver().contexts) {
    if (context.get() == handle) return context.get();
  }
  return nullptr;
}

int retain_primary(int device, Handle* context) {
  if (context == nullptr) return invalid_value;
  if (!has_device(device)) return invalid_device;
  Context*& primary = driver().primary[static_cast<std::size_t>(device)];
  if (primary == nullptr) {
    primary = &make_context(device, 0);
    primary->primary = true;
  } else if (primary->destroyed) {  // it has one handle for ever, but nothing of what it had
    primary->destroyed = false;
    primary->error = success;
    primary->id = ++driver().last_id;
  }
  ++primary->retained;
  *context = primary;
  return success;
}

int release_primary(int device) {
  if (!has_device(device)) return invalid_device;
  Context* const primary = driver().primary[static_cast<std::size_t>(device)];
  if (primary == nullptr || primary->retained == 0) return invalid_context;
  if (--primary->retained == 0) end_context(*primary);
  return success;
}

int create_context(int device, unsigned flags, Handle* context) {
  if (context == nullptr) return invalid_value;
  if (!has_device(device)) return invalid_device;
  Context& made = make_context(device, flags);
  own_stack.push_back(&made);
  *context = &made;
  return success;
}

int destroy_context(Handle handle) {
  Context* const context = context_of(handle);
  if (context == nullptr || context->primary || context->destroyed) return invalid_context;
  end_context(*context);
  if (!own_stack.empty() && own_stack.back() == context) own_stack.pop_back();
  return success;
}

std::vector<Context*>& stack() { return own_stack; }

int current(Context*& context) {
  if (own_stack.empty() && starts_by_itself) {
    Handle primary = nullptr;
    const int error = retain_primary(0, &primary);
    if (error != success) return error;
    own_stack.push_back(context_of(primary));
  }
  context = own_stack.empty() ? nullptr : own_stack.back();
  if (context == nullptr) return invalid_context;
  return context->destroyed ? static_cast<int>(context_is_destroyed) : context->error;
}

int set_current(Handle handle) {
  Context* const context = context_of(handle);
  if (handle != nullptr && (context == nullptr || context->destroyed)) return invalid_context;
  if (!own_stack.empty()) own_stack.pop_back();
  if (context != nullptr) own_stack.push_back(context);
  return success;
}

int push_current(Handle handle) {
  Context* const context = context_of(handle);
  if (context == nullptr || context->destroyed) return invalid_context;
  own_stack.push_back(context);
  return success;
}

int pop_current(Handle* handle) {
  if (own_stack.empty()) return invalid_context;
  if (handle != nullptr) *handle = own_stack.back();
  own_stack.pop_back();
  return success;
}

int get_current(Handle* handle) {
  if (handle == nullptr) return invalid_value;
  *handle = own_stack.empty() ? nullptr : own_stack.back();
  return success;
}

int get_ordinal(const Context& context, int* device) {
  if (device == nullptr) return invalid_value;
  *device = context.device;
  return success;
}

int synchronize(const Context& context) {
  wait_for_all(context);
  return context.error;
}

int count_devices(int* count) {
  if (count == nullptr) return invalid_value;
  *count = device_count();
  return success;
}

int get_device(int* device, int ordinal) {
  if (device == nullptr) return invalid_value;
  if (!has_device(ordinal)) return invalid_device;
  *device = ordinal;
  return success;
}

int get_uuid(Uuid* uuid, int device) {
  if (uuid == nullptr) return invalid_value;
  if (!has_device(device)) return invalid_device;
  *uuid = uuid_of(physical(device));
  return success;
}

int get_name(char* name, int bytes, int device) {
  if (name == nullptr || bytes <= 0) return invalid_value;
  if (!has_device(device)) return invalid_device;
  std::snprintf(name, static_cast<std::size_t>(bytes), "Stand-in %d", physical(device));
  return success;
}

// CUDA writes capital digits, HIP small ones.
int get_bus_id(char* name, int bytes, int device) {
  if (name == nullptr || bytes < 13) return invalid_value;
  if (!has_device(device)) return invalid_device;
  const char* const format = starts_by_itself ? "0000:%02x:00.0" : "0000:%02X:00.0";
  std::snprintf(name, static_cast<std::size_t>(bytes), format, static_cast<unsigned>(physical(device) + 1));
  return success;
}

int can_access_peer(int* can, int device, int peer) {
  if (can == nullptr) return invalid_value;
  if (!has_device(device) || !has_device(peer)) return invalid_device;
  *can = device != peer ? 1 : 0;
  return success;
}

int start_driver(const Caller& caller, unsigned flags) {
  return enter_uninitialized(caller, [&] { return flags != 0 ? static_cast<int>(invalid_value) : initialize(); });
}

int tell_version(const Caller& caller, int* version, int number) {
  return enter_uninitialized(caller, [&] {
    if (version == nullptr) return invalid_value;
    *version = number;
    return success;
  });
}

}  // namespace quadrille::standin
