// The parts that need no MPI: the readers, the relations, and the search that the program's result
// is compared with.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "blocks.hpp"
#include "debian.hpp"
#include "generate.hpp"
#include "graph.hpp"
#include "matrix_market.hpp"
#include "reference.hpp"
#include "relation.hpp"

namespace closure {

void PrintTo(Pair pair, std::ostream* out) { *out << '(' << pair.from << ", " << pair.to << ')'; }

namespace {

Graph graph_of(std::vector<Pair> edges) {
  sort_unique(edges);
  return {edges};
}

std::vector<Pair> sorted(std::vector<Pair> pairs) {
  sort_pairs(pairs);
  return pairs;
}

template <typename Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

// A file name of this process alone, removed at the end of a test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& suffix) : path_(testing::TempDir() + name() + suffix) {}
  ~TemporaryFile() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  static std::string name() {
    return "closure-" + std::to_string(getpid()) + "-" + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  std::string path_;
};

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// ---- The reference ----

TEST(ClosureReference, NoEdgesGiveNoPaths) {
  EXPECT_TRUE(reference_closure({}).empty());
  EXPECT_EQ(reference_digest({}), Digest());
}

TEST(ClosureReference, AChain) {
  EXPECT_EQ(reference_closure(graph_of({{1, 2}, {2, 3}, {3, 4}})),
            sorted({{1, 2}, {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}}));
}

TEST(ClosureReference, OnACycleEveryVertexReachesItself) {
  EXPECT_EQ(reference_closure(graph_of({{0, 1}, {1, 2}, {2, 0}})),
            sorted({{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}}));
}

TEST(ClosureReference, ASelfLoopIsAPath) {
  EXPECT_EQ(reference_closure(graph_of({{5, 5}, {5, 6}})), sorted({{5, 5}, {5, 6}}));
}

TEST(ClosureReference, WithoutACycleNoVertexReachesItself) {
  EXPECT_EQ(reference_closure(graph_of({{0, 1}, {0, 2}, {1, 3}, {2, 3}})),
            sorted({{0, 1}, {0, 2}, {0, 3}, {1, 3}, {2, 3}}));
}

TEST(ClosureReference, PartsWithoutAPathBetweenThemStayApart) {
  EXPECT_EQ(reference_closure(graph_of({{1, 2}, {2, 1}, {kLargestVertex, 9}})),
            sorted({{1, 1}, {1, 2}, {2, 1}, {2, 2}, {kLargestVertex, 9}}));
}

TEST(ClosureReference, TheDigestIsThatOfWhatItFinds) {
  for (const Graph& graph : {graph_of({{1, 2}, {2, 3}, {3, 1}, {3, 4}}), graph_of({{7, 7}})}) {
    PairSet set;
    for (const Pair pair : reference_closure(graph)) set.insert(pair);
    EXPECT_EQ(reference_digest(graph), set.digest());
    EXPECT_EQ(reference_digest(graph).tuples, set.size());
  }
}

// ---- Relations ----

TEST(ClosurePairSet, TellsWhatIsNew) {
  PairSet set;
  EXPECT_TRUE(set.insert({0, 0}));
  EXPECT_TRUE(set.insert({0, 1}));
  EXPECT_TRUE(set.insert({1, 0}));
  EXPECT_FALSE(set.insert({0, 1}));
  EXPECT_TRUE(set.insert({kLargestVertex, kLargestVertex}));
  EXPECT_FALSE(set.insert({kLargestVertex, kLargestVertex}));
  EXPECT_EQ(set.sorted(), sorted({{0, 0}, {1, 0}, {0, 1}, {kLargestVertex, kLargestVertex}}));
}

TEST(ClosurePlacement, ATupleMeetsTheEdgesThatItIsJoinedWith) {
  for (const int ranks : {1, 2, 5, 16}) {
    for (const int buckets : {1, 2, 3, 40}) {
      const Placement placement{ranks, buckets};
      for (Vertex vertex : {0U, 1U, 77U, kLargestVertex}) {
        const std::vector<int> homes = placement.homes_of(vertex);
        EXPECT_LE(homes.size(), static_cast<std::size_t>(std::min(ranks, buckets)));
        EXPECT_EQ(homes.front(), placement.home_of(vertex, 0));
        EXPECT_EQ(std::set<int>(homes.begin(), homes.end()).size(), homes.size());
        for (Vertex from = 0; from < 200; ++from) {
          EXPECT_EQ(std::count(homes.begin(), homes.end(), placement.home_of({from, vertex})), 1);
        }
      }
    }
  }
}

TEST(ClosurePlacement, SubBucketsSpreadAHotKey) {
  const auto largest = [](int buckets) {
    std::vector<int> parts(8);
    for (Vertex from = 0; from < 8000; ++from) ++parts.at(Placement{8, buckets}.home_of({from, 42}));
    return *std::max_element(parts.begin(), parts.end());
  };
  EXPECT_EQ(largest(1), 8000);
  EXPECT_LT(largest(64), 2000);
}

TEST(ClosurePairSet, KeepsEverythingWhileItGrows) {
  PairSet set;
  std::vector<Pair> pairs;
  for (Vertex i = 0; i < 20'000; ++i) pairs.push_back({i * i, i});
  for (const Pair pair : pairs) ASSERT_TRUE(set.insert(pair));
  for (const Pair pair : pairs) ASSERT_FALSE(set.insert(pair));
  EXPECT_EQ(set.size(), pairs.size());
  EXPECT_EQ(set.sorted(), sorted(pairs));
}

TEST(ClosureDigest, TellsRelationsApart) {
  const auto digest = [](const std::vector<Pair>& pairs) {
    Digest sum;
    for (const Pair pair : pairs) sum.add(pair);
    return sum;
  };
  EXPECT_EQ(digest({{1, 2}, {3, 4}}), digest({{3, 4}, {1, 2}}));
  EXPECT_NE(digest({{1, 2}, {3, 4}}), digest({{1, 4}, {3, 2}}));
  EXPECT_NE(digest({{1, 2}}), digest({{2, 1}}));
  EXPECT_NE(digest({{0, 0}}), digest({}));
}

TEST(ClosurePairs, AreSortedByTheirEnd) {
  std::vector<Pair> pairs = {{1, 9}, {9, 1}, {0, 9}, {9, 1}};
  sort_unique(pairs);
  EXPECT_EQ(pairs, (std::vector<Pair>{{9, 1}, {0, 9}, {1, 9}}));
}

TEST(ClosureEdgeIndex, FindsTheEdgesOfAVertex) {
  const EdgeIndex index({{3, 1}, {1, 3}, {3, 7}, {2, 3}});
  std::set<Vertex> ends;
  for (const Pair edge : index.from(3)) ends.insert(edge.to);
  EXPECT_EQ(ends, (std::set<Vertex>{1, 7}));
  for (const Vertex one : {1u, 2u}) {
    ASSERT_EQ(index.from(one).size(), 1u);
    EXPECT_EQ(index.from(one).front().to, 3u);
  }
  for (const Vertex none : {0u, 4u, 7u, kLargestVertex}) EXPECT_TRUE(index.from(none).empty());
  EXPECT_TRUE(EdgeIndex({}).from(0).empty());
}

TEST(ClosureOwner, IsOneOfTheRanksAndAllHaveAShare) {
  std::vector<int> share(5);
  for (Vertex vertex = 0; vertex < 5000; ++vertex) ++share.at(Placement{5, 1}.home_of({0, vertex}));
  for (const int vertices : share) EXPECT_GT(vertices, 700);
}

// ---- Blocks ----

TEST(ClosureBlocks, LieOneAfterTheOther) {
  const Blocks blocks = {{{1, 2}, {3, 4}}, {}, {{5, 6}}};
  const Layout layout = layout_of(sizes_of(blocks));
  EXPECT_EQ(layout.counts, (std::vector<int>{2, 0, 1}));
  EXPECT_EQ(layout.displacements, (std::vector<int>{0, 2, 2}));
  EXPECT_EQ(layout.total, 3u);
  EXPECT_EQ(joined(blocks), (std::vector<Pair>{{1, 2}, {3, 4}, {5, 6}}));
}

TEST(ClosureBlocks, MayHaveAsManyTuplesAsMpiCanCount) {
  const std::int64_t most = std::numeric_limits<int>::max();
  EXPECT_EQ(layout_of(std::vector<std::int64_t>{most - 1, 0, 1}).total, static_cast<std::size_t>(most));
  for (const std::vector<std::int64_t>& counts :
       std::vector<std::vector<std::int64_t>>{{most + 1}, {most, 1}, {most - 1, 1, 1}, {std::int64_t{1} << 40}}) {
    EXPECT_THROW(layout_of(counts), std::length_error);
  }
}

// ---- Edge lists ----

TEST(ClosureEdgeList, CommentsAndBlanksAreSkippedAndDuplicatesRemoved) {
  EXPECT_EQ(parse_edge_list("# a\n\n1 2\n  3\t4  \r\n1 2\n#5 6\n4294967294 0", "g").edges,
            sorted({{1, 2}, {3, 4}, {kLargestVertex, 0}}));
}

TEST(ClosureEdgeList, MayBeEmpty) {
  EXPECT_TRUE(parse_edge_list("", "g").edges.empty());
  EXPECT_TRUE(parse_edge_list("# nothing\n", "g").edges.empty());
}

TEST(ClosureEdgeList, AMalformedLineIsNamed) {
  for (const char* line :
       {"1", "1 2 3", "1 x", "a b", "-1 2", "1,2", "1 2#", "1.0 2", "4294967295 1", "1 99999999999"}) {
    const std::string text = std::string("# first\n1 2\n") + line + "\n3 4\n";
    EXPECT_EQ(error_of([&] { parse_edge_list(text, "g"); }),
              std::string("g:3: '") + line + "' is not two vertex numbers from 0 to 4294967294");
  }
}

TEST(ClosureEdgeList, WhatCannotBePrintedIsNot) {
  EXPECT_NE(error_of([] { parse_edge_list("\x1b[2J", "g"); }).find("g:1: '?[2J'"), std::string::npos);
}

// ---- Matrices ----

TEST(ClosureMatrixMarket, IsToldByItsFirstLine) {
  EXPECT_TRUE(is_matrix_market("%%MatrixMarket matrix coordinate pattern general\n0 0 0\n"));
  EXPECT_FALSE(is_matrix_market("% MatrixMarket"));
  EXPECT_FALSE(is_matrix_market("%%Matrix"));
  EXPECT_EQ(parse_graph("%%matrixmarket MATRIX coordinate pattern general\n2 2 1\n1 2\n", "m").edges, sorted({{1, 2}}));
  EXPECT_EQ(parse_graph("1 2\n", "m").edges, sorted({{1, 2}}));
}

TEST(ClosureMatrixMarket, ValuesCommentsAndBlanksAreSkipped) {
  const std::string text = "%%MatrixMarket matrix coordinate FIELD general\n%\n\n% 9 9 9\n 3\t4 3 \r\n";
  const auto of = [&](const std::string& field, const std::string& entries) {
    std::string whole = text + entries;
    whole.replace(whole.find("FIELD"), 5, field);
    return parse_matrix_market(whole, "m").edges;
  };
  const std::vector<Pair> edges = sorted({{1, 4}, {3, 1}, {2, 2}});
  EXPECT_EQ(of("real", "1 4 -1.5e-3\n3 1 0\n% last\n2 2 nan"), edges);
  EXPECT_EQ(of("integer", "1 4 7\r\n3 1 0\r\n2 2 -1\r\n"), edges);
  EXPECT_EQ(of("pattern", "1 4\n3 1\n\n2 2\n"), edges);
  EXPECT_EQ(of("complex", "1 4 0 1\n3 1 1 0\n2 2 0 0\n"), edges);
}

TEST(ClosureMatrixMarket, OneTriangleGoesBothWays) {
  for (const char* symmetry : {"symmetric", "skew-symmetric", "Hermitian"}) {
    const std::string text =
        std::string("%%MatrixMarket matrix coordinate real ") + symmetry + "\n3 3 2\n2 1 5\n3 3 1\n";
    EXPECT_EQ(parse_matrix_market(text, "m").edges, sorted({{2, 1}, {1, 2}, {3, 3}}));
  }
}

TEST(ClosureMatrixMarket, WhatIsWrongIsNamed) {
  const auto error = [](const std::string& banner, const std::string& rest) {
    return error_of([&] { parse_matrix_market("%%MatrixMarket " + banner + "\n" + rest, "m"); });
  };
  EXPECT_EQ(error("matrix array real general", "2 2\n"), "m:1: only sparse matrices are read, which say coordinate");
  EXPECT_EQ(error("vector coordinate real general", ""), "m:1: no matrix of the Matrix Market");
  EXPECT_EQ(error("matrix coordinate quaternion general", ""), "m:1: unknown field 'quaternion'");
  EXPECT_EQ(error("matrix coordinate real", ""), "m:1: unknown symmetry ''");
  const std::string sparse = "matrix coordinate real general";
  EXPECT_EQ(error(sparse, "% end\n"), "m:2: '% end' is not rows, columns and entries");
  for (const char* sizes : {"2 2", "2 2 1 1", "2 2 x", "-1 2 1", "4294967295 1 0", "2 2 99999999999999999999"}) {
    EXPECT_EQ(error(sparse, sizes), std::string("m:2: '") + sizes + "' is not rows, columns and entries");
  }
  for (const char* entry : {"0 1 1", "1 0 1", "3 1 1", "1 4 1", "1 1", "1 1 1 1", "1.0 1 1", "x 1 1"}) {
    EXPECT_EQ(error(sparse, std::string("2 3 1\n") + entry),
              std::string("m:3: '") + entry + "' is not a row from 1 to 2, a column from 1 to 3 and a value");
  }
  EXPECT_EQ(error(sparse, "2 2 1\n1 1 1\n2 2 1\n"), "m:4: more than the 1 entries that line 2 promises");
  EXPECT_EQ(error(sparse, "2 2 3\n1 1 1\n2 2 1\n"), "m: 2 entries, but line 2 promises 3");
  // Memory is not taken for what is only promised.
  EXPECT_EQ(error(sparse, "2 2 18446744073709551615\n"), "m: 0 entries, but line 2 promises 18446744073709551615");
}

TEST(ClosureGenerated, ChainsOfDifferentLengths) {
  EXPECT_EQ(generate_graph("chains:2,3").edges, sorted({{0, 1}, {1, 2}, {3, 4}, {4, 5}, {5, 6}}));
  EXPECT_EQ(generate_graph("chains:1,1").edges, sorted({{0, 1}}));
  EXPECT_EQ(reference_digest(generate_graph("chains:2,3")).tuples, 3U + 6U);
  for (const char* wrong : {"", "chains", "chains:", "chains:3", "chains:0,3", "chains:3,0", "chains:3,4,5",
                            "chains:a,b", "chains:100000000,100000000", "rings:1,2"}) {
    EXPECT_NE(error_of([&] { generate_graph(wrong); }).find("is not chains:COUNT,LONGEST"), std::string::npos) << wrong;
  }
}

TEST(ClosureEdgeList, VerticesAreThoseWithAnEdge) {
  EXPECT_EQ(vertices_of(graph_of({{7, 2}, {2, 7}, {9, 9}})), (std::vector<Vertex>{2, 7, 9}));
}

TEST(ClosureFiles, AreReadAsTheyWereWritten) {
  const Graph graph = graph_of({{1, 2}, {2, 1}, {3, kLargestVertex}});
  for (const char* suffix : {".txt", ".txt.gz"}) {
    const TemporaryFile file(suffix);
    write_graph(graph, file.path(), "a comment");
    const std::string text = read_text(file.path());
    EXPECT_EQ(text, "# a comment\n1 2\n2 1\n3 4294967294\n");
    EXPECT_EQ(parse_edge_list(text, "g").edges, graph.edges);
  }
}

TEST(ClosureFiles, ACompressedFileThatEndsTooEarlyIsAnError) {
  std::vector<Pair> edges;
  for (Vertex i = 0; i < 50'000; ++i) edges.push_back({static_cast<Vertex>(hash(i) >> 33), i});
  const TemporaryFile file(".gz");
  write_graph(graph_of(edges), file.path(), "random");
  std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) / 2);
  EXPECT_NE(error_of([&] { read_text(file.path()); }).find("unexpected end of file"), std::string::npos);
}

TEST(ClosureFiles, AMissingOneIsAnError) {
  EXPECT_EQ(error_of([] { read_text("/none/such"); }), "/none/such: No such file or directory");
  EXPECT_EQ(error_of([] { read_text("/"); }), "/: is a folder");
}

// ---- Debian ----

const char kIndex[] =
    "Package: editor\n"
    "Section: editors\n"
    "Depends: libc6 (>= 2.34), python3:any | perl, mail-agent, missing | gone\n"
    "Description: an editor\n"
    " Depends: part of the description\n"
    "Pre-Depends: dpkg (>= 1.15.6) [amd64] <!nocheck>\n"
    "\n"
    "Package: exim\n"
    "Provides: mail-agent, smtp (= 4.96)\n"
    "depends: libc6,\n"
    " smtp\n"
    "\n"
    "\n"
    "Package: libc6\n"
    "\n"
    "Package: perl\n"
    "Depends: libc6\n"
    "\n"
    "Package: postfix\n"
    "Provides: mail-agent\n"
    "\n"
    "Package: python3\n"
    "Section: python\n"
    "Depends: perl\n"
    "\n"
    "Package: dpkg";

using Names = std::vector<std::string>;

TEST(ClosureDebian, FieldsAreRead) {
  const std::vector<Package> packages = parse_packages(kIndex, "index");
  ASSERT_EQ(packages.size(), 7u);
  EXPECT_EQ(packages[0].name, "editor");
  EXPECT_EQ(packages[0].section, "editors");
  EXPECT_EQ(packages[0].needs, (Names{"libc6", "python3", "perl", "mail-agent", "missing", "gone", "dpkg"}));
  EXPECT_EQ(packages[1].needs, (Names{"libc6", "smtp"}));
  EXPECT_EQ(packages[1].provides, (Names{"mail-agent", "smtp"}));
  EXPECT_EQ(packages[6].name, "dpkg");
}

// Sorted: dpkg 0, editor 1, exim 2, libc6 3, perl 4, postfix 5, python3 6.
TEST(ClosureDebian, EdgesGoToAllThatCouldServe) {
  EXPECT_EQ(package_graph(parse_packages(kIndex, "index"), {}).edges, sorted({{1, 3},
                                                                              {1, 6},
                                                                              {1, 4},
                                                                              {1, 2},
                                                                              {1, 5},
                                                                              {1, 0},     // editor
                                                                              {2, 3},     // exim, not to itself
                                                                              {4, 3},     // perl
                                                                              {6, 4}}));  // python3
}

// The packages python3, perl and libc6, sorted: libc6 0, perl 1, python3 2.
TEST(ClosureDebian, ASectionBringsWhatItNeeds) {
  EXPECT_EQ(package_graph(parse_packages(kIndex, "index"), {"python"}).edges, sorted({{2, 1}, {1, 0}}));
  EXPECT_EQ(error_of([] { package_graph(parse_packages(kIndex, "index"), {"games"}); }),
            "no package is of section games");
}

TEST(ClosureDebian, VersionsOfAPackageAreOneVertex) {
  const std::string text =
      "Package: a\nVersion: 1\nDepends: b\n\nPackage: b\n\nPackage: a\nVersion: 2\nDepends: c\n\n"
      "Package: c\nDepends: a\n";
  EXPECT_EQ(package_graph(parse_packages(text, "index"), {}).edges, sorted({{0, 1}, {0, 2}, {2, 0}}));
}

TEST(ClosureDebian, PackagesThatAreNotInstalledAreLeftOut) {
  const std::string text =
      "Package: a\nStatus: install ok installed\nDepends: b\n\n"
      "Package: b\nStatus: deinstall ok config-files\nDepends: a\n\n"
      "Package: c\nStatus: purge ok not-installed\n";
  const std::vector<Package> packages = parse_packages(text, "status");
  ASSERT_EQ(packages.size(), 1u);
  EXPECT_EQ(packages[0].name, "a");
  EXPECT_TRUE(package_graph(packages, {}).edges.empty());
}

TEST(ClosureDebian, ATextWithoutPackagesIsAnError) {
  for (const char* text : {"", "\n\n", "1 2\n", "\x04\x22\x4d\x18"}) {
    EXPECT_EQ(error_of([&] { parse_packages(text, "x"); }),
              "x: no index of Debian packages (compressed ones end in .gz, .lz4, .xz, .zst or .bz2)");
  }
}

TEST(ClosureDebian, AFolderGivesAllItsIndexes) {
  const TemporaryFile folder("");
  std::filesystem::create_directory(folder.path());
  EXPECT_EQ(error_of([&] { read_packages(folder.path()); }), folder.path() + ": no file with _Packages in its name");
  write_text(folder.path() + "/one_Packages", "Package: a\nDepends: b\n");
  write_text(folder.path() + "/two_Packages", "Package: b\nDepends: a\n");
  write_text(folder.path() + "/two_InRelease", "no index\n");
  EXPECT_EQ(package_graph(read_packages(folder.path()), {}).edges, sorted({{0, 1}, {1, 0}}));
}

}  // namespace
}  // namespace closure
