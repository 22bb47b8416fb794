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
#   ALL       1: every test, also those of the large matrices that are in no row of tests/rows.txt, and those by the ABI of
#             the MPI standard (default: none)

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

# The compiler wrappers of MPICH's wheel split paths at blanks, run paths split at colons, and LD_PRELOAD at both.
ifneq ($(filter build demo check rows tests test test-% fuzz bench results results-long docs deb install wheel device-bundle,$(MAKECMDGOALS)),)
ifneq ($(words '$(CURDIR)')$(findstring :,$(CURDIR)),1)
$(error '$(CURDIR)' has a blank or a colon, which compiler wrappers and LD_PRELOAD do not support: move the folder)
endif
endif

CONFIGURE := cmake -S . -G Ninja
MPIS := openmpi mpich $(if $(ALL),standard)
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
	@echo 'make build          build, in build, and the examples for both MPIs, in build/openmpi and build/mpich'
	@echo 'make test-sanitize  run the tests with AddressSanitizer and UBSan'
	@echo 'make test-tsan      run the tests of the executor with ThreadSanitizer'
	@echo "make test-device-all  all tests on a device's memory, also on MPIs that take it; needs no GPU"
	@echo 'make format         format all sources'
	@echo 'make tidy           static analysis of the library, the tool and the report by clang-tidy; ten minutes on two cores'
	@echo 'make rows           add rows of the large matrices for what none covers, drop others (tests/rows.txt)'
	@echo 'make fuzz           random programs under all MPIs (SECONDS=3600)'
	@echo 'make bench          measure all collectives on both MPIs; results in build/bench'
	@echo 'make results        repeat the figures of the papers that this machine can repeat (RESULTS=build/results RUNS=3)'
	@echo 'make results-long   what takes longer: more ranks, hosts that this machine plays (docs/benchmark.md); three hours'
	@echo 'make pictures       draw the figures of docs/results from their data, into build/pictures'
	@echo 'make docs           write docs/algorithms.md, docs/cli.md, the settings in docs/tuning.md and the pages of results, and check the links of all documents'
	@echo 'make site           the documentation as a site of its own, in build/site; it is read without a network'
	@echo 'make install        build the product, and install it (PREFIX=/usr/local, DESTDIR=)'
	@echo 'make wheel          the Python wheel, in build/wheel'
	@echo 'make device-bundle  what measures Quadrille on a bare machine with GPUs, in build/device-bundle'
	@echo 'make deb            Debian packages, looked over by lintian and tried, in build/deb'
	@echo 'make clean          remove the builds; what setup installed stays, and results'

setup:
	@scripts/setup.sh

setup-demo:
	@scripts/setup.sh demo

# OFF for the demonstration, which needs no GoogleTest. The builds for an MPI follow that of the product.
FOR_TESTS := ON

# A configured build knows by itself when it must configure again.
build/build.ninja:
	@$(CONFIGURE) -B build -DQUADRILLE_TESTS=$(FOR_TESTS)

$(MPIS:%=build/%/build.ninja): build/%/build.ninja: | build/build.ninja
	@$(CONFIGURE) -B build/$* -DQUADRILLE_MPI=$*

CONFIGURE_ASAN := $(CONFIGURE) -B build/asan -DQUADRILLE_SANITIZE=address,undefined -DQUADRILLE_TOGETHER=$(if $(ALL),OFF,ON)

build/asan/build.ninja:
	@$(CONFIGURE_ASAN)

build/openmpi-asan/build.ninja: build/asan/build.ninja
	@$(CONFIGURE) -B build/openmpi-asan -DQUADRILLE_MPI=openmpi -DQUADRILLE_LIBRARY_BUILD=$(CURDIR)/build/asan -DQUADRILLE_EXAMPLES=OFF

build/tsan/build.ninja:
	@$(CONFIGURE) -B build/tsan -DQUADRILLE_SANITIZE=thread

CONFIGURED := build/build.ninja $(MPIS:%=build/%/build.ninja)

# build_targets FOLDERS TARGETS
define build_targets
for folder in $(1); do cmake --build $$folder -j $(JOBS) $(if $(2),--target $(2)) || exit 1; done
endef

# A build that was configured for the demonstration gets its tests.
ADD_TESTS := ! grep -q '^QUADRILLE_TESTS:BOOL=OFF' build/CMakeCache.txt || cmake -DQUADRILLE_TESTS=ON build >/dev/null

build: $(CONFIGURED)
	@$(call build_targets,build $(MPIS:%=build/%))

# On MPICH, too, where `make build` has been run.
demo: setup-demo
	@$(MAKE) --no-print-directory build/openmpi/build.ninja FOR_TESTS=OFF
	@$(call build_targets,build,quadrille_demo)
	@$(call build_targets,build/openmpi $(patsubst %/bin/fft3d,%,$(wildcard build/mpich/bin/fft3d)),fft3d)
	@python3 scripts/demo.py

