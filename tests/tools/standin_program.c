/* A program of the stand-in MPI: says what is preloaded. */
#include <stdio.h>
#include <stdlib.h>

int MPI_Standin(void);

int main(void) {
  const char* preload = getenv("LD_PRELOAD");
  printf("preload=%s end\n", preload != NULL ? preload : "");
  return MPI_Standin();
}
