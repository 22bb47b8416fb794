#include "graph.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

namespace closure {
namespace {

struct GzClose {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
using GzFile = std::unique_ptr<gzFile_s, GzClose>;

// zlib reads files that are not compressed as they are.
GzFile open_file(const std::string& path, const char* mode) {
  errno = 0;
  GzFile file(gzopen(path.c_str(), mode));
  if (!file) {
    throw std::runtime_error(path + ": " + (errno != 0 ? std::strerror(errno) : "out of memory"));
  }
  return file;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Removes blanks at the front.
void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

// Takes a vertex number from the front, with the blanks around it.
bool take_vertex(std::string_view& text, Vertex& vertex) {
  skip_blanks(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), vertex);
  if (error != std::errc() || vertex > kLargestVertex) return false;
  text.remove_prefix(end - text.data());
  if (!text.empty() && !is_blank(text.front())) return false;
  skip_blanks(text);
  return true;
}

// An edge that a line holds, if it is neither empty nor a comment. False if the line is malformed.
bool parse_line(std::string_view line, std::vector<Pair>& edges) {
  skip_blanks(line);
  if (line.empty() || line.front() == '#') return true;
  Pair edge{};
  if (!take_vertex(line, edge.from) || !take_vertex(line, edge.to) || !line.empty()) return false;
  edges.push_back(edge);
  return true;
}

// What can be shown of a line that may be anything.
std::string shown(std::string_view line) {
  std::string text(line.substr(0, 40));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
  }
  return text;
}

}  // namespace

std::vector<Vertex> vertices_of(const Graph& graph) {
  std::vector<Vertex> vertices;
  vertices.reserve(2 * graph.edges.size());
  for (const Pair edge : graph.edges) {
    vertices.push_back(edge.from);
    vertices.push_back(edge.to);
  }
  std::sort(vertices.begin(), vertices.end());
  vertices.erase(std::unique(vertices.begin(), vertices.end()), vertices.end());
  return vertices;
}

Graph parse_edge_list(std::string_view text, const std::string& name) {
  Graph graph;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!parse_line(line, graph.edges)) {
      throw std::runtime_error(name + ":" + std::to_string(number) + ": '" + shown(line) +
                               "' is not two vertex numbers from 0 to " +
                               std::to_string(kLargestVertex));
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  sort_unique(graph.edges);
  return graph;
}

std::string read_text(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw std::runtime_error(path + ": is a folder");
  const GzFile file = open_file(path, "rb");
  std::string text;
  std::vector<char> piece(1 << 20);
  int got = 0;
  while ((got = gzread(file.get(), piece.data(), static_cast<unsigned>(piece.size()))) > 0) {
    text.append(piece.data(), got);
  }
  int error = Z_OK;
  const char* words = gzerror(file.get(), &error);
  // Z_BUF_ERROR: the compressed data end too early.
  if (got < 0 || error == Z_BUF_ERROR) {
    throw std::runtime_error(path + ": " + (error == Z_ERRNO ? std::strerror(errno) : words));
  }
  return text;
}

void write_graph(const Graph& graph, const std::string& path, const std::string& comment) {
  std::string text = "# " + comment + "\n";
  std::vector<Pair> edges = graph.edges;
  // By their start: it reads better, and compresses better.
  std::stable_sort(edges.begin(), edges.end(), [](Pair a, Pair b) { return a.from < b.from; });
  for (const Pair edge : edges) {
    text += std::to_string(edge.from) + ' ' + std::to_string(edge.to) + '\n';
  }
  GzFile file = open_file(path, path.ends_with(".gz") ? "wb9" : "wbT");
  // Twice, because zlib writes the last part when the file is closed.
  const bool written = gzfwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (gzclose(file.release()) != Z_OK || !written) {
    throw std::runtime_error(path + ": could not be written");
  }
}

}  // namespace closure
