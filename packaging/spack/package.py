# A recipe for Spack. Quadrille has no archive to download from, so it is built from a checkout:
#
#   mkdir -p REPO/packages/quadrille && cp packaging/spack/package.py REPO/packages/quadrille/
#   printf 'repo:\n  namespace: quadrille\n' > REPO/repo.yaml && spack repo add REPO
#   cd CHECKOUT && spack dev-build quadrille@0.1.0 ^openmpi
#
# The result serves all MPIs that have the ABI of the MPI in the spec: Open MPI's, or that of MPICH, MVAPICH, Intel MPI and
# Cray MPICH. By ^mpich@5:+mpi5-abi it serves that of the MPI standard (libmpi_abi.so.1), too. `quadrille info` lists the ABIs.
from spack.package import *

try:  # where Spack has its build systems since 1.0
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
except ImportError:
    pass


class Quadrille(CMakePackage):
    """Fast all-to-all collectives on any MPI: Alltoall(v,w), Allgather(v) and the neighbour collectives of programs that
    need not be changed."""

    license("BSD-3-Clause")

    version("0.1.0")

    variant("heap", default=True, description="Shared heap, with the jemalloc of memkind")

    # Spack 1.0 and later gives a package only the compilers that it asks for.
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("cli11@2.1:", type="build")
    depends_on("fmt@9:10", type="build")  # fmt 11 has moved fmt::join to another header
    depends_on("highway@1:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("hwloc@2:")
    depends_on("memkind", type="build", when="+heap")
    depends_on("mpi@3:")

    generator("ninja")
    conflicts("%gcc@:10", msg="Quadrille needs GCC 11 or newer")
    conflicts("%clang@:13", msg="Quadrille needs Clang 14 or newer")

    def cmake_args(self):
        return [
            self.define("QUADRILLE_MPI_HEADERS", self.spec["mpi"].headers.directories),
            self.define("QUADRILLE_TESTS", False),
            self.define_from_variant("QUADRILLE_HEAP", "heap"),
        ]

    def setup_run_environment(self, env):
        env.set("QUADRILLE_ROOT", self.prefix)
