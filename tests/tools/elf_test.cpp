#include "tool/launch/elf.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "tool/launch/libraries.hpp"

namespace quadrille::tools {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

using Image = std::vector<std::byte>;

template <class T>
void put(Image& image, std::size_t offset, const T& object) {
  if (image.size() < offset + sizeof(T)) image.resize(offset + sizeof(T));
  std::memcpy(image.data() + offset, &object, sizeof(T));
}

struct Paths {
  std::string rpath, runpath;
};

// A small ELF file: header, two program headers, the dynamic section, the strings.
Image make_elf(const std::vector<std::string>& needed, const Paths& paths = {}) {
  std::string strings(1, '\0');
  std::vector<Elf64_Dyn> entries;
  const auto add = [&](Elf64_Sxword tag, const std::string& text) {
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = strings.size();
    entries.push_back(entry);
    strings += text + '\0';
  };
  for (const std::string& name : needed) add(DT_NEEDED, name);
  if (!paths.rpath.empty()) add(DT_RPATH, paths.rpath);
  if (!paths.runpath.empty()) add(DT_RUNPATH, paths.runpath);

  constexpr std::uint64_t address = 0x400000, dynamic_at = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const std::uint64_t strings_at = dynamic_at + (entries.size() + 2) * sizeof(Elf64_Dyn);
  Elf64_Dyn table{}, end{};
  table.d_tag = DT_STRTAB;
  table.d_un.d_ptr = address + strings_at;
  entries.push_back(table);
  entries.push_back(end);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr load{}, dynamic{};
  load.p_type = PT_LOAD;
  load.p_vaddr = address;
  load.p_filesz = strings_at + strings.size();
  dynamic.p_type = PT_DYNAMIC;
  dynamic.p_offset = dynamic_at;
  dynamic.p_filesz = entries.size() * sizeof(Elf64_Dyn);

  Image image;
  put(image, 0, header);
  put(image, sizeof(Elf64_Ehdr), load);
  put(image, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), dynamic);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    put(image, dynamic_at + i * sizeof(Elf64_Dyn), entries[i]);
  }
  image.resize(strings_at + strings.size());
  std::memcpy(image.data() + strings_at, strings.data(), strings.size());
  return image;
}

TEST(Elf, ReadsDependenciesAndPaths) {
  const Image image = make_elf({"liba.so.1", "libmpi.so.40"}, {"/r1:/r2", "/u1::$ORIGIN/lib"});
  Elf elf;
  ASSERT_EQ(read_elf(image, elf), "");
  EXPECT_TRUE(elf.dynamic);
  EXPECT_EQ(elf.machine, EM_X86_64);
  EXPECT_THAT(elf.needed, ElementsAre("liba.so.1", "libmpi.so.40"));
  EXPECT_THAT(elf.rpath, ElementsAre("/r1", "/r2"));
  EXPECT_THAT(elf.runpath, ElementsAre("/u1", "$ORIGIN/lib"));
}

TEST(Elf, ReadsARealProgram) {
  const MappedFile file("/proc/self/exe");
  Elf elf;
  ASSERT_EQ(read_elf(file.bytes(), elf), "");
  EXPECT_TRUE(elf.dynamic);
  EXPECT_FALSE(elf.interpreter.empty());
  EXPECT_THAT(elf.needed, testing::Contains(testing::StartsWith("libc.so")));
}

TEST(Elf, RefusesOtherFiles) {
  Elf elf;
  EXPECT_NE(read_elf({}, elf), "");
  const Image script(100, std::byte{'#'});
  EXPECT_NE(read_elf(script, elf), "");
  Image narrow = make_elf({"liba.so"});
  narrow[EI_CLASS] = std::byte{ELFCLASS32};
  EXPECT_NE(read_elf(narrow, elf), "");
}

