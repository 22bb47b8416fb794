#include "command_line.hpp"

#include <CLI/CLI.hpp>

namespace examples {
namespace {

void complete(CLI::App& app, CLI::Option* option, bool shows_default, const Rules& rules = {}) {
  if (shows_default && !rules.hides_default) option->capture_default_str();
  if (rules.needs != nullptr) option->needs(app.get_option(rules.needs));
  for (const char* other : rules.excludes) option->excludes(app.get_option(other));
  option->required(rules.required);
}

}  // namespace

CommandLine::CommandLine(const char* program, const char* what) : app_(std::make_unique<CLI::App>(what, program)) {}

CommandLine::~CommandLine() = default;

void CommandLine::text(const char* name, std::string& value, const std::string& what, const Rules& rules) {
  complete(*app_, app_->add_option(name, value, what), true, rules);
}

void CommandLine::texts(const char* name, std::vector<std::string>& values, const std::string& what,
                        const Rules& rules) {
  complete(*app_, app_->add_option(name, values, what), false, rules);
}

template <class T>
void CommandLine::choice(const char* name, T& value, const std::vector<std::type_identity_t<T>>& all,
                         const std::string& what) {
  complete(*app_, app_->add_option(name, value, what)->check(CLI::IsMember(all)), true);
}
template void CommandLine::choice(const char*, int&, const std::vector<int>&, const std::string&);
template void CommandLine::choice(const char*, std::string&, const std::vector<std::string>&, const std::string&);

void CommandLine::number(const char* name, int& value, int least, int most, const std::string& what,
                         const Rules& rules) {
  const bool valid = least <= value && value <= most;
  complete(*app_, app_->add_option(name, value, what)->check(CLI::Range(least, most)), valid, rules);
}

void CommandLine::not_negative(const char* name, int& value, const std::string& what) {
  complete(*app_, app_->add_option(name, value, what)->check(CLI::NonNegativeNumber), value >= 0);
}

void CommandLine::positive(const char* name, double& value, const std::string& what) {
  complete(*app_, app_->add_option(name, value, what)->check(CLI::PositiveNumber), value > 0);
}

void CommandLine::flag(const char* name, bool& value, const std::string& what, const Rules& rules) {
  complete(*app_, app_->add_flag(name, value, what), false, rules);
}

int CommandLine::read_and_run(int argc, char** argv, const std::function<int(const World&)>& program,
                              const World& world) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::Success& help) {
    return world.rank == 0 ? app_->exit(help) : 0;
  } catch (const CLI::ParseError& error) {
    if (world.rank == 0) std::fprintf(stderr, "%s: %s (try --help)\n", app_->get_name().c_str(), error.what());
    return 2;
  }
  return program(world);
}

int CommandLine::run(int argc, char** argv, const std::function<int(const World&)>& program) {
  MPI_Init(&argc, &argv);
  World world{MPI_COMM_WORLD, 0, 1};
  MPI_Comm_rank(world.comm, &world.rank);
  MPI_Comm_size(world.comm, &world.ranks);
  int status = 2;
  try {
    status = read_and_run(argc, argv, program, world);
  } catch (const std::runtime_error& error) {
    // Thrown by all ranks alike, so an orderly end is possible.
    if (world.rank == 0) std::fprintf(stderr, "%s: %s\n", app_->get_name().c_str(), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: rank %d: %s\n", app_->get_name().c_str(), world.rank, error.what());
    MPI_Abort(world.comm, 3);
  }
  MPI_Finalize();
  return status;
}

}  // namespace examples
