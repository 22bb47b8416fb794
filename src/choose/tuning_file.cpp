// The file of a tuning table.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "choose/tuning.hpp"

namespace quadrille::choose {
namespace {

constexpr std::uintmax_t most_file_bytes = 1 << 20;

bool write_all(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t done = write(file, text.data() + at, text.size() - at);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    at += static_cast<std::size_t>(done);
  }
  return true;
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
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return FileState::absent;
  // Reading a pipe could wait for ever.
  if (status.type() != std::filesystem::file_type::regular) {
    why = "it is no file that can be read";
    return FileState::bad;
  }
  if (std::filesystem::file_size(path, error) > most_file_bytes || error) {
    why = "it is too large";
    return FileState::bad;
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    why = "it cannot be read";
    return FileState::bad;
  }
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  why = parse_tuning(text, table);
  return why.empty() ? FileState::good : FileState::bad;
}

std::string write_tuning_file(const std::string& path, const TuningTable& table) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  // A new file beside it, which then takes its name: readers see the old one or the new one.
  std::string fresh = path + ".XXXXXX";
  const int file = mkostemp(fresh.data(), O_CLOEXEC);
  if (file < 0) return "cannot write '" + path + "': " + std::strerror(errno);
  const bool written = write_all(file, tuning_text(table)) && fchmod(file, 0644) == 0 &&
                       fsync(file) == 0;
  const bool closed = close(file) == 0;
  if (written && closed && std::rename(fresh.c_str(), path.c_str()) == 0) return {};
  const std::string why = std::strerror(errno);
  unlink(fresh.c_str());
  return "cannot write '" + path + "': " + why;
}

}  // namespace quadrille::choose
