// Reads the command line of a launcher: which word starts the programs?
//
//   numactl -N 0 mpirun -n 4 --mca btl self,sm -x PATH taskset -c 0 ./app in.txt : -n 1 ./other
//                |launcher                                          |program            |program
//
// Pure: what the file system knows comes in through a function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::tools {

// Path of the executable regular file that `word` starts, seen from `directory` (empty: here);
// empty if there is none. A word with a slash is a path; others are looked up in PATH.
using Resolve = std::function<std::string(std::string_view word, std::string_view directory)>;

struct CommandProgram {
  int word = -1;     // index into the command line
  std::string path;  // what it resolves to
};

// A word of a command that names a file: `FILE` does as a whole, `--app=FILE` from a letter on.
struct FileWord {
  int word = -1;
  std::size_t from = 0;
};

struct Command {
  int launcher = -1;                     // index of the launcher; -1: the program is started directly
  std::string launcher_path;             // what it resolves to; empty when it is missing
  std::vector<int> contexts;             // index of the first word of each part between ':' words
  std::vector<CommandProgram> programs;  // one a part, wrappers such as taskset left out
  bool from_file = false;                // the programs are listed in a file (--app, -configfile)
  std::vector<FileWord> app_files;       // of --app
  std::string problem;                   // one line when a program was not found
};

// Is this the name of an MPI launcher or of a batch system's?
bool is_launcher_name(std::string_view name);
// Is this the name of an interpreter, such as python3.11 or bash? What it runs may use MPI.
bool is_interpreter_name(std::string_view name);

// The file name at the end of a path.
std::string_view base_name(std::string_view path);

Command read_command(std::span<const std::string> words, const Resolve& resolve);

// The words of the launcher and of wrappers, in all parts. Those behind a program are its own.
std::vector<std::string> words_before_programs(std::span<const std::string> words, const Command& command);

// What `quadrille run` adds to the environment.
struct Setting {
  std::string name;
  std::string value;
};

// How Open MPI is told which variables remote nodes get.
enum class Exports : std::uint8_t { none, by_options, by_environment };
// Open MPI takes variables by -x or by this list, but not by both.
inline constexpr std::string_view env_list = "mca_base_env_list";
// Such a list with `names` behind what is there.
std::string with_names(std::string list, std::span<const std::string> names);

// Whether the command line gives that list, by `--mca mca_base_env_list ...`.
bool gives_env_list(std::span<const std::string> words, const Command& command);

// The command line with what remote nodes need. By options: an `-x NAME` in each part, for each setting that the user
// does not export in that part already, but for parts in a file of --app, whose lines have options of their own; if the
// user gives mca_base_env_list, the names are added to that instead. Values of LD_PRELOAD that the user gives there
// (-x LD_PRELOAD=..., -genv LD_PRELOAD ..., env LD_PRELOAD=...) get `preload` in front.
std::vector<std::string> with_exports(std::span<const std::string> words, const Command& command, Exports exports,
                                      std::string_view preload, std::span<const std::string> names);

// The text of a file of --app, each line of which is the command line of one part: the same by options in each.
std::string with_exports_in_lines(std::string_view text, const Resolve& resolve, std::string_view preload,
                                  std::span<const std::string> names);

}  // namespace quadrille::tools
