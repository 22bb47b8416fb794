#include "sys/code.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include <cerrno>
#include <climits>
#include <cstring>

namespace quadrille::sys {

CodePlace place_in_code(const void* address) {
  CodePlace place;
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return place;
  const auto number = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
  if (info.dli_fname != nullptr) place.object = info.dli_fname;
  place.address = number(address) - (map != nullptr ? map->l_addr : number(info.dli_fbase));
  if (info.dli_sname == nullptr) return place;
  place.symbol = info.dli_sname;
  place.behind = number(address) - number(info.dli_saddr);
  return place;
}

namespace {

constexpr std::size_t most_callers = 32;

_Unwind_Reason_Code add_caller(_Unwind_Context* context, void* all) {
  auto& found = *static_cast<std::vector<Caller>*>(all);
  Caller one{reinterpret_cast<const void*>(_Unwind_GetIP(context)), nullptr};
  // On x86-64 a call leaves the address below the frame of its caller. Elsewhere it may be anywhere.
  const auto* const below = reinterpret_cast<const std::byte*>(_Unwind_GetCFA(context)) - sizeof(void*);
#if defined(__x86_64__)
  if (std::memcmp(below, &one.returns_to, sizeof(void*)) == 0) one.kept_at = below;
#else
  static_cast<void>(below);
#endif
  found.push_back(one);
  return found.size() < most_callers ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

}  // namespace

std::vector<Caller> callers() {
  std::vector<Caller> found;
  found.reserve(most_callers);
  _Unwind_Backtrace(add_caller, &found);
  return found;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::byte* make_file_memory(const std::string& path, std::size_t bytes) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  // A page that the disk has no room for would be a bus error when it is written.
  void* base = MAP_FAILED;
  int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == 0) {
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    error = errno;
  }
  close(file);
  if (base != MAP_FAILED) return static_cast<std::byte*>(base);
  unlink(path.c_str());
  errno = error;
  return nullptr;
}

void flush_file_memory(void* memory, std::size_t bytes) { msync(memory, bytes, MS_SYNC); }

}  // namespace quadrille::sys
