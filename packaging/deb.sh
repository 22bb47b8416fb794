#!/usr/bin/env bash
# deb.sh OUT JOBS: Debian packages of the files that git tracks, built as packagers do, looked over by lintian, and tried
# under a root of their own: the command, an unmodified program under it, pkg-config and CMake. The packages are in OUT.
# If build/venv has MPICH 5, the packages are built with its header, and so serve the ABI of the MPI standard.
set -euo pipefail

source="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
mkdir -p "$1"
out="$(cd "$1" && pwd)" jobs="$2" mpich5="$source/build/venv"
say() { echo "deb: $*"; }
fail() { echo "deb: $*" >&2; exit 1; }

version="$(sed -n 's/^project(.*VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")"
[[ -n "$version" ]] || fail "CMakeLists.txt names no version"
grep -q "^quadrille ($version-" "$source/packaging/debian/changelog" ||
  fail "packaging/debian/changelog does not begin with version $version"
rm -rf "$out"/*
tree="$out/quadrille-$version"
mkdir "$tree"
if git -C "$source" rev-parse --git-dir >/dev/null 2>&1; then
  git -C "$source" ls-files -z | tar -C "$source" --null -T - -cf - | tar -C "$tree" -xf -
else
  tar -C "$source" --exclude=./build --exclude=./.git -cf - . | tar -C "$tree" -xf -
fi
tar -C "$out" -czf "$out/quadrille_$version.orig.tar.gz" "quadrille-$version"
cp -R "$source/packaging/debian" "$tree/debian"

say "building takes some minutes; the log is $out/build.log"
[[ -e "$mpich5/include/mpi_abi.h" ]] || mpich5=
(cd "$tree" && MPI_C_COMPILER="${mpich5:+$mpich5/bin/mpicc}" DEB_BUILD_OPTIONS="parallel=$jobs noautodbgsym" dpkg-buildpackage -us -uc -b) \
  >"$out/build.log" 2>&1 ||
  { tail -n 30 "$out/build.log" >&2; fail "dpkg-buildpackage failed"; }

say "lintian"
# That no bug of Debian is closed matters to an upload alone.
lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$out"/*.changes || fail "lintian has found something"

say "trying them"
root="$out/root"
for package in "$out"/*.deb; do dpkg-deb -x "$package" "$root"; done
triplet="$(dpkg-architecture -qDEB_HOST_MULTIARCH)"
tool="$root/usr/bin/quadrille"
"$tool" list >/dev/null || fail "the command does not run"
"$tool-lab" show --map >/dev/null || fail "quadrille-lab does not run"
for file in man/man1/quadrille{,-lab}-bench.1.gz man/man3/Quadrille_Alltoallv.3.gz \
    bash-completion/completions/quadrille{,-lab} zsh/vendor-completions/_quadrille{,-lab}; do
  [[ -e "$root/usr/share/$file" ]] || fail "/usr/share/$file is missing"
done
export PKG_CONFIG_PATH="$root/usr/lib/$triplet/pkgconfig" CMAKE_PREFIX_PATH="$root/usr" OMPI_MCA_rmaps_base_oversubscribe=1
read -ra flags <<<"$(pkg-config --cflags --libs quadrille)"
abis="$(pkg-config --variable=abis quadrille)"
dpkg-deb -f "$out"/quadrille_*.deb Description | grep -qF "ABIs: ${abis// /, }" || fail "the description does not name the ABIs $abis"
# try ABI MPICC MPIRUN
try() {
  local abi="$1" mpicc="$2" mpirun="$3"
  [[ " $abis " == *" $abi "* ]] || fail "the packages do not serve the ABI $abi but $abis"
  "$mpicc" "$source/tests/package/consumer/user.c" -o "$out/user-$abi" "${flags[@]}"
  "$mpirun" -n 2 "$out/user-$abi" || fail "a program for $abi, linked by pkg-config, fails"
  cmake -S "$source/tests/package/consumer" -B "$out/consumer-$abi" -DUSER_ABI="$abi" \
    -DMPI_CXX_COMPILER="$(command -v "${mpicc/mpicc/mpicxx}")" >"$out/consumer.log" && cmake --build "$out/consumer-$abi" >>"$out/consumer.log" ||
    { cat "$out/consumer.log" >&2; fail "find_package fails for $abi"; }
  "$mpirun" -n 2 "$out/consumer-$abi/user-cpp" || fail "a program for $abi, linked by CMake, fails"
  "$mpicc" "$source/tests/tools/program.c" -o "$out/program-$abi"
  "$tool" run --explain -- "$mpirun" -n 2 "$out/program-$abi" >"$out/run.log" 2>&1 || { cat "$out/run.log" >&2; fail "quadrille run fails for $abi"; }
  grep -q '^quadrille: alltoall .* -> ' "$out/run.log" || { cat "$out/run.log" >&2; fail "quadrille run serves nothing for $abi"; }
}
# Where `make setup` has put a newer MPICH, the program's own launcher starts it.
for abi in openmpi mpich; do try "$abi" "mpicc.$abi" "mpirun.$abi"; done
[[ -z "$mpich5" ]] || try standard "$mpich5/bin/mpicc_abi" "$mpich5/bin/mpirun"
rm -rf "$root" "$tree" "$out"/user-* "$out"/consumer* "$out"/program-* "$out/run.log"
say "$(cd "$out" && ls -1 ./*.deb | tr '\n' ' ')"
