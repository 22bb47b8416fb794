#include "graph.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "matrix_market.hpp"
#include "words.hpp"

namespace closure {
namespace {

struct GzClose {
  void operator()(gzFile_s* file) const { gzclose(file); }
};
using GzFile = std::unique_ptr<gzFile_s, GzClose>;

// zlib reads uncompressed files unchanged.
GzFile open_file(const std::string& path, const char* mode) {
  errno = 0;
  GzFile file(gzopen(path.c_str(), mode));
  if (!file) {
    throw std::runtime_error(path + ": " + (errno != 0 ? std::strerror(errno) : "out of memory"));
  }
  return file;
}

// Reads the edge of a line, if the line is neither empty nor a comment. False if the line is malformed.
bool parse_line(std::string_view line, std::vector<Pair>& edges) {
  skip_blanks(line);
  if (line.empty() || line.front() == '#') return true;
  Pair edge{};
  if (!take_number(line, edge.from, kLargestVertex) || !take_number(line, edge.to, kLargestVertex) || !line.empty())
    return false;
  edges.push_back(edge);
  return true;
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
    const std::string_view line = take_line(text);
    if (!parse_line(line, graph.edges)) {
      throw std::runtime_error(name + ":" + std::to_string(number) + ": '" + shown(line) +
                               "' is not two vertex numbers from 0 to " + std::to_string(kLargestVertex));
    }
  }
  sort_unique(graph.edges);
  return graph;
}

Graph parse_graph(std::string_view text, const std::string& name) {
  return is_matrix_market(text) ? parse_matrix_market(text, name) : parse_edge_list(text, name);
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
  // Sorted by start, which compresses better.
  std::stable_sort(edges.begin(), edges.end(), [](Pair a, Pair b) { return a.from < b.from; });
  for (const Pair edge : edges) {
    text += std::to_string(edge.from) + ' ' + std::to_string(edge.to) + '\n';
  }
  GzFile file = open_file(path, path.ends_with(".gz") ? "wb9" : "wbT");
  // Checked twice, because zlib writes the last part when the file is closed.
  const bool written = gzfwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (gzclose(file.release()) != Z_OK || !written) {
    throw std::runtime_error(path + ": could not be written");
  }
}

}  // namespace closure
