#!/usr/bin/env bash
# check.sh BUILD ABI MPICC MPIRUN
# Installs BUILD under a temporary prefix and moves the prefix, because an installed tree must not know where it was. Then
# builds consumer/user.c by pkg-config, user.cpp by find_package without a component and with that of ABI, and runs them on
# 2 ranks.
set -euo pipefail

build="$1" abi="$2" mpicc="$3" mpirun="$4"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

fail() { echo "package test: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"
prefix="$work/prefix"

grep -rIlF -e "$build" -e "$work/first" "$prefix" && fail "these files know where they were built"
for file in include/quadrille.h lib/quadrille/libquadrille.so lib/quadrille/libquadrille.so.0 lib/quadrille/libquadrille_mpi.so \
    lib/quadrille/libquadrille_mpi_{large,persistent}.so lib/quadrille/libquadrille_mpix_persistent.so \
    bin/quadrille bin/quadrille-lab share/doc/quadrille/LICENSE \
    share/man/man1/quadrille-bench.1 share/man/man1/quadrille-lab-bench.1 share/man/man3/Quadrille_Alltoallv.3 \
    share/bash-completion/completions/quadrille share/bash-completion/completions/quadrille-lab \
    share/zsh/site-functions/_quadrille share/zsh/site-functions/_quadrille-lab; do
  [[ -e "$prefix/$file" ]] || fail "$file is not installed"
done
# A user's link must not drag in an MPI: the program brings its own.
if readelf -d "$prefix/lib/quadrille/libquadrille.so" | grep -E 'NEEDED.*libmpi'; then
  fail "libquadrille.so is linked to an MPI"
fi
"$prefix/bin/quadrille" list >/dev/null || fail "the installed tool does not run"
"$prefix/bin/quadrille-lab" show --map >/dev/null || fail "the installed quadrille-lab does not run"
"$mpirun" -n 2 "$prefix/bin/quadrille-lab" bench --figure hint-6 --iterations 1 --results "$work/results" >/dev/null
[[ -s "$work/results/hint-6.json" ]] || fail "the installed quadrille-lab repeats no figure"

# The environment module, in a few words of what reads it.
module="$(echo "$prefix"/share/modulefiles/quadrille/*)"
[[ -e "$module" ]] || fail "there is no environment module"
if command -v tclsh >/dev/null; then
  cat >"$work/read.tcl" <<'TCL'
set ModulesCurrentModulefile [lindex $argv 0]
foreach word {module-whatis} { proc $word {args} {} }
proc prepend-path {name folder} { global paths; set paths($name) [linsert [expr {[info exists paths($name)] ? $paths($name) : {}}] 0 $folder] }
proc append-path {name folder} { global paths; lappend paths($name) $folder }
proc setenv {name value} { global paths; set paths($name) [list $value] }
source $ModulesCurrentModulefile
foreach name [array names paths] { puts "$name [join $paths($name) :]" }
TCL
  tclsh "$work/read.tcl" "$module" >"$work/module"
  while read -r name folders; do
    # Those that are not ours are the system's.
    while read -r folder; do
      [[ "$folder" != "$prefix"* || -d "$folder" ]] || fail "the environment module sets $name to $folder, which is not there"
    done < <(tr : '\n' <<<"$folders")
  done <"$work/module"
  for line in "PATH $prefix/bin" "MANPATH $prefix/share/man:" "XDG_DATA_DIRS $prefix/share:/usr/local/share:/usr/share" \
      "QUADRILLE_ROOT $prefix"; do
    grep -qxF "$line" "$work/module" || fail "the environment module does not set $line but: $(cat "$work/module")"
  done
fi

# C, by pkg-config.
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
read -ra cflags <<<"$(pkg-config --cflags quadrille)"
read -ra libs <<<"$(pkg-config --libs quadrille)"
[[ " $(pkg-config --variable=abis quadrille) " == *" $abi "* ]] || fail "pkg-config does not name the ABI $abi"
"$mpicc" -std=c99 -Wall -Wextra -Werror "${cflags[@]}" "$here/consumer/user.c" -o "$work/user-c" "${libs[@]}"
"$mpirun" -n 2 "$work/user-c"

# C++, by find_package, from a project of its own: without a component and with that of the ABI; an unknown one is refused.
consumer() { # NAME COMPONENT
  cmake -S "$here/consumer" -B "$work/$1" -DCMAKE_PREFIX_PATH="$prefix" -DUSER_ABI="$2" \
    -DMPI_CXX_COMPILER="${mpicc/mpicc/mpicxx}" && cmake --build "$work/$1"
}
consumer known "$abi" >"$work/known.log" 2>&1 || { cat "$work/known.log"; fail "a project that finds Quadrille"; }
for name in quadrille "$abi"; do
  "$mpirun" -n 2 "$work/known/user-$name"
done
if consumer unknown other >"$work/unknown.log" 2>&1 || ! grep -q "component 'other'" "$work/unknown.log"; then
  cat "$work/unknown.log"
  fail "find_package with an unknown component"
fi
