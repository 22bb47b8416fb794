// The file of a tuning table.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "choose/tuning.hpp"

namespace quadrille::choose {
namespace {

constexpr std::size_t most_file_bytes = 256 << 10;  // some thousand entries

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

std::string refusal(const std::string& what) { return what + ": " + std::strerror(errno); }

// The content of a file. Returns an empty string, or why there is none. By system calls: a stream throws where reading
// fails. Some files of the system say that they are empty, and have no end, or must be waited for.
std::string read_whole(const std::string& path, std::string& text) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (file.number < 0) return refusal("it cannot be read");
  struct stat status {};
  if (fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode)) return "it is not a readable file";
  if (status.st_size <= 0) return "it is empty";
  if (static_cast<std::uintmax_t>(status.st_size) > most_file_bytes) return "it is too large";
  text.resize(static_cast<std::size_t>(status.st_size));
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = read(file.number, text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refusal("it cannot be read");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return {};
}

bool write_all(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t done = write(file, text.data() + at, text.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += static_cast<std::size_t>(done);
  }
  return true;
}

// Waits for whoever has the lock, but not for ever: some file systems have none to give.
std::string lock(int file) {
  constexpr int most_milliseconds = 3000, a_time = 10;
  for (int waited = 0; flock(file, LOCK_EX | LOCK_NB) != 0; waited += a_time) {
    if (errno != EWOULDBLOCK && errno != EINTR) return refusal("it cannot be locked");
    if (waited >= most_milliseconds) return "another program has locked it";
    usleep(a_time * 1000);
  }
  return {};
}

void make_folder_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
}

}  // namespace

std::string tuning_path(std::string (*get)(const char*)) {
  const std::string named = get("QUADRILLE_TUNING");
  if (!named.empty()) return named == "none" ? "" : named;
  // As the base directory specification says: what is not absolute is ignored.
  std::string folder = get("XDG_CONFIG_HOME");
  if (!folder.starts_with('/')) {
    folder = get("HOME");
    if (!folder.starts_with('/')) return {};
    folder += "/.config";
  }
  return folder + "/quadrille/tuning.json";
}

FileState read_tuning_file(const std::string& path, TuningTable& table, std::string& why) {
  std::error_code error;
  if (std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found) return FileState::absent;
  std::string text;
  why = read_whole(path, text);
  if (why.empty()) why = parse_tuning(text, table);
  return why.empty() ? FileState::good : FileState::bad;
}

std::string write_tuning_file(const std::string& path, const TuningTable& table) {
  const std::string text = tuning_text(table);
  if (text.size() > most_file_bytes) return "cannot write '" + path + "': it would be too large to be read";
  make_folder_of(path);
  // A new file beside it, which then takes its name: readers see the old one or the new one.
  std::string fresh = path + ".XXXXXX";
  const int file = mkostemp(fresh.data(), O_CLOEXEC);
  if (file < 0) return "cannot write '" + path + "': " + std::strerror(errno);
  const bool written = write_all(file, text) && fchmod(file, 0644) == 0 && fsync(file) == 0;
  const bool closed = close(file) == 0;
  if (written && closed && std::rename(fresh.c_str(), path.c_str()) == 0) return {};
  const std::string why = std::strerror(errno);
  unlink(fresh.c_str());
  return "cannot write '" + path + "': " + why;
}

std::string update_tuning_file(const std::string& path, const Machine& machine,
                               const std::function<void(TuningTable&)>& add) {
  const auto refused = [&](const std::string& why) { return "cannot add to '" + path + "': " + why; };
  make_folder_of(path);
  const Descriptor file{open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644)};
  if (file.number < 0) return refusal("cannot write '" + path + "'");
  if (const std::string why = lock(file.number); !why.empty()) return refused(why);
  TuningTable table;
  std::string why;
  const FileState state = read_tuning_file(path, table, why);
  if (state == FileState::bad) return refused(why);
  if (state == FileState::good && table.machine != machine) {
    return refused("it is of another machine (" + table.machine.processor + ")");
  }
  if (state == FileState::good && access(path.c_str(), W_OK) != 0) return refusal("cannot write '" + path + "'");
  table.machine = machine;
  add(table);
  return write_tuning_file(path, table);
}

}  // namespace quadrille::choose