// The file is copied to memory of exactly its size, so that a sanitizer sees a read past its end.
TEST(Elf, EveryTruncationIsAnErrorAndNothingElse) {
  const Image image = make_elf({"liba.so.1", "libmpi.so.40"}, {"/r1", "/u1"});
  for (std::size_t size = 0; size < image.size(); ++size) {
    const Image cut(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    Elf elf;
    EXPECT_NE(read_elf(cut, elf), "") << size;
  }
}

TEST(Elf, DamagedBytesNeverLeadOutsideTheFile) {
  const Image image = make_elf({"liba.so.1", "libmpi.so.40"}, {"/r1", "/u1"});
  std::mt19937 random(7);
  int refused = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    Image damaged = image;
    for (int i = 0; i < 1 + turn % 8; ++i) {
      damaged[random() % damaged.size()] = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random());
    }
    Elf elf;
    refused += read_elf(damaged, elf).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 1000);
}

TEST(Elf, HugeOffsetsAreRefused) {
  Image image = make_elf({"liba.so.1"});
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof header);
  for (const std::uint64_t offset : {~std::uint64_t{0}, ~std::uint64_t{0} - 55, std::uint64_t{1} << 40}) {
    header.e_phoff = offset;
    std::memcpy(image.data(), &header, sizeof header);
    Elf elf;
    EXPECT_NE(read_elf(image, elf), "") << offset;
  }
}

// The C library, which is an ELF file with many functions.
Image c_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&getpid), &info) == 0) return {};
  const MappedFile file(info.dli_fname);
  return {file.bytes().begin(), file.bytes().end()};
}

TEST(Elf, FunctionsThatAreDefined) {
  const Image library = c_library();
  EXPECT_TRUE(defines_function(library, "getpid"));
  EXPECT_FALSE(defines_function(library, "MPI_Alltoall_c"));
  EXPECT_FALSE(defines_function(library, "getpi"));
  EXPECT_FALSE(defines_function(library, ""));
  // This program needs it, but does not define it.
  const MappedFile self("/proc/self/exe");
  EXPECT_FALSE(defines_function(self.bytes(), "dladdr"));
  EXPECT_FALSE(defines_function({}, "getpid"));
  // What it takes from others.
  EXPECT_TRUE(needs_any_function(self.bytes(), std::array<std::string_view, 2>{"no_such_function", "dladdr"}));
  EXPECT_FALSE(needs_any_function(self.bytes(), std::array<std::string_view, 1>{"no_such_function"}));
  EXPECT_FALSE(needs_any_function(library, std::array<std::string_view, 1>{"getpid"}));
  EXPECT_FALSE(needs_any_function({}, std::array<std::string_view, 1>{"dladdr"}));
}

TEST(Elf, DamagedSymbolsNeverLeadOutsideTheFile) {
  const Image library = c_library();
  Elf64_Ehdr header;
  std::memcpy(&header, library.data(), sizeof header);
  std::mt19937 random(11);
  int lost = 0;
  for (int turn = 0; turn < 300; ++turn) {
    Image damaged = library;
    // In the table of sections, and a few of those in front of it.
    for (int i = 0; i < 40; ++i) {
      const std::size_t at = header.e_shoff + random() % (header.e_shnum * sizeof(Elf64_Shdr));
      damaged[at] = static_cast<std::byte>(random() % 4 == 0 ? 0xff : random());
    }
    if (turn % 3 == 0) damaged.resize(random() % damaged.size());
    lost += defines_function(damaged, "getpid") ? 0 : 1;
  }
  EXPECT_GT(lost, 100);
}

Image make_cache(const std::vector<CacheEntry>& entries) {
  Image image(48 + 24 * entries.size());
  std::memcpy(image.data(), "glibc-ld.so.cache1.1", 20);
  put(image, 20, static_cast<std::uint32_t>(entries.size()));
  const auto append = [&](const std::string& text) {
    const auto at = static_cast<std::uint32_t>(image.size());
    image.resize(image.size() + text.size() + 1);
    std::memcpy(image.data() + at, text.c_str(), text.size() + 1);
    return at;
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint32_t soname = append(entries[i].soname), path = append(entries[i].path);
    put(image, 48 + 24 * i + 4, soname);
    put(image, 48 + 24 * i + 8, path);
  }
  return image;
}

TEST(LoaderCache, ReadsEntries) {
  const Image image = make_cache({{"liba.so", "/lib/liba.so"}, {"libb.so", "/lib/libb.so"}});
  const std::vector<CacheEntry> entries = read_loader_cache(image);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].soname, "libb.so");
  EXPECT_EQ(entries[1].path, "/lib/libb.so");
}

