#!/bin/sh
# client.sh CASE PRELOAD CLIENT PYTHON LIBRARY: programs that know nothing of the heap, in one situation
# each. LIBRARY is libquadrille.so.
set -eu
case=$1
preload=$2
client=$3
python=$4
library=$5

under() { LD_PRELOAD=$preload QUADRILLE_HEAP=early "$@"; }

expect() { # WHAT GOT WANTED
  if [ "$2" != "$3" ]; then
    echo "$1: got '$2', wanted '$3'" >&2
    exit 1
  fi
}

sum=$("$client" | cut -d' ' -f1)

case $case in
python3)
  program='
import array, os, subprocess, threading
data = [bytearray(1 << 20) for _ in range(40)]
numbers = array.array("d", range(300000))
def work():
    for _ in range(50): bytearray(200000)
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
read, write = os.pipe()
child = os.fork()
if child == 0:
    for block in data: block[0] = 9
    os.write(write, b"%d" % int(sum(numbers)))
    os._exit(0)
os.waitpid(child, 0)
assert all(block[0] == 0 for block in data)
assert subprocess.check_output(["echo", "hi"]) == b"hi\n"
maps = open("/proc/self/maps").read()
print(os.read(read, 100).decode(), "heap" if "memfd:quadrille-heap" in maps else "none")
'
  expect python3 "$(under "$python" -c "$program")" "44999850000 heap"
  ;;
address-limit)
  expect unlimited "$(under "$client")" "$sum heap"
  # The client still works, without a heap. The second limit would leave room for one.
  for kilobytes in 2000000 200000000; do
    expect "$kilobytes" "$(ulimit -v $kilobytes; under "$client")" "$sum none"
  done
  ;;
address-limit-later)
  # In MiB above what the program has taken already, natively and with a heap of all memory.
  program='
import resource
def taken():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmSize")).split()[1]) << 10
early = bytearray(1 << 20)
maps = open("/proc/self/maps").read()
limit = 1 << 30
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
blocks = [bytearray(1 << 20) for _ in range(300)]
try:
    bytearray(2 << 30)
    large = "too much"
except MemoryError:
    large = "refused"
found = resource.getrlimit(resource.RLIMIT_AS)[0] == limit
print(len(blocks), large, found, "heap" if "memfd:quadrille-heap" in maps else "none")
'
  expect native "$("$python" -c "$program")" "300 refused True none"
  expect limited "$(under "$python" -c "$program")" "300 refused True heap"
  ;;
file-limit)
  # In blocks of 512 bytes. A heap's file would raise a signal here.
  expect limited "$(ulimit -f 1000; under "$client")" "$sum none"
  ;;
closed-descriptor)
  expect closed "$(under "$client" --close)" "$sum heap"
  ;;
nothing-left)
  # Ours alone: other programs of the machine come and go, too.
  ours() { ls /dev/shm | grep quadrille || true; }
  before=$(ours)
  expect run "$(under "$client")" "$sum heap"
  expect /dev/shm "$(ours)" "$before"
  ;;
loaded-late)
  # As an extension module of Python is. The allocator's thread-local data is large: with any
  # thread-local variable of the model initial-exec the loader would refuse the library.
  program='
import ctypes, sys
ctypes.CDLL(sys.argv[1])
print("loaded")
'
  expect late "$("$python" -c "$program" "$library")" loaded
  ;;
*)
  echo "unknown case $case" >&2
  exit 2
  ;;
esac
