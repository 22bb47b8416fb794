#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace quadrille::test {

/// A folder that only this test has, gone with it. Tests run side by side, each in a process of its own, so a name
/// that two of them share is one file that both write.
class TempFolder {
 public:
  TempFolder() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "quadrille-XXXXXX").string();
};

}  // namespace quadrille::test
