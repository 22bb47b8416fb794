#!/bin/sh
# build_wheel.sh SOURCE: `make wheel`, twice, which must give the same file; its tag must be true, and not newer than
# glibc 2.28.
set -eu
cd "$1"
unset MAKEFLAGS MAKELEVEL MFLAGS
if ! command -v readelf >/dev/null; then
  echo "skipped: there is no readelf"
  exit 77
fi
make --no-print-directory wheel
wheel=$(ls build/wheel/quadrille-*.whl)
first=$(sha256sum "$wheel")
make --no-print-directory wheel
[ "$first" = "$(sha256sum "$wheel")" ] || { echo "the second wheel differs from the first"; exit 1; }
python3 scripts/wheel.py --check "$wheel"
case "$wheel" in
  *-manylinux_2_1[0-9]_*|*-manylinux_2_2[0-8]_*) ;;
  *) echo "$wheel: glibc 2.28 or older was wanted"; exit 1 ;;
esac
