# The laboratory: the tool finds it where it is built and where it is installed, and says so where it is not.
. "$(dirname "$0")/common.sh"

LAB=$(dirname "$TOOL")/quadrille-lab

# As installed, under a name that is a link.
mkdir -p "$work/there/bin" "$work/there/libexec/quadrille/$ABI"
cp "$TOOL" "$work/there/bin/quadrille-$ABI"
ln -s "quadrille-$ABI" "$work/there/bin/quadrille"
expect 127 1 "which is not installed: there is neither '$work/there/bin/../libexec/quadrille/$ABI/quadrille-lab'" \
  "$work/there/bin/quadrille" show --map
expect 127 1 "is not installed" "$work/there/bin/quadrille" bench --figure hint-6
expect 127 1 "is not installed" "$work/there/bin/quadrille" bench --copy-phase
expect 0 0 "round" "$work/there/bin/quadrille" show --ranks 2
# All ranks end, and one of them says why.
timeout 60 $MPIRUN -n 2 "$work/there/bin/quadrille" bench --figure hint-6 >"$work/out" 2>&1
[ $? != 0 ] || fail "without a laboratory the exit status is 0"
[ "$(grep -c '^quadrille: .*is not installed' "$work/out")" = 1 ] || fail "not one line: $(cat "$work/out")"

# What cannot be started is no reason to look on.
echo "not a program" >"$work/there/libexec/quadrille/$ABI/quadrille-lab"
expect 127 1 "cannot start the laboratory" "$work/there/bin/quadrille" show --map
# A laboratory that tells how it was started: the words are the same.
printf '#!/bin/sh\nprintf "<%%s>" "$@"\nexit 5\n' >"$work/there/libexec/quadrille/$ABI/quadrille-lab"
chmod +x "$work/there/libexec/quadrille/$ABI/quadrille-lab"
expect 5 0 "<bench><--figure><hint 6><--results=a b>" "$work/there/bin/quadrille" bench --figure "hint 6" "--results=a b"
# What the command line itself says is the tool's.
expect 2 1 "unknown option or argument: --figur" "$work/there/bin/quadrille" bench --figur hint-6
ln -sf "$LAB" "$work/there/libexec/quadrille/$ABI/quadrille-lab"
expect 0 0 "the paper's formulas" "$work/there/bin/quadrille" show --map --model paper

# Started by hand, it says what it is for.
expect 2 1 "start it as 'quadrille bench --figure hint-6'" "$LAB" bench alltoall
expect 2 1 "start it as 'quadrille show --map'" "$LAB" show
expect 2 1 "unknown subcommand 'run'; known are bench, show, simulate, pages" "$LAB" run
finish
