// The processes in which `quadrille report` makes calls again.
#include <gtest/gtest.h>
#include <signal.h>

#include "report/child.hpp"
#include "tool/launch/signals.hpp"

namespace quadrille::tools {
namespace {

TEST(ReportChild, HowItEndsIsKnownAlsoWhereThatIsIgnored) {
  struct sigaction before {
  }, ignored{}, after{};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignored, &before);
  {
    const Signals signals;
    EXPECT_EQ(wait_for([] { return 7; }), 7);
    // It finds what this process has found.
    EXPECT_EQ(wait_for([] {
                struct sigaction there {};
                sigaction(SIGCHLD, nullptr, &there);
                return there.sa_handler == SIG_IGN ? 3 : 4;
              }),
              3);
    EXPECT_EQ(run_quietly({"sh", "-c", "exit 5"}, "/dev/null", 60, [](int) {}), 5);
  }
  sigaction(SIGCHLD, &before, &after);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

}  // namespace
}  // namespace quadrille::tools
