#!/bin/sh
# rename_jemalloc.sh LIBMEMKIND OUTPUT
# Takes jemalloc out of libmemkind.a and makes OUTPUT of it:
# - every global symbol gets the prefix quadrille_je_;
# - its settings come from us alone: secure_getenv and readlink, by which it would read MALLOC_CONF and
#   /etc/malloc.conf, become functions of ours (memory/heap_arena.cpp);
# - its constructor goes: it starts with the first use, and a program without a heap pays nothing.
set -eu
input=$1
output=$2
work=$(dirname "$output")/objects
rm -rf "$work"
mkdir -p "$work"
(cd "$work" && "$AR" x "$input" && rm -f jemalloc_cpp.pic.o && ls ./*.pic.o >/dev/null)
"$NM" -g --defined-only "$work"/*.pic.o |
  awk 'NF == 3 { print $3, "quadrille_je_" $3 }' | sort -u >"$work/names"
for function in secure_getenv readlink; do
  echo "$function quadrille_je_$function" >>"$work/names"
done
for object in "$work"/*.pic.o; do
  "$OBJCOPY" --redefine-syms="$work/names" --remove-section=.init_array \
    --remove-section=.rela.init_array --strip-debug "$object"
done
rm -f "$output"
"$AR" rcs "$output" "$work"/*.pic.o