# Tests without MPI. The proofs stop at 17 ranks here.
check: build/build.ninja
	@$(ADD_TESTS)
	@$(call build_targets,build,quadrille_checked)
	@QUADRILLE_TEST_PROOF_RANKS=17 $(RUN_TESTS) --builds build --labels '^(plan|run|device|check)$$'

format:
	@scripts/format.py

tidy:
	@scripts/setup.sh tidy
	@$(MAKE) --no-print-directory build/build.ninja
	@scripts/tidy.py

rows: tests build/openmpi-asan/build.ninja
	@python3 scripts/rows.py write

tests: $(CONFIGURED)
	@$(ADD_TESTS)
	@$(call build_targets,build $(MPIS:%=build/%),all tests/all)

# What was configured for the demonstration knows nothing of what setup has installed since.
test: setup
	@$(CONFIGURE) -B build >/dev/null
	@for mpi in $(MPIS); do $(CONFIGURE) -B build/$$mpi -DQUADRILLE_MPI=$$mpi >/dev/null || exit 1; done
	@$(MAKE) --no-print-directory tests
	@$(RUN_TESTS) --builds build $(MPIS:%=build/%) --other-mpis

# A build that is there was made with ALL or without: it takes what is asked for now, and that with ranks takes it from there.
test-sanitize: setup
	@$(CONFIGURE_ASAN) >/dev/null
	@$(MAKE) --no-print-directory build/openmpi-asan/build.ninja
	@$(call build_targets,build/asan build/openmpi-asan,quadrille_sanitized_tests)
	@$(if $(TESTS)$(ALL),$(call build_targets,build/asan,quadrille_sanitized_rest))
	@$(if $(TESTS)$(ALL),$(call build_targets,build/openmpi-asan,tools_program))
	@$(RUN_TESTS) --builds build/asan build/openmpi-asan --labels '^($(if $(TESTS)$(ALL),plan|tools|)run|heap|mpi|device)$$'

test-tsan: setup
	@$(MAKE) --no-print-directory build/tsan/build.ninja
	@$(call build_targets,build/tsan,quadrille_run_tests quadrille_inbox_wrap_tests quadrille_header_tests)
	@$(RUN_TESTS) --builds build/tsan --labels '^run$$'

test-device-all:
	@$(MAKE) --no-print-directory test TESTS='^(device|mpi\.device|clients\.device)'

test-all:
	@scripts/test_all.py

fuzz: $(CONFIGURED)
	@$(ADD_TESTS)
	@$(call build_targets,build)
	@$(call build_targets,build/openmpi build/mpich,quadrille_fuzz)
	@python3 scripts/fuzz.py --seconds $(SECONDS)

bench: build
	@scripts/bench.sh

# Of both MPIs, as some figures compare them.
results results-long: tests
	@lab/results.py --build build/openmpi --out '$(RESULTS)' --runs $(RUNS) $(if $(filter results-long,$@),--long)
	@scripts/setup.sh pictures
	@build/venv-pictures/bin/python lab/pictures.py '$(RESULTS)' --results '$(RESULTS)'
	@python3 lab/papers judge --lab build/bin/quadrille-lab --results '$(RESULTS)' >'$(RESULTS)/claims.txt'
	@echo '$(RESULTS)/claims.txt'

# From the stored data alone; none is stored.
pictures:
	@scripts/setup.sh pictures
	@build/venv-pictures/bin/python lab/pictures.py build/pictures

docs: build
	@python3 scripts/docs_algorithms.py build/bin/quadrille docs/algorithms.md
	@python3 scripts/docs_cli.py build/bin/quadrille docs/cli.md
	@python3 scripts/docs_settings.py build/bin/quadrille docs/tuning.md
	@python3 lab/papers write --lab build/bin/quadrille-lab
	@python3 lab/pages write
	@python3 scripts/docs_links.py

# With the page on which schedules move, and the pictures of the results.
site: build/build.ninja pictures
	@scripts/setup.sh site
	@$(call build_targets,build,quadrille_tool)
	@build/venv-site/bin/python scripts/site.py build/site --tool build/bin/quadrille \
	  --pictures build/pictures
	@echo 'build/site/index.html'

install: build/build.ninja
	@$(call build_targets,build)
	@DESTDIR='$(DESTDIR)' cmake --install build --prefix '$(PREFIX)'

# A build of its own, whose result runs with glibc 2.28 (cmake/old_glibc).
WHEEL_BUILD := -DQUADRILLE_GLIBC=2.28 -DQUADRILLE_TESTS=OFF

build/wheel-build/build.ninja:
	@$(CONFIGURE) -B build/wheel-build $(WHEEL_BUILD)

wheel: build/wheel-build/build.ninja
	@rm -rf build/wheel/tree
	@$(call build_targets,build/wheel-build)
	@cmake --install build/wheel-build --prefix build/wheel/tree --strip >build/wheel-build/install.log
	@strip build/wheel/tree/bin/quadrille build/wheel/tree/bin/quadrille-lab
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
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name 'venv*' ! -name compat ! -name results ! -name 'test-all*' \
	  ! -name mutants ! -name site -exec rm -rf {} +
