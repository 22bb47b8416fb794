#!/usr/bin/env bash
# Installs what Quadrille needs and this machine lacks: Debian packages (packages.txt) and MPI
# wheels (wheels.txt). Does nothing, and needs no network, when all is there.
#   setup.sh            everything
#   setup.sh demo       for `make demo`: the packages that it needs, and no wheels
#   setup.sh deb        everything, and what makes Debian packages
#   setup.sh browser    everything, and a browser for the tests of pages
#   setup.sh tidy       everything, and clang-tidy
#   setup.sh pictures   only what draws pictures: matplotlib
#   setup.sh site       only what makes a site of the documents: mkdocs
# A missing wheel is an error only if CI is set.
set -euo pipefail

what="${1:-all}"
scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
build="$(dirname "$scripts")/build"

say() { echo "setup: $*"; }
fail() { echo "setup: $*" >&2; exit 1; }

# --- Debian packages -----------------------------------------------------------------------------

installed() { [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]; }

# Prints the pins (name=version) of the packages that are not installed.
missing_packages() {
  local pin use
  while read -r pin use; do
    [[ -z "$use" || "$use" == "$what" || ("$use" == test && "$what" =~ ^(all|deb|browser|tidy)$) ]] || continue
    installed "${pin%%=*}" || echo "$pin"
  done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$scripts/packages.txt")
}

# Without Debian's packages there is only one thing to check: are the programs there?
check_other_system() {
  local program lacking=()
  for program in cmake ninja c++ pkg-config python3; do
    command -v "$program" >/dev/null || lacking+=("$program")
  done
  ((${#lacking[@]} == 0)) || fail "this is not a Debian system, and ${lacking[*]} not found;" \
    "install what docs/building.md lists, then run this again"
  say "this is not a Debian system: packages are not checked (docs/building.md lists them)"
}

apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" </dev/null; }
apt_install() { apt install -y --no-install-recommends "$@"; }

# Prints name=version where the archive has that version, the bare name where it has another.
pin_or_name() {
  local name="${1%%=*}" version="${1#*=}"
  if apt-cache madison "$name" | awk -F'|' '{gsub(/ /, "", $2); print $2}' |
      grep -Fxq -- "$version"; then
    echo "$1"
  else
    say "the archive no longer has $1; taking its own version of $name" >&2
    echo "$name"
  fi
}

install_packages() {
  local missing=("$@") names=() wanted=() pin
  for pin in "${missing[@]}"; do names+=("${pin%%=*}"); done
  local by_hand="install by hand: apt-get install ${names[*]}"

  as_root=()
  if [[ "$(id -u)" != 0 ]]; then
    command -v sudo >/dev/null || fail "neither root nor sudo; $by_hand"
    # Without a terminal sudo cannot ask for a password.
    if [[ ! -t 0 ]] && ! sudo -n true 2>/dev/null; then
      fail "sudo asks for a password; $by_hand"
    fi
    sudo true || fail "sudo refused; $by_hand"
    as_root=(sudo)
  fi

  say "installing ${names[*]}"
  apt update || { sleep 5; apt update; } || fail "apt-get update failed (no network?); $by_hand"
  for pin in "${missing[@]}"; do wanted+=("$(pin_or_name "$pin")"); done
  apt_install "${wanted[@]}" && return
  say "that failed; trying once more, with the archive's own versions"
  apt_install "${names[@]}" || fail "apt-get install failed; $by_hand"
}

# --- Wheels --------------------------------------------------------------------------------------

# Prints a Python that can make virtual environments. Debian's own comes first; another python3 in
# PATH may lack the venv module.
find_python() {
  local python
  for python in /usr/bin/python3 python3; do
    if command -v "$python" >/dev/null && "$python" -c 'import ensurepip, venv' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  fail "no python3 with the venv module; apt-get install python3-venv"
}

# wheel_installed VENV NAME VERSION: pip leaves NAME-VERSION.dist-info behind. An MPI has a launcher.
wheel_installed() {
  compgen -G "$1/lib/python*/site-packages/${2//-/_}-$3.dist-info" >/dev/null &&
    [[ "$2" == mpi4py || "$2" == matplotlib || "$2" == mkdocs || "$2" == libucx-* || -x "$1/bin/mpirun" ]]
}

install_wheel() {
  local venv="$1" wheel="$2" python
  python="$(find_python)" || return 1
  say "installing $wheel into build/$(basename "$venv")"
  "$python" -m venv --clear "$venv" || return 1
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --only-binary :all: "$wheel" ||
    { sleep 5; "$venv/bin/python" -m pip install -q --disable-pip-version-check \
      --only-binary :all: "$wheel"; }
}

setup_wheels() {
  local folder wheel machines
  while read -r folder wheel machines; do
    [[ ",$machines," == *",$(uname -m),"* ]] || continue
    [[ "$what" == demo ]] && continue
    # Who does not draw needs nothing to draw with, and likewise for a site.
    if [[ "$what" == pictures || "$what" == site ]]; then
      [[ "$folder" == "venv-$what" ]] || continue
    elif [[ "$folder" == venv-pictures || "$folder" == venv-site ]]; then
      continue
    fi
    wheel_installed "$build/$folder" "${wheel%%==*}" "${wheel##*==}" && continue
    if ! install_wheel "$build/$folder" "$wheel" </dev/null; then
      local message="$wheel cannot be installed from the Python package index (no network?)"
      [[ "$folder" != venv-pictures ]] || fail "$message; pictures are drawn with it"
      [[ "$folder" != venv-site ]] || fail "$message; the site is made with it"
      if [[ "$folder" == venv-mpi4py ]]; then
        say "$message; the tests with mpi4py 4 are left out"
        continue
      fi
      # Who only tries Quadrille gets as far as he can; what is left out is said again at the end of the tests.
      [[ -z "${CI:-}" ]] ||
        fail "$message; connect, or put the wheel in a folder and set PIP_FIND_LINKS to it"
      if [[ "$folder" == venv ]]; then
        say "$message; the build for MPICH's ABI will use Debian's MPICH 4.0, without the MPI standard's ABI and the tests that it cannot pass"
      elif [[ "$folder" == venv-ucx ]]; then
        say "$message; the tests on Open MPI 5 with a device's memory are left out"
      else
        say "$message; the tests on that MPI are left out"
      fi
    fi
  done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$scripts/wheels.txt")
}

[[ "$what" =~ ^(all|demo|deb|browser|tidy|pictures|site)$ ]] ||
  fail "unknown argument '$what'; use: setup.sh [demo|deb|browser|tidy|pictures|site]"
mkdir -p "$build"
if [[ "$what" == pictures || "$what" == site ]]; then
  setup_wheels
  exit
fi
if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
else
  check_other_system
fi
setup_wheels
say "everything is there"
