/* Has the name of a library of the MPI standard's next ABI; only loaded. */
int quadrille_standin_abi(void);
int quadrille_standin_abi(void) { return 0; }
