// Signals that come while this process waits for a child.
#pragma once

#include <sys/types.h>

namespace quadrille::tools {

// While there is one, SIGINT, SIGTERM, SIGHUP and SIGQUIT do not end this process: they go on to its child. What a
// terminal sends to all of its processes the child has got by itself. And how a child ends is told.
class Signals {
 public:
  Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals();
  // The last one that came since the latest Signals began; 0: none.
  static int received();
};

// Names the child; negative: a group of processes, 0: none.
void pass_signals_to(pid_t to);

// In a child, before its program starts: that finds signals as this process found them.
void put_signals_back();

}  // namespace quadrille::tools
