// Starts a program on any glibc. From 2.34 on the C library itself runs the program's constructors; before, the
// program's own start files had to hand it a function that does, and those of today no longer do. A newer C library
// calls such a function as well, in place of what it would do. Linked with --wrap=__libc_start_main.
typedef void constructor(int, char**, char**);

extern constructor* __init_array_start[] __attribute__((visibility("hidden")));
extern constructor* __init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void);

static void run_constructors(int argc, char** argv, char** environment) {
  _init();
  for (constructor** each = __init_array_start; each != __init_array_end; ++each) (*each)(argc, argv, environment);
}

int __real___libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, constructor* init,
                             void (*fini)(void), void (*end_of_loader)(void), void* stack);

int __wrap___libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, constructor* init,
                             void (*fini)(void), void (*end_of_loader)(void), void* stack) {
  (void)init;
  (void)fini;
  return __real___libc_start_main(main, argc, argv, run_constructors, 0, end_of_loader, stack);
}
