// The names that end in _ptds and _ptsz: see cuda_streams.cpp.
#define QUADRILLE_STANDIN_PER_THREAD
#include "cuda_streams.cpp"
