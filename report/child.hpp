// A process that is waited for, and a folder that is gone in the end.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace quadrille::tools {

// Beside a file, so that all hosts of a job see it where they see the file. Removed with all in it.
class OwnFolder {
 public:
  // Empty path(): it cannot be made.
  explicit OwnFolder(const std::string& beside);
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Does `work` in a child, which ends with what that returns; the status is as a shell has it. -1: there is no child, or
// nobody knows how it has ended.
int wait_for(const std::function<int()>& work);

// Runs a program in the background, its output in a file, for so many seconds at most; what it started ends with it.
// -1: it took too long, or could not be started.
// `watch` is called now and then, with the seconds that have passed.
int run_quietly(const std::vector<std::string>& words, const std::string& output, int seconds,
                const std::function<void(int)>& watch);

}  // namespace quadrille::tools