TEST(LoaderCache, SurvivesDamage) {
  EXPECT_THAT(read_loader_cache({}), IsEmpty());
  Image image = make_cache({{"liba.so", "/lib/liba.so"}, {"libb.so", "/lib/libb.so"}});
  for (std::size_t size = 0; size < image.size(); ++size) {
    const Image cut(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_LE(read_loader_cache(cut).size(), 1u) << size;
  }
  put(image, 20, ~std::uint32_t{0});  // far more entries than there are
  EXPECT_LT(read_loader_cache(image).size(), image.size());
}

// A directory with programs and libraries that are made up.
class MpiUseTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "quadrille-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string write(const std::string& name, const Image& image) {
    const fs::path path = fs::path(directory_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(image.data()), static_cast<std::streamsize>(image.size()));
    return path.string();
  }

  std::string directory_;
  LoaderPaths paths_;
};

TEST_F(MpiUseTest, ADirectDependencyDecides) {
  const MpiUse use = mpi_use(write("app", make_elf({"libc.so.6", "libmpi.so.40"})), paths_);
  EXPECT_EQ(use.kind, FileKind::program);
  EXPECT_EQ(use.abi, Abi::openmpi);
  EXPECT_EQ(use.library, "libmpi.so.40");
  EXPECT_EQ(use.also, Abi::none);
}

TEST_F(MpiUseTest, LibrariesAreFollowedThroughTheirOwnPaths) {
  const std::string app = write("bin/app", make_elf({"liba.so"}, {"", "$ORIGIN/../lib"}));
  write("lib/liba.so", make_elf({"libb.so"}, {"", "${ORIGIN}/deep"}));
  write("lib/deep/libb.so", make_elf({"libmpich.so.12"}));
  EXPECT_EQ(mpi_use(app, paths_).abi, Abi::mpich);
}

// By the MPI standard's ABI its library alone says whose it is.
TEST_F(MpiUseTest, OpenMpiIsKnownByALibraryThatItAloneHas) {
  paths_.library_path = {directory_};
  const std::string app = write("app", make_elf({"libmpi_abi.so.1"}));
  const std::string library = write("libmpi_abi.so.1", make_elf({"libucp.so.0"}));
  EXPECT_EQ(mpi_use(app, paths_).abi, Abi::standard);
  EXPECT_FALSE(mpi_use(app, paths_).of_openmpi || mpi_use(library, paths_).of_openmpi);
  write("libmpi_abi.so.1", make_elf({"libopen-pal.so.80"}));
  EXPECT_EQ(mpi_use(app, paths_).abi, Abi::standard);
  EXPECT_TRUE(mpi_use(app, paths_).of_openmpi && mpi_use(library, paths_).of_openmpi);
}

// As ld.so does: where a program is a link, what lies beside the program counts; where a library is one, what lies
// beside the link.
TEST_F(MpiUseTest, OriginIsTheProgramsRealFolderAndThatOfALibrarysLink) {
  write("store/bin/app", make_elf({"liba.so"}, {"", "$ORIGIN/../../view"}));
  write("store/lib/liba.so", make_elf({"libb.so"}, {"", "$ORIGIN/deep"}));
  write("view/deep/libb.so", make_elf({"libmpi.so.40"}));
  write("store/lib/deep/libb.so", make_elf({"libmpi.so.12"}));
  fs::create_symlink(directory_ + "/store/lib/liba.so", directory_ + "/view/liba.so");
  fs::create_symlink(directory_ + "/store/bin/app", directory_ + "/app");
  EXPECT_EQ(mpi_use(directory_ + "/app", paths_).abi, Abi::openmpi);
}

