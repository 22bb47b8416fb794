#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "driver.hpp"

namespace quadrille::standin {
namespace {

bool read_number(const std::string& text, unsigned long& number) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return false;
  errno = 0;
  number = std::strtoul(text.c_str(), nullptr, 10);
  return errno == 0;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Ranks of a job draw differently, and each the same again.
unsigned long own_number() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    unsigned long rank = 0;
    const char* const value = std::getenv(name);
    if (value != nullptr && read_number(value, rank)) return rank;
  }
  return 0;
}

bool read_mode(const std::string& value, Settings& settings) {
  if (value == "eager") {
    settings.mode = Mode::eager;
  } else if (value == "lazy") {
    settings.mode = Mode::lazy;
  } else {
    unsigned long seed = 0;
    if (value.rfind("random:", 0) != 0 || !read_number(value.substr(7), seed)) return false;
    settings.mode = Mode::random;
    settings.random.seed(seed * 1000003 + own_number());
  }
  return true;
}

bool read_failures(const std::string& value, std::vector<Failure>& failures) {
  std::vector<Failure> read;
  for (const std::string& part : split(value, ',')) {
    if (part.empty()) continue;
    std::vector<std::string> fields = split(part, ':');
    Failure failure;
    if (fields.size() < 2 || fields.size() > 3 || fields[0].empty() || fields[1].empty()) return false;
    failure.function = fields[0];
    if (fields[0].find("Alloc") != std::string::npos) failure.error = out_of_memory;
    failure.and_after = fields[1].back() == '+';
    if (failure.and_after) fields[1].pop_back();
    unsigned long error = 0;
    if (!read_number(fields[1], failure.call) || failure.call == 0) return false;
    if (fields.size() == 3) {
      if (!read_number(fields[2], error) || error == 0 || error > 9999) return false;
      failure.error = static_cast<int>(error);
    }
    read.push_back(failure);
  }
  failures = std::move(read);
  return true;
}

// What is not a number ends the list, as with CUDA.
void read_visible(const char* name, Settings& settings) {
  settings.visible.clear();
  const char* const value = std::getenv(name);
  if (value == nullptr) {
    for (int device = 0; device < settings.devices; ++device) settings.visible.push_back(device);
    return;
  }
  for (const std::string& part : split(value, ',')) {
    unsigned long device = 0;
    if (!read_number(part, device) || device >= static_cast<unsigned long>(settings.devices)) return;
    settings.visible.push_back(static_cast<int>(device));
  }
}

}  // namespace

bool set(Settings& settings, const std::string& name, const std::string& value) {
  unsigned long number = 0;
  if (name == "STREAMS") return read_mode(value, settings);
  if (name == "FAIL") return read_failures(value, settings.failures);
  if (!read_number(value, number)) return false;
  if (name == "NO_IPC" && number <= 1) {
    settings.no_ipc = number == 1;
  } else if (name == "HIP_IPC_ATTRIBUTE" && number <= 1) {
    settings.has_ipc_attribute = number == 1;
  } else if (name == "PATIENCE") {
    settings.patience = std::chrono::milliseconds(number);
  } else if (name == "DEVICES" && number <= 64 && !settings.in_use) {
    settings.devices = static_cast<int>(number);
  } else if (name == "MEMORY") {
    settings.memory = number;
  } else {
    return false;
  }
  return true;
}

void read_environment(Settings& settings) {
  for (const char* name : {"STREAMS", "FAIL", "NO_IPC", "HIP_IPC_ATTRIBUTE", "PATIENCE", "DEVICES", "MEMORY"}) {
    const std::string variable = std::string("QUADRILLE_STANDIN_") + name;
    const char* const value = std::getenv(variable.c_str());
    if (value == nullptr || set(settings, name, value)) continue;
    // A test that is not what it says must not pass.
    std::fprintf(stderr, "stand-in driver: %s=%s means nothing\n", variable.c_str(), value);
    std::abort();
  }
}

void use(Settings& settings) {
  settings.in_use = true;
  read_visible(starts_by_itself ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES", settings);
}

int failure_of(Settings& settings, const std::string& function) {
  int error = success;
  for (Failure& failure : settings.failures) {
    if (failure.function != function) continue;
    ++failure.seen;
    if (failure.seen == failure.call || (failure.and_after && failure.seen > failure.call)) error = failure.error;
  }
  return error;
}

}  // namespace quadrille::standin
