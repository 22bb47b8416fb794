/* Has the name of a library of Cray MPICH; only linked to. A test puts the real MPI in its place. */
int quadrille_standin_cray(void);
int quadrille_standin_cray(void) { return 0; }