// What doctor looks for tools in, and where the libraries of an MPI are looked for first.
TEST_F(MpiUseTest, OtherLibrariesAndTheRpathAreTold) {
  const std::string app = write("app", make_elf({"libtool.so", "libmpi.so.40"}, {"$ORIGIN/lib", ""}));
  const std::string tool = write("lib/libtool.so", make_elf({"liba.so"})), a = write("lib/liba.so", make_elf({}));
  write("lib/libmpi.so.40", make_elf({"libpal.so"}));
  write("lib/libpal.so", make_elf({}));
  const MpiUse use = mpi_use(app, paths_);
  EXPECT_THAT(use.others, ElementsAre(tool, a));
  EXPECT_THAT(use.files, ElementsAre(directory_ + "/lib/libmpi.so.40"));
  EXPECT_THAT(use.rpath, ElementsAre(directory_ + "/lib"));
  EXPECT_THAT(mpi_use(write("app", make_elf({"libtool.so"}, {"", "$ORIGIN/lib"})), paths_).rpath, IsEmpty());
}

TEST_F(MpiUseTest, RpathIsInheritedAndRunpathIsNot) {
  write("lib/liba.so", make_elf({"libb.so"}));
  write("lib/libb.so", make_elf({"libmpi.so.40"}));
  const std::string by_rpath = write("bin/one", make_elf({"liba.so"}, {"$ORIGIN/../lib", ""}));
  const std::string by_runpath = write("bin/two", make_elf({"liba.so"}, {"", "$ORIGIN/../lib"}));
  EXPECT_EQ(mpi_use(by_rpath, paths_).abi, Abi::openmpi);
  EXPECT_EQ(mpi_use(by_runpath, paths_).abi, Abi::none);
}

TEST_F(MpiUseTest, TheEnvironmentAndTheCacheAreUsed) {
  const std::string app = write("app", make_elf({"liba.so"}));
  const std::string library = write("lib/liba.so", make_elf({"libmpi.so.12"}));
  EXPECT_EQ(mpi_use(app, paths_).abi, Abi::none);
  paths_.library_path = {directory_ + "/lib"};
  EXPECT_EQ(mpi_use(app, paths_).abi, Abi::mpich);
  paths_.library_path.clear();
  paths_.cache = {{"liba.so", library}};
  EXPECT_EQ(mpi_use(app, paths_).abi, Abi::mpich);
}

TEST_F(MpiUseTest, LoopsEndAndTwoMpisAreNoticed) {
  paths_.library_path = {directory_};
  const std::string app = write("app", make_elf({"liba.so", "libmpi.so.40"}));
  write("liba.so", make_elf({"libb.so"}));
  write("libb.so", make_elf({"liba.so", "libmpi.so.12"}));
  const MpiUse use = mpi_use(app, paths_);
  EXPECT_EQ(use.abi, Abi::openmpi);
  EXPECT_EQ(use.also, Abi::mpich);
  EXPECT_EQ(use.also_library, "libmpi.so.12");
}

TEST_F(MpiUseTest, TheStandardsAbiBesideAnotherAndAnotherVersionOfItAreNoticed) {
  const MpiUse both = mpi_use(write("both", make_elf({"libmpi_abi.so.1", "libmpi.so.12"})), paths_);
  EXPECT_EQ(both.abi, Abi::standard);
  EXPECT_EQ(both.also, Abi::mpich);
  const MpiUse versions = mpi_use(write("versions", make_elf({"libmpi_abi.so.1", "libmpi_abi.so.2"})), paths_);
  EXPECT_EQ(versions.abi, Abi::standard);
  EXPECT_EQ(versions.also, Abi::other);
  EXPECT_EQ(versions.also_library, "libmpi_abi.so.2");
}

TEST_F(MpiUseTest, ScriptsAndDamagedFilesAreTold) {
  const std::string text = "#!/bin/sh\n";
  Image script(text.size());
  std::memcpy(script.data(), text.data(), text.size());
  EXPECT_EQ(mpi_use(write("script", script), paths_).kind, FileKind::script);
  Image cut = make_elf({"libmpi.so.40"});
  cut.resize(cut.size() - 3);
  EXPECT_EQ(mpi_use(write("cut", cut), paths_).kind, FileKind::fixed);
  // A damaged library is passed over.
  write("liba.so", cut);
  paths_.library_path = {directory_};
  EXPECT_EQ(mpi_use(write("app", make_elf({"liba.so"})), paths_).abi, Abi::none);
}

}  // namespace
}  // namespace quadrille::tools
