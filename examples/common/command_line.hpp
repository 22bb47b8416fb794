// The command line of an MPI program. Only its unit includes CLI11, which takes seconds to compile.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "world.hpp"

namespace CLI {
class App;
}

namespace examples {

// Conditions of an option. The options that they name must have been added before.
struct Rules {
  std::vector<const char*> excludes = {};
  const char* needs = nullptr;
  bool required = false;
  bool hides_default = false;
};

class CommandLine {
 public:
  CommandLine(const char* program, const char* what);
  ~CommandLine();

  // Each adds an option. The help shows the present value as the default if the option accepts that value.
  void text(const char* name, std::string& value, const std::string& what, const Rules& rules = {});
  void texts(const char* name, std::vector<std::string>& values, const std::string& what, const Rules& rules = {});
  template <class T>
  void choice(const char* name, T& value, const std::vector<std::type_identity_t<T>>& all, const std::string& what);
  void number(const char* name, int& value, int least, int most, const std::string& what, const Rules& rules = {});
  void not_negative(const char* name, int& value, const std::string& what);
  void positive(const char* name, double& value, const std::string& what);
  // A name "!--name" clears the value.
  void flag(const char* name, bool& value, const std::string& what, const Rules& rules = {});

  // Reads the options and runs `program`, between MPI_Init and MPI_Finalize. Returns the exit status.
  int run(int argc, char** argv, const std::function<int(const World&)>& program);

 private:
  int read_and_run(int argc, char** argv, const std::function<int(const World&)>& program, const World& world);

  std::unique_ptr<CLI::App> app_;
};

}  // namespace examples
