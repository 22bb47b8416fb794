/* Stands in for an MPI library, with or without a collective with large counts. Nobody calls it. */
int MPI_Standin(void);
int MPI_Standin(void) { return 0; }

#if defined(LARGE_COUNTS)
int MPI_Alltoall_c(void);
int MPI_Alltoall_c(void) { return 0; }
#else
/* What is only needed is not there. */
extern int MPI_Alltoall_c(void) __attribute__((weak));
int other(void);
int other(void) { return MPI_Alltoall_c != 0; }
#endif
