// What tests can see of the stand-in of libxpmem, and tell it. It is looked up with dlsym().
#pragma once

struct XpmemStandin {
  int version;
  bool fail_make, fail_get, fail_attach;
  int gets, releases, attaches, detaches, removes;  // that succeeded
  int failed_attaches = 0;
};
