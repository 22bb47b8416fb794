#include "debian.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace closure {
namespace {

using Names = std::vector<std::string>;

// ---- One index ----

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The names in a list, for example "libc6 (>= 2.34), python3:any | perl [amd64]".
void append_names(std::string_view list, Names& names) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find_first_of(",|"));
    const std::string_view name = trimmed(item);
    // A name ends where a qualifier or a restriction begins.
    const std::string_view bare = name.substr(0, name.find_first_of(" \t\n(:[<"));
    if (!bare.empty()) names.emplace_back(bare);
    list.remove_prefix(std::min(item.size() + 1, list.size()));
  }
}

std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return copy;
}

struct Paragraph {
  Package package;
  bool installed = true;  // an index of an archive has no Status
};

// "install ok installed"; the last word of packages that are gone is, for example, config-files.
bool is_installed(std::string_view status) { return status.substr(status.find_last_of(' ') + 1) == "installed"; }

void take_field(std::string_view field, Paragraph& paragraph) {
  const std::size_t colon = field.find(':');
  if (colon == field.npos) return;
  const std::string name = lower(field.substr(0, colon));
  const std::string_view value = trimmed(field.substr(colon + 1));
  Package& package = paragraph.package;
  if (name == "package") package.name = value;
  if (name == "section") package.section = value;
  if (name == "status") paragraph.installed = is_installed(value);
  if (name == "depends" || name == "pre-depends") append_names(value, package.needs);
  if (name == "provides") append_names(value, package.provides);
}

// A field includes all following lines that begin with a blank.
std::size_t end_of_field(std::string_view text) {
  std::size_t end = text.find('\n');
  while (end != text.npos && end + 1 < text.size() && (text[end + 1] == ' ' || text[end + 1] == '\t')) {
    end = text.find('\n', end + 1);
  }
  return std::min(end, text.size());
}

void finish(Paragraph& paragraph, std::vector<Package>& packages) {
  if (!paragraph.package.name.empty() && paragraph.installed) {
    packages.push_back(std::move(paragraph.package));
  }
  paragraph = {};
}

// ---- Files ----

constexpr const char* kAptHelper = "/usr/lib/apt/apt-helper";

bool is_compressed_otherwise(const std::string& path) {
  const std::string kind = std::filesystem::path(path).extension().string();
  return kind == ".lz4" || kind == ".xz" || kind == ".zst" || kind == ".bz2" || kind == ".lzma";
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// apt's own helper decompresses all formats that apt uses.
std::string read_by_apt(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) throw std::runtime_error(path + ": " + std::strerror(errno));
  if (access(kAptHelper, X_OK) != 0) {
    throw std::runtime_error(path + ": needs " + kAptHelper + "; or decompress it, and give the result");
  }
  const std::string command = std::string(kAptHelper) + " cat-file " + quoted(path);
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error(path + ": " + std::strerror(errno));
  std::string text;
  std::vector<char> piece(1 << 20);
  for (std::size_t got; (got = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) {
    text.append(piece.data(), got);
  }
  if (pclose(pipe) != 0) throw std::runtime_error(path + ": " + kAptHelper + " could not read it");
  return text;
}

std::string read_index(const std::string& path) {
  return is_compressed_otherwise(path) ? read_by_apt(path) : read_text(path);
}

// ---- The graph ----

// The sorted names of all packages: the index of a name is its vertex.
Names numbered_names(const std::vector<Package>& packages) {
  Names names;
  for (const Package& package : packages) names.push_back(package.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Vertex number_of(const std::string& name, const Names& names) {
  return static_cast<Vertex>(std::lower_bound(names.begin(), names.end(), name) - names.begin());
}

// The packages that satisfy a name in a dependency: the package of this name, and those that provide the name.
using Meanings = std::unordered_map<std::string, std::vector<Vertex>>;

Meanings meanings_of(const std::vector<Package>& packages, const Names& names) {
  Meanings meanings;
  for (const Package& package : packages) {
    const Vertex vertex = number_of(package.name, names);
    meanings[package.name].push_back(vertex);
    for (const std::string& provided : package.provides) meanings[provided].push_back(vertex);
  }
  return meanings;
}

std::vector<Pair> edges_of(const std::vector<Package>& packages, const Names& names) {
  const Meanings meanings = meanings_of(packages, names);
  std::vector<Pair> edges;
  for (const Package& package : packages) {
    const Vertex from = number_of(package.name, names);
    for (const std::string& needed : package.needs) {
      const auto found = meanings.find(needed);
      if (found == meanings.end()) continue;
      for (const Vertex to : found->second) {
        if (to != from) edges.push_back({from, to});
      }
    }
  }
  sort_unique(edges);
  return edges;
}

// The packages of some sections and all their dependencies.
std::set<std::string> needed_names(const std::vector<Package>& packages, const Names& names, const Names& sections) {
  std::set<std::string> kept;
  Names open;
  for (const Package& package : packages) {
    if (std::find(sections.begin(), sections.end(), package.section) == sections.end()) continue;
    if (kept.insert(package.name).second) open.push_back(package.name);
  }
  const EdgeIndex edges(edges_of(packages, names));
  while (!open.empty()) {
    const Vertex vertex = number_of(open.back(), names);
    open.pop_back();
    for (const Pair edge : edges.from(vertex)) {
      if (kept.insert(names[edge.to]).second) open.push_back(names[edge.to]);
    }
  }
  return kept;
}

}  // namespace

std::vector<Package> parse_packages(std::string_view text, const std::string& name) {
  std::vector<Package> packages;
  Paragraph paragraph;
  bool found = false;
  while (!text.empty()) {
    const std::size_t end = end_of_field(text);
    const std::string_view field = text.substr(0, end);
    if (trimmed(field).empty()) {
      finish(paragraph, packages);
    } else {
      take_field(field, paragraph);
      found = found || !paragraph.package.name.empty();
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  finish(paragraph, packages);
  if (!found) {
    throw std::runtime_error(name +
                             ": no index of Debian packages (compressed ones end in .gz, .lz4, .xz, "
                             ".zst or .bz2)");
  }
  return packages;
}

std::vector<Package> read_packages(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return parse_packages(read_index(path), path);
  Names files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string file = entry.path().filename().string();
    if (file.find("_Packages") != file.npos) files.push_back(entry.path().string());
  }
  if (files.empty()) throw std::runtime_error(path + ": no file with _Packages in its name");
  std::sort(files.begin(), files.end());
  std::vector<Package> packages;
  for (const std::string& file : files) {
    std::vector<Package> more = parse_packages(read_index(file), file);
    std::move(more.begin(), more.end(), std::back_inserter(packages));
  }
  return packages;
}

Graph package_graph(const std::vector<Package>& packages, const Names& sections) {
  const Names names = numbered_names(packages);
  if (sections.empty()) return {edges_of(packages, names)};
  const std::set<std::string> kept = needed_names(packages, names, sections);
  if (kept.empty()) throw std::runtime_error("no package is of section " + sections.front());
  std::vector<Package> fewer;
  for (const Package& package : packages) {
    if (kept.contains(package.name)) fewer.push_back(package);
  }
  return {edges_of(fewer, numbered_names(fewer))};
}

}  // namespace closure
