"""Cross-checks the simulation with SimGrid's SMPI, which runs MPI programs in a simulated network by other means.

    smpi_test.py LAB

The same messages, written by hand in smpi_program.c, on a network with the same constants: times must agree to a hundredth.
Messages are sent at once; SMPI has no question and answer for longer ones.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LAB = sys.argv[1]
SKIPPED = 77
# Microseconds and GB/s of both.
LATENCY, OVERHEAD, RATE = 1.5, 1, 25
NETWORK = {'name': 'as SMPI', 'latency': 1000 * LATENCY, 'overhead': 1000 * OVERHEAD, 'gap': 0, 'gap_byte': 1 / RATE, 'eager': 1 << 24}
# A link of each host, up and down, has half of the latency.
PLATFORM = f'''<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-511" speed="1Gf" bw="{RATE}GBps" lat="{LATENCY / 2}us"/>
</platform>
'''
SETTINGS = ['network/model:CM02', 'network/bandwidth-factor:1', 'network/latency-factor:1', 'network/weight-S:0',
            'network/crosstraffic:no', 'network/TCP-gamma:1e12', f'smpi/os:0:{OVERHEAD}e-6:0', f'smpi/ois:0:{OVERHEAD}e-6:0',
            f'smpi/or:0:{OVERHEAD}e-6:0', 'smpi/simulate-computation:no', f'smpi/send-is-detached-thresh:{1 << 24}',
            f'smpi/async-small-thresh:{1 << 24}']
OURS = {'spread-out': ('alltoall', 'spread-out'), 'pairwise': ('alltoall', 'pairwise'),
        'bruck': ('alltoall', 'zero-rotation-bruck'), 'ring': ('allgather', 'ring')}
CASES = [(ranks, name, size) for ranks in (2, 60) for name in OURS for size in (8, 16384)]
CASES += [(512, 'bruck', 8), (512, 'bruck', 1024)]


def smpi(folder, ranks, name, size):
  words = [f'--cfg={one}' for one in SETTINGS]
  done = subprocess.run(['smpirun', '-np', str(ranks), '-platform', folder / 'platform.xml', '-hostfile', folder / 'hosts', *words,
                         '--log=root.thres:critical', folder / 'program', name, str(size)], capture_output=True, text=True,
                        cwd=folder, check=True)
  return float(done.stdout.split()[-1])


def ours(folder, ranks, name, size):
  collective, algorithm = OURS[name]
  subprocess.run([LAB, 'simulate', collective, '--ranks', str(ranks), '--sizes', str(size), '--network', folder / 'network.json',
                  '--no-rivals', '--algorithms', algorithm, '--json', folder / 'out.json'], stdout=subprocess.DEVNULL, check=True)
  return json.loads((folder / 'out.json').read_text())['rows'][0]['us']


def main():
  if not shutil.which('smpicc') or not shutil.which('smpirun'):
    print('skipped: SimGrid is not installed (libsimgrid-dev)')
    return SKIPPED
  with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / 'platform.xml').write_text(PLATFORM)
    (folder / 'hosts').write_text(''.join(f'n{host}\n' for host in range(512)))
    (folder / 'network.json').write_text(json.dumps(NETWORK))
    subprocess.run(['smpicc', '-O1', HERE / 'smpi_program.c', '-o', folder / 'program'], check=True, cwd=folder)
    wrong = 0
    for ranks, algorithm, size in CASES:
      other, own = smpi(folder, ranks, algorithm, size), ours(folder, ranks, algorithm, size)
      far = abs(own / other - 1) > 0.01
      wrong += far
      print(f'{ranks:4} {algorithm:10} {size:6} SMPI {other:10.3f} ours {own:10.3f}{" FAR" if far else ""}')
  return 1 if wrong else 0


if __name__ == '__main__':
  sys.exit(main())
