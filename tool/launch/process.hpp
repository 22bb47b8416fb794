// Small helpers around processes and files for the command line tool.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::tools {

// Path of the executable regular file that `word` starts, seen from `directory` (empty: the current
// one): a word with a slash is a path, others are looked up in PATH. Empty if there is none.
std::string resolve_executable(std::string_view word, std::string_view directory);

// Runs a program without LD_PRELOAD and returns what it writes to stdout and stderr: the first 64 KiB, and if `sign` is
// not empty, all lines with that and the last 8 KiB or more. Empty when it cannot be started. After `seconds`, or at a
// signal of Signals, it is asked to end, and ended ten seconds later. While it runs, `while_waiting` is called about
// once a second with the seconds that have passed.
std::string output_of(const std::vector<std::string>& words, int seconds,
                      const std::function<void(int)>& while_waiting = nullptr, std::string_view sign = {});

// Path of the binary that is running, and its directory.
std::string own_program();
std::string own_directory();

// A variable of the environment; empty if it is not set.
std::string environment(const char* name);

// One line on stderr, "quadrille: ...".
void complain(std::string_view line);

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Reads a whole file. Returns an empty string, or why it cannot be read: "No such file or directory".
std::string read_whole(const std::string& path, std::string& text);

// The first line of a text file, without its end; empty if it cannot be read.
std::string first_line(const std::string& path);

}  // namespace quadrille::tools
