#!/usr/bin/env bash
# modules.sh BUILD VERSION: the environment module, read by Environment Modules and by Lmod, whichever is installed: what it adds is
# there, what the user had stays, `man` still has the system's pages, and nothing is left after unloading. 77: neither is installed.
set -euo pipefail

build="$1" version="$2"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/prefix/bin" "$work/prefix/share/man/man1" "$work/prefix/share/modulefiles/quadrille"
cp "$build/install/modulefile" "$work/prefix/share/modulefiles/quadrille/$version"
touch "$work/prefix/share/man/man1/quadrille.1"

cat >"$work/check.sh" <<'CHECK'
fail() { echo "modules test: $reader: $*" >&2; exit 1; }
# is NAME VALUE: the variable; "unset" for one that is not there.
is() {
  local found="${!1-unset}"
  [ "$found" = "$2" ] || fail "$when: $1 is '$found' instead of '$2'"
}
# man_is PATH: MANPATH, with an empty element behind it. Lmod writes two colons there, which say the same.
man_is() {
  case "${MANPATH-unset}" in "$1:" | "$1::") ;; *) fail "$when: MANPATH is '${MANPATH-unset}' instead of '$1:'" ;; esac
}
ours="$prefix/share"
module use "$prefix/share/modulefiles"

# As on a system that sets neither. The readers themselves may have set MANPATH to ':', which says the same.
when="without variables of the user"
unset MANPATH XDG_DATA_DIRS
module load quadrille || fail "it cannot be loaded"
man_is "$ours/man"
is XDG_DATA_DIRS "$ours:/usr/local/share:/usr/share"
is QUADRILLE_ROOT "$prefix"
case ":$PATH:" in *":$prefix/bin:"*) ;; *) fail "$when: PATH is $PATH" ;; esac
if command -v man >/dev/null; then
  case ":$(manpath 2>/dev/null):" in *:/usr/share/man:*) ;; *) fail "$when: man looks only in $(manpath 2>/dev/null)" ;; esac
fi
module unload quadrille
is QUADRILLE_ROOT unset
case "${MANPATH-}:${XDG_DATA_DIRS-}:$PATH" in *"$prefix"*) fail "$when: something is left after unloading: ${MANPATH-}, ${XDG_DATA_DIRS-}, $PATH" ;; esac

when="with a MANPATH that has the system's pages"
export MANPATH=:
module load quadrille
man_is "$ours/man"
module unload quadrille

when="with variables of the user"
export MANPATH=/opt/other/man XDG_DATA_DIRS=/opt/other/share:/usr/share
module load quadrille
man_is "$ours/man:/opt/other/man"
# Lmod puts a folder that was there already where it is added now.
case "$XDG_DATA_DIRS" in
  "$ours:/opt/other/share:/usr/share:/usr/local/share" | "$ours:/opt/other/share:/usr/local/share:/usr/share") ;;
  *) fail "$when: XDG_DATA_DIRS is '$XDG_DATA_DIRS'" ;;
esac
module unload quadrille
case "${MANPATH-}" in /opt/other/man | /opt/other/man: | /opt/other/man::) ;; *) fail "$when: after unloading MANPATH is '${MANPATH-}'" ;; esac
is XDG_DATA_DIRS /opt/other/share:/usr/share
CHECK

tried=0
# read_by NAME INIT
read_by() {
  [[ -e "$2" ]] || return 0
  tried=1
  # A shell of its own: each defines `module`. Settings of the user's own modules stay out.
  env -i HOME="$work" PATH=/usr/local/bin:/usr/bin:/bin LC_ALL=C bash --norc -c \
    'reader="$1" prefix="$2"; . "$3" >/dev/null 2>&1; . "$4"' - "$1" "$work/prefix" "$2" "$work/check.sh"
}
read_by 'Environment Modules' /usr/share/modules/init/bash
read_by Lmod /usr/share/lmod/lmod/init/bash
((tried)) || { echo 'neither Environment Modules nor Lmod is installed (apt-get install environment-modules lmod)'; exit 77; }
echo "all as expected"
