// The argument lists of the collectives as the MPI declares them.
#pragma once

#include <mpi.h>

#include "collective/collective.hpp"

#define QUADRILLE_NATIVE MPI_Comm, MPI_Datatype, const MPI_Datatype*
#define QUADRILLE_EXPANDED(LIST, ...) LIST(__VA_ARGS__)
#define QUADRILLE_PARAMETERS_UNIFORM(Count, Displacement) \
  QUADRILLE_EXPANDED(QUADRILLE_LIST_UNIFORM, Count, Displacement, QUADRILLE_NATIVE)
#define QUADRILLE_PARAMETERS_VECTOR(Count, Displacement) \
  QUADRILLE_EXPANDED(QUADRILLE_LIST_VECTOR, Count, Displacement, QUADRILLE_NATIVE)
#define QUADRILLE_PARAMETERS_TYPED(Count, Displacement) \
  QUADRILLE_EXPANDED(QUADRILLE_LIST_TYPED, Count, Displacement, QUADRILLE_NATIVE)
#define QUADRILLE_PARAMETERS_GATHERV(Count, Displacement) \
  QUADRILLE_EXPANDED(QUADRILLE_LIST_GATHERV, Count, Displacement, QUADRILLE_NATIVE)
#define QUADRILLE_PARAMETERS_GATHERW(Count, Displacement) \
  QUADRILLE_EXPANDED(QUADRILLE_LIST_GATHERW, Count, Displacement, QUADRILLE_NATIVE)
