/* Stands in for an MPI library, with or without some functions. Nobody calls them. */
int MPI_Standin(void);
int MPI_Standin(void) { return 0; }

#define HAS(name) \
  int name(void); \
  int name(void) { return 0; }
/* What is only needed is not there. */
#define NEEDS(name)                            \
  extern int name(void) __attribute__((weak)); \
  int needs_##name(void);                      \
  int needs_##name(void) { return name != 0; }

#if defined(WITH_LARGE)
HAS(MPI_Alltoall_c)
#else
NEEDS(MPI_Alltoall_c)
#endif
#if defined(WITH_PERSISTENT)
HAS(MPI_Alltoall_init)
HAS(MPI_Alltoall_init_c)
#else
NEEDS(MPI_Alltoall_init)
NEEDS(MPI_Alltoall_init_c)
#endif
#if defined(WITH_MPIX)
HAS(MPIX_Alltoall_init)
#else
NEEDS(MPIX_Alltoall_init)
#endif
