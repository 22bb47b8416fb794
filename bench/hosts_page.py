#!/usr/bin/env python3
"""Measures what is chosen by itself between nodes beside the MPI's own, and writes the page of results.

    bench/hosts_page.py measure        # hosts that this machine plays, with each build; into docs/results/hosts/between-nodes
    bench/hosts_page.py measure-flat   # only hosts of one rank each
    bench/hosts_page.py write          # docs/results/between-nodes.md, from what is stored there
    bench/hosts_page.py check          # is the page what is stored?
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import stored_page

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORED = ROOT / 'docs' / 'results' / 'hosts' / 'between-nodes'
PAGE = ROOT / 'docs' / 'results' / 'between-nodes.md'
LAYOUTS = [(4, 4), (2, 8), (4, 8)]  # hosts, ranks on each
COLLECTIVES = ['alltoall', 'alltoallv', 'allgather', 'allgatherv']
SIZES = '8,64,512,1K,8K,64K,256K'
MPIS = {'openmpi': 'Open MPI', 'mpich': 'MPICH'}
KEPT = ['collective', 'algorithm', 'bytes', 'mean_bytes', 'served_by', 'mpi_us', 'mpi_min_us', 'mpi_p90_us', 'quadrille_us',
        'quadrille_min_us', 'quadrille_p90_us', 'batches', 'errors']
# Geometric means over the layouts: (collectives, least size, most size, aim of each MPI).
AIMS = [(['alltoall'], 8, 1024, {'openmpi': 0.25, 'mpich': 0.5}), (['alltoall'], 8192, 8192, {'openmpi': 0.6}),
        (['alltoallv'], 8, 1024, {'openmpi': 0.3, 'mpich': 0.55}),
        (['allgather', 'allgatherv'], 8, 1024, {'openmpi': 0.5, 'mpich': 0.5})]
MOST = 1.05
# One rank a host: what is chosen, and two algorithms forced, in one run.
FLAT_HOSTS = 16
FLAT_ALGORITHMS = ['default', 'mn-co', 'spread-out']
FLAT_COLLECTIVES = ['alltoall', 'alltoallv']
FLAT_SIZES = '8,64,128,200,256,512,1K'
FLAT_AIMS = [('alltoallv', 256, 0.7), ('alltoall', 512, 1.0)]  # at every size up to this one, Open MPI
FLAT_MN_CO = 200  # up to here mn-co is to be ahead of spread-out


def words_of(hosts, here, mpi, collective):
  uneven = ['--distribution', 'uniform'] if collective.endswith('v') else []
  what = ['--sizes', SIZES]
  if hosts == FLAT_HOSTS:
    what = ['--sizes', FLAT_SIZES, '--algorithms', ','.join(FLAT_ALGORITHMS)]
  return (['--hosts', str(hosts), '--ranks', str(hosts * here), '--blocked', '--mpi', mpi],
          ['bench', collective, *uneven, *what])


def shown(hosts, here, mpi, collective):
  before, after = words_of(hosts, here, mpi, collective)
  return f'tests/cluster/hosts.py {" ".join(before)} -- build/{mpi}/bin/quadrille {" ".join(after)}'


def store(mpi, hosts, here, collectives, folder):
  """Keeps what the page needs of the results `collective`.json in `folder`."""
  STORED.mkdir(parents=True, exist_ok=True)
  whole = {c: json.loads((folder / f'{c}.json').read_text()) for c in collectives}
  header = whole['alltoall']['header']
  kept = {'commands': [shown(hosts, here, mpi, c) for c in collectives], 'mpi': header['mpi'],
          'processor': header['cpu'], 'processors': os.cpu_count(), 'date': header['date'],
          'rows': [{key: round(row[key], 3) if isinstance(row[key], float) else row[key] for key in KEPT if key in row}
                   for c in collectives for row in whole[c]['rows']]}
  text = json.dumps({**kept, 'rows': []}, indent=1)
  rows = ',\n  '.join(json.dumps(row) for row in kept['rows'])
  (STORED / f'{mpi}-{hosts}x{here}.json').write_text(text.replace('"rows": []', f'"rows": [\n  {rows}\n ]') + '\n')


def measure():
  measure_all(LAYOUTS, COLLECTIVES)
  measure_flat()


def measure_flat():
  measure_all([(FLAT_HOSTS, 1)], FLAT_COLLECTIVES)


def measure_all(layouts_wanted, collectives):
  for mpi in MPIS:
    build = ROOT / 'build' / mpi
    tool = build / 'bin' / 'quadrille'
    if not tool.exists():
      continue
    launcher = re.search(r'^QUADRILLE_MPIRUN:\w+=(.*)$', (build / 'CMakeCache.txt').read_text(), re.M).group(1)
    for hosts, here in layouts_wanted:
      with tempfile.TemporaryDirectory() as folder:
        # Without a table, but as if there might be one: so the first calls try.
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1')
        for collective in collectives:
          print(shown(hosts, here, mpi, collective), flush=True)
          before, after = words_of(hosts, here, mpi, collective)
          subprocess.run([sys.executable, ROOT / 'tests' / 'cluster' / 'hosts.py', *before, '--mpirun', launcher, '--',
                          'env', f'QUADRILLE_TUNING={folder}/none.json', str(tool), *after, '--json',
                          f'{folder}/{collective}.json'], env=environment, check=True, timeout=900,
                         stdout=subprocess.DEVNULL)
        store(mpi, hosts, here, collectives, pathlib.Path(folder))


def mean(values):
  return math.exp(sum(math.log(v) for v in values) / len(values))


def ratio(row):
  return row['quadrille_us'] / row['mpi_us']


def short(served_by):
  return re.sub(r',(exchange=spread-out|group=1048576|order=row|piece=\d+|radix=2|stride=5)', '', served_by).replace('leaders:leaders=', 'leaders, ')


def size_text(size):
  return f'{size // 1024} KiB' if size >= 1024 else str(size)


def layouts(mpi):
  return [f'{hosts}x{here}' for hosts, here in LAYOUTS if (STORED / f'{mpi}-{hosts}x{here}.json').exists()]


def verdicts(results):
  lines = ['| | MPI | measured | aim | |', '|---|---|---|---|---|']
  for collectives, least, most, aims in AIMS:
    for mpi, aim in aims.items():
      values = [ratio(row) for (of, _), whole in results.items() if of == mpi for row in whole['rows']
                if row['collective'] in collectives and least <= row['bytes'] <= most]
      if not values:
        continue
      sizes = size_text(most) if least == most else f'{size_text(least)} to {size_text(most)}'
      lines.append(f'| {" and ".join(collectives)}, {sizes} | {MPIS[mpi]} | {mean(values):.2f} ({min(values):.2f} to '
                   f'{max(values):.2f}) | {aim} | {"reached" if mean(values) <= aim else "not reached"} |')
  for mpi in MPIS:
    above = [(layout, row) for (of, layout), whole in results.items() if of == mpi for row in whole['rows']
             if ratio(row) > MOST]
    if any(of == mpi for of, _ in results):
      said = '; '.join(f'{row["collective"]}, {size_text(row["bytes"])}, {layout}: {ratio(row):.2f} by {short(row["served_by"])}'
                       for layout, row in above)
      lines.append(f'| no row above {MOST} | {MPIS[mpi]} | {said or "none"} | {MOST} | {"not reached" if above else "reached"} |')
  return lines


def table(whole, collective):
  lines = ['| block | the MPI\'s own, us (least to 90%) | Quadrille, us (least to 90%) | ratio | by |', '|---|---|---|---|---|']
  for row in whole['rows']:
    if row['collective'] != collective:
      continue
    times = [f'{row[f"{who}_us"]:.0f} ({row[f"{who}_min_us"]:.0f} to {row[f"{who}_p90_us"]:.0f})' for who in ('mpi', 'quadrille')]
    lines.append(f'| {size_text(row["bytes"])} | {times[0]} | {times[1]} | {ratio(row):.2f} | {short(row["served_by"])} |')
  return lines


def flat_text(mpi):
  """The section of the page on hosts of one rank."""
  path = STORED / f'{mpi}-{FLAT_HOSTS}x1.json'
  if not path.exists():
    return []
  whole = json.loads(path.read_text())
  text = [f'## {whole["mpi"]}, {FLAT_HOSTS} hosts of one rank', '',
          'What is chosen, and two algorithms forced, each beside the MPI in one run. '
          + ('Open MPI runs Bruck itself for small blocks of Alltoall.' if mpi == 'openmpi' else ''), '',
          f'    {whole["commands"][0]}', '']
  ratios = {}
  for collective in FLAT_COLLECTIVES:
    rows = {(row['algorithm'], row['bytes']): row for row in whole['rows'] if row['collective'] == collective}
    sizes = sorted({size for _, size in rows})
    text += [f'{collective}:', '', '| block | the MPI\'s own, us (least to 90%) | chosen, of the MPI\'s | by | mn-co | spread-out |',
             '|---|---|---|---|---|---|']
    for size in sizes:
      row = rows['default', size]
      ratios.update({(collective, name, size): ratio(rows[name, size]) for name in FLAT_ALGORITHMS})
      text.append(f'| {size_text(size)} | {row["mpi_us"]:.0f} ({row["mpi_min_us"]:.0f} to {row["mpi_p90_us"]:.0f}) | '
                  f'{ratio(row):.2f} | {short(row["served_by"])} | '
                  + ' | '.join(f'{ratios[collective, name, size]:.2f}' for name in FLAT_ALGORITHMS[1:]) + ' |')
    text.append('')
  if mpi == 'openmpi':
    text += ['| aim | measured | |', '|---|---|---|']
    for collective, most, aim in FLAT_AIMS:
      worst = max(value for (of, name, size), value in ratios.items() if (of, name) == (collective, 'default') and size <= most)
      text.append(f'| {collective} at most {aim} at every size up to {most} B | largest {worst:.2f} | '
                  f'{"reached" if worst <= aim else "not reached"} |')
    for collective in FLAT_COLLECTIVES:
      behind = [size for (of, name, size), value in sorted(ratios.items()) if (of, name) == (collective, 'mn-co')
                and size <= FLAT_MN_CO and value >= ratios[of, 'spread-out', size]]
      said = f'behind at {", ".join(map(str, behind))} B' if behind else 'ahead at every size'
      text.append(f'| {collective}: mn-co ahead of spread-out up to {FLAT_MN_CO} B | {said} | {"not reached" if behind else "reached"} |')
    text.append('')
  return text


def page():
  results = {(mpi, layout): json.loads((STORED / f'{mpi}-{layout}.json').read_text()) for mpi in MPIS for layout in layouts(mpi)}
  some = next(iter(results.values()))
  text = ['# Between nodes: leaders', '',
          'What is chosen by itself, with nothing forced and no table, after the first calls have [tried](../tuning.md#trying),',
          'beside the MPI\'s own collective in the same run, by turns. Times are medians over batches, on the slowest rank; sizes of',
          'Alltoallv and Allgatherv are uniform in 0 to the block. Written by `bench/hosts_page.py` from the files in',
          '[hosts/between-nodes](hosts/between-nodes), which hold the command lines; one run each.', '',
          f'One machine ({some["processor"]}, {some["processors"]} processors) [plays the hosts](../../tests/cluster/hosts.py), so all ranks share its '
          'processors, and messages go by TCP over a bridge. Fewer messages is what counts here. On a fast network with a '
          'processor for each rank the gain will be another; it was not measured. Where "mpi" serves a row, both columns are the same '
          'calls: its ratio is the noise.', '',
          '## Aims', '', 'Geometric means over the layouts and sizes; in brackets the least and the largest.', '', *verdicts(results), '',
          '## Beside the papers', '',
          '- Li, Zhang and Hoefler, section 2.5: leaders take 1 / 2.23 = 0.45 of MVAPICH2\'s time below 1 KiB on 256 nodes. On 2 '
          'and 4 hosts they gain more beside both MPIs; 256 nodes cannot be tested here.',
          '- Kinkead et al.: several leaders are best for small blocks on 32 nodes of 112 cores, up to 3 times the system\'s MPI. Here '
          'one leader mostly is, up to 8 KiB: disagrees for small blocks, on another kind of machine.', '']
  for (mpi, layout), whole in results.items():
    hosts, here = layout.split('x')
    text += [f'## {whole["mpi"]}, {hosts} hosts of {here} ranks', '', f'    {whole["commands"][0]}', '']
    for collective in COLLECTIVES:
      text += [f'{collective}:', '', *table(whole, collective), '']
  for mpi in MPIS:
    text += flat_text(mpi)
  return '\n'.join(text).rstrip() + '\n'


def write():
  PAGE.write_text(page())


def check():
  stored_page.check(PAGE, page(), STORED, 'bench/hosts_page.py write')


if __name__ == '__main__':
  {'measure': measure, 'measure-flat': measure_flat, 'write': write, 'check': check}[sys.argv[1] if len(sys.argv) > 1 else 'write']()
