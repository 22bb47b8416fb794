/* A program without any MPI, which loads a plugin that uses MPI, out of sight of everything else.
 *   plugin_host PLUGIN */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* const plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "no plugin given");
    return 2;
  }
  int (*run)(int, char**);
  *(void**)&run = dlsym(plugin, "plugin_run");
  return run != NULL ? run(argc, argv) : 2;
}
