#!/usr/bin/env python3
"""Measures what is chosen by itself between nodes beside the MPI's own, and writes the page of results.

    bench/hosts_page.py measure 3      # so many runs of all layouts with each build, into docs/results/hosts/between-nodes,
                                       # or --stored FOLDER; what is there by the same program is not measured again
    bench/hosts_page.py write          # docs/results/between-nodes.md, from what is stored there
    bench/hosts_page.py check          # is the page what is stored?
"""
import json
import pathlib
import re
import statistics

import played_hosts
import stored_page
from played_hosts import MPIS, ROOT, size_text
from programs.common import UNTESTABLE, judged, number_of

STORED = ROOT / 'docs' / 'results' / 'hosts' / 'between-nodes'
PAGE = ROOT / 'docs' / 'results' / 'between-nodes.md'
LAYOUTS = [(4, 4), (2, 8), (4, 8)]  # hosts, ranks on each
COLLECTIVES = ['alltoall', 'alltoallv', 'allgather', 'allgatherv']
SIZES = '8,64,512,1K,8K,64K,256K'
KEPT = ['collective', 'algorithm', 'bytes', 'mean_bytes', 'served_by', 'mpi_us', 'mpi_min_us', 'mpi_p90_us', 'quadrille_us',
        'quadrille_min_us', 'quadrille_p90_us', 'pair_ratio', 'batches', 'errors']
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


def collectives_of(hosts):
  return FLAT_COLLECTIVES if hosts == FLAT_HOSTS else COLLECTIVES


def lacking(folder, runs):
  """(run, MPI, hosts, ranks on each) of what is not measured yet by these programs."""
  done = played_hosts.Runs(folder)
  return [(run, mpi, hosts, here) for run in range(1, int(runs) + 1) for mpi in MPIS if played_hosts.is_built(mpi)
          for hosts, here in [*LAYOUTS, (FLAT_HOSTS, 1)]
          if not done.is_done(f'{mpi}-{hosts}x{here}', run, played_hosts.commit_of(ROOT / 'build' / mpi))]


def measure(folder, runs='1'):
  """Run by run, so that what slows the machine for a while does not meet all runs of one layout."""
  stored = played_hosts.Runs(folder)
  for run, mpi, hosts, here in lacking(folder, runs):
    measure_layout(stored, run, mpi, hosts, here)


def measure_layout(stored, run, mpi, hosts, here):
  commands, rows, known = [], [], {}
  for collective in collectives_of(hosts):
    before, after = words_of(hosts, here, mpi, collective)
    commands.append(played_hosts.shown(before, mpi, after))
    print(f'run {run}: {commands[-1]}', flush=True)
    whole = played_hosts.results_of(mpi, before, after)
    known = played_hosts.circumstances(mpi, whole['header'])
    rows += whole['rows']
  stored.store(f'{mpi}-{hosts}x{here}', run, {'commands': commands, **known}, rows, KEPT)


# ---- The page ----


class Layout:
  """The runs of one layout with one MPI."""

  def __init__(self, mpi, name):
    self.name = f'{mpi}-{name}'
    self.runs = [json.loads(file.read_text()) for file in sorted(STORED.glob(f'{mpi}-{name}-*.json'))]
    self.rows = {}  # (collective, algorithm, block): the row of each run
    for run in self.runs:
      for row in run['rows']:
        self.rows.setdefault((row['collective'], row['algorithm'], row['bytes']), []).append(row)
    if any(row['errors'] for rows in self.rows.values() for row in rows):
      raise SystemExit(f'{mpi}, {name}: wrong bytes')

  def chosen(self, collectives, least=0, most=1 << 40):
    """[(block, the rows of what is chosen by itself)]"""
    return [(size, rows) for (collective, algorithm, size), rows in self.rows.items()
            if collective in collectives and algorithm == 'default' and least <= size <= most]


def ratios(rows):
  return [row['quadrille_us'] / row['mpi_us'] for row in rows]


def ratio(rows):
  return statistics.median(ratios(rows))


def near(number, aim):
  """With a third digit, where two would read as the aim itself."""
  return f'{number:.3f}' if f'{number:.2f}' == f'{aim:.2f}' and f'{number:.3f}' != f'{aim:.3f}' else f'{number:.2f}'


def ratio_text(rows, aim=None):
  here = ratios(rows)
  text = f'{ratio(rows):.2f}' if aim is None else near(ratio(rows), aim)
  return f'{text} ({min(here):.2f}..{max(here):.2f})' if len(here) > 1 else text


def is_noise(rows):
  """The MPI makes both calls, and the runs do not agree on which took longer; one run alone does not tell."""
  here = ratios(rows)
  return all(row['served_by'] == 'mpi' for row in rows) and (len(here) == 1 or min(here) <= 1 <= max(here))


def reached(is_reached, runs):
  return ('reached' if is_reached else 'not reached') + (' in one run' if runs == 1 else '')


def noise_text(noise):
  """How far rows are apart that are nothing but noise; nothing without any."""
  return f'; the noise: {min(noise):.2f} to {max(noise):.2f}' if noise else ''


def time_text(rows, who):
  us = [row[f'{who}_us'] for row in rows]
  return f'{statistics.median(us):.0f} ({min(us):.0f}..{max(us):.0f})' if len(us) > 1 else f'{us[0]:.0f}'


def served_text(rows):
  """By what, and where the runs chose differently, by what else."""
  return ' / '.join(dict.fromkeys(short(row['served_by']) for row in rows))


def runs_text(counts):
  if max(counts) == 1:
    return 'one run each'
  many = str(min(counts)) if min(counts) == max(counts) else f'{min(counts)} to {max(counts)}'
  return f'the median of {many} runs and, in brackets, their least and most'


def short(served_by):
  return re.sub(r',(exchange=spread-out|group=1048576|order=row|piece=\d+|radix=2|stride=5)', '', served_by).replace('leaders:leaders=', 'leaders, ')


def layouts(mpi):
  return [f'{hosts}x{here}' for hosts, here in LAYOUTS if list(STORED.glob(f'{mpi}-{hosts}x{here}-*.json'))]


def verdicts(results):
  lines = ['| | MPI | measured | aim | |', '|---|---|---|---|---|']
  for collectives, least, most, aims in AIMS:
    for mpi, aim in aims.items():
      values = [ratio(rows) for (of, _), layout in results.items() if of == mpi
                for _, rows in layout.chosen(collectives, least, most)]
      if not values:
        continue
      sizes = size_text(most) if least == most else f'{size_text(least)} to {size_text(most)}'
      mean = statistics.geometric_mean(values)
      lines.append(f'| {" and ".join(collectives)}, {sizes} | {MPIS[mpi]} | {near(mean, aim)} ({min(values):.2f} to '
                   f'{max(values):.2f}) | {aim} | {reached(mean <= aim, runs_of(results, mpi))} |')
  return lines + [row_of_most(mpi, results) for mpi in MPIS if any(of == mpi for of, _ in results)]


def runs_of(results, mpi):
  """The fewest of a layout."""
  return min(len(layout.runs) for (of, _), layout in results.items() if of == mpi)


def row_of_most(mpi, results):
  """Is a row above the most that one may be? What is no farther up than the noise is within it."""
  all_rows = [(name, size, rows) for (of, name), layout in results.items() if of == mpi for size, rows in layout.chosen(COLLECTIVES)]
  noise = [ratio(rows) for _, _, rows in all_rows if is_noise(rows)]
  above = [(name, size, rows) for name, size, rows in all_rows if not is_noise(rows) and ratio(rows) > MOST]
  said = '; '.join(f'{rows[0]["collective"]}, {size_text(size)}, {name}: {ratio_text(rows, max([MOST, *noise]))} by '
                   f'{served_text(rows)}' for name, size, rows in above)
  within = bool(above) and bool(noise) and max(ratio(rows) for _, _, rows in above) <= max(noise)
  verdict = 'within the noise' if within else reached(not above, runs_of(results, mpi))
  return f'| no row above {MOST} | {MPIS[mpi]} | {said or "none"}{noise_text(noise)} | {MOST} | {verdict} |'


def table(layout, collective):
  lines = ['| block | the MPI\'s own, us | Quadrille, us | ratio | by |', '|---|---|---|---|---|']
  for size, rows in layout.chosen([collective]):
    lines.append(f'| {size_text(size)} | {time_text(rows, "mpi")} | {time_text(rows, "quadrille")} | {ratio_text(rows)} | '
                 f'{served_text(rows)} |')
  return lines


def flat_aims(layout):
  lines = ['| aim | measured | |', '|---|---|---|']
  for collective, most, aim in FLAT_AIMS:
    worst = max((rows for _, rows in layout.chosen([collective], most=most)), key=ratio)
    noise = ', by mpi, with runs on both sides of 1' if is_noise(worst) else ''
    verdict = 'within the noise' if noise and ratio(worst) > aim >= 1 else reached(ratio(worst) <= aim, len(layout.runs))
    lines.append(f'| {collective} at most {aim} at every size up to {most} B | largest {near(ratio(worst), aim)}{noise} | {verdict} |')
  for collective in FLAT_COLLECTIVES:
    sizes = [size for size, _ in layout.chosen([collective], most=FLAT_MN_CO)]
    behind = [size for size in sizes
              if ratio(layout.rows[collective, 'mn-co', size]) >= ratio(layout.rows[collective, 'spread-out', size])]
    said = f'behind at {", ".join(map(str, behind))} B' if behind else 'ahead at every size'
    lines.append(f'| {collective}: mn-co ahead of spread-out up to {FLAT_MN_CO} B | {said} | '
                 f'{reached(not behind, len(layout.runs))} |')
  return [*lines, '']


def flat_text(mpi):
  """The section of the page on hosts of one rank."""
  layout = Layout(mpi, f'{FLAT_HOSTS}x1')
  if not layout.runs:
    return []
  text = [f'## {layout.runs[0]["mpi"]}, {FLAT_HOSTS} hosts of one rank', '',
          'What is chosen, and two algorithms forced, each beside the MPI in one run. '
          + ('Open MPI runs Bruck itself for small blocks of Alltoall.' if mpi == 'openmpi' else ''), '',
          f'    {layout.runs[0]["commands"][0]}', '', f'![The time over that of the MPI](hosts/between-nodes/{layout.name}.svg)', '']
  for collective in FLAT_COLLECTIVES:
    text += [f'{collective}:', '', '| block | the MPI\'s own, us | chosen, of the MPI\'s | by | mn-co | spread-out |', '|---|---|---|---|---|---|']
    for size, rows in layout.chosen([collective]):
      forced = ' | '.join(ratio_text(layout.rows[collective, name, size]) for name in FLAT_ALGORITHMS[1:])
      text.append(f'| {size_text(size)} | {time_text(rows, "mpi")} | {ratio_text(rows)} | {served_text(rows)} | {forced} |')
    text.append('')
  return text + (flat_aims(layout) if mpi == 'openmpi' else [])


# ---- Beside the papers ----


def gains_of_runs(layouts_here, of_layout):
  """For each run that has some, the geometric mean of what `of_layout` gives of each layout's run: the MPI's time over ours."""
  count = min(len(layout.runs) for layout in layouts_here)
  gains = [[gain for layout in layouts_here for gain in of_layout(layout, run)] for run in range(count)]
  return [statistics.geometric_mean(of_run) for of_run in gains if of_run]


def flat_gains(collective, algorithm, least, most):
  """(layout, run) -> the MPI's time over that of a line, at each size."""
  return lambda layout, run: [rows[run]['mpi_us'] / rows[run]['quadrille_us'] for (of, name, size), rows in layout.rows.items()
                              if of == collective and name == algorithm and least <= size <= most]


def leader_gains(layout, run):
  """The same where leaders that send straight were chosen, below 64 bytes."""
  return [rows[run]['mpi_us'] / rows[run]['quadrille_us'] for _, rows in layout.chosen(['alltoall'], most=63)
          if rows[run]['served_by'].startswith('leaders') and 'exchange=spread-out' in re.split('[:,]', rows[run]['served_by'])]


def one_rank_claims(mpi):
  """Of the papers' measurements with a rank on each node."""
  layout = Layout(mpi, f'{FLAT_HOSTS}x1')
  if not layout.runs:
    return []
  said = f'{MPIS[mpi]}, {FLAT_HOSTS} hosts of one rank'
  li, fan = 'Li, Zhang and Hoefler, section 4.1.3, figure 12(a)', 'Fan et al. (HPDC 2022), figure 6'
  two_phase = [size for size, rows in layout.chosen(['alltoallv'])
               if all(row['served_by'].startswith('two-phase-bruck') for row in rows)]
  return [(li, 'MN-CO without leaders over MVAPICH2 below 1 KiB, 256 nodes of one rank', '2.23', f'`mn-co`, {said}, alltoall',
           gains_of_runs([layout], flat_gains('alltoall', 'mn-co', 1, 1023)), ''),
          (li, 'it is worse for larger blocks', 'below 1', f'`mn-co`, {said}, alltoall, 1 KiB',
           gains_of_runs([layout], flat_gains('alltoall', 'mn-co', 1024, 1024)), ''),
          (fan, 'two-phase Bruck ahead of the MPI up to N = 1,024, 256 to 4,096 ranks', 'above 1', f'two-phase, {said}, alltoallv, N = '
           f'{min(two_phase, default=0)} to {max(two_phase, default=0)}',
           gains_of_runs([layout], flat_gains('alltoallv', 'default', min(two_phase), max(two_phase))) if two_phase else [],
           '' if two_phase else 'it was not chosen')]


def leader_claims(mpi, results):
  """Of the papers' measurements with several ranks on each node."""
  here = [layout for (of, _), layout in results.items() if of == mpi]
  if not here:
    return []
  li = 'Li, Zhang and Hoefler, section 4.1.3, figure 12(b)'
  said = f'leaders that send straight to each other, {MPIS[mpi]}, {len(here)} layouts, alltoall, 8 B'
  return [(li, 'MN-CO with leaders over MVAPICH2 without below 64 bytes, 128 nodes of 24', '3.81', said, gains_of_runs(here, leader_gains),
           'another algorithm; MN-CO with leaders is in figure [co-12](co-12-simulated.md)'),
          (li, 'the same over MVAPICH2 with leaders', '1.88', f'{MPIS[mpi]}', [], 'this MPI has no leaders')]


def beside_papers(results):
  lines = ['The MPI\'s time over ours, geometric mean over the sizes. Both MPIs take Bruck for small blocks of Alltoall, as MVAPICH2 '
           'does. No claim is about so few hosts: a verdict is one about this scale.', '',
           '| the paper | says | paper | here | compared | verdict |', '|---|---|---|---|---|---|']
  for mpi in MPIS:
    for paper, text, number, compared, here, reason in [*one_rank_claims(mpi), *leader_claims(mpi, results)]:
      claim = judged(text, number, here, reason=reason)
      scaled = '' if claim.verdict.startswith(UNTESTABLE) else ' at this scale'
      lines.append(f'| {paper} | {text} | {number} | {number_of(here)} | {compared} | {claim.verdict}{scaled} |')
  return [*lines, '', 'Kinkead et al. found several leaders best for small blocks on 32 nodes of 112 cores, up to 3 times the system\'s MPI. '
          f'Here {few_leaders(results)}. But what was chosen is not what is best: one and several leaders were not measured side by side, '
          'and on another kind of machine. So there is no verdict.', '']


def few_leaders(results):
  """How often one leader was chosen where leaders were, for blocks below 8 KiB."""
  chosen = [row['served_by'] for layout in results.values() for _, rows in layout.chosen(['alltoall'], most=8191) for row in rows
            if row['served_by'].startswith('leaders')]
  one = sum('leaders=1' in re.split('[:,]', served_by) for served_by in chosen)
  return f'one leader was chosen in {one} of {len(chosen)} cases of Alltoall below 8 KiB that leaders serve'


def page():
  results = {(mpi, name): Layout(mpi, name) for mpi in MPIS for name in layouts(mpi)}
  everywhere = [*results.values(), *(flat for mpi in MPIS if (flat := Layout(mpi, f'{FLAT_HOSTS}x1')).runs)]
  files = [run for layout in everywhere for run in layout.runs]
  some = files[0]
  text = ['# Between nodes: leaders', '',
          'What is chosen by itself, with nothing forced and no table, after the first calls have [tried](../tuning.md#trying),',
          'beside the MPI\'s own collective in the same run, by turns. A time is the median over batches, on the slowest rank; shown are',
          f'{runs_text([len(layout.runs) for layout in everywhere])}; the ratio is that of a run. Sizes of Alltoallv and',
          'Allgatherv are uniform in 0 to the block. Written by `bench/hosts_page.py` from the files in',
          '[hosts/between-nodes](hosts/between-nodes), which hold the command lines.', '',
          f'{played_hosts.when(files)}. One machine ({some["processor"]}, {some["processors"]} processors) [plays the hosts](../../tests/cluster/hosts.py), so all ranks share its '
          'processors, and messages go by TCP over a bridge. Fewer messages is what counts here. On a fast network with a '
          'processor for each rank the gain will be another; it was not measured. Where "mpi" serves a row, the MPI makes both '
          'calls: with runs on both sides of 1 its ratio is noise; with all above, it is what Quadrille takes before it hands a call on.', '',
          '## Aims', '', 'Geometric means over the layouts and sizes of the runs\' medians; in brackets the least and the largest.', '', *verdicts(results), '',
          '## Beside the papers', '',
          *beside_papers(results)]
  for (_, name), layout in results.items():
    hosts, here = name.split('x')
    text += [f'## {layout.runs[0]["mpi"]}, {hosts} hosts of {here} ranks', '', f'    {layout.runs[0]["commands"][0]}', '',
             f'![The time over that of the MPI](hosts/between-nodes/{layout.name}.svg)', '']
    for collective in COLLECTIVES:
      text += [f'{collective}:', '', *table(layout, collective), '']
  for mpi in MPIS:
    text += flat_text(mpi)
  return '\n'.join(text).rstrip() + '\n'


def write():
  PAGE.write_text(page())


def check():
  stored_page.check(PAGE, page(), STORED, 'bench/hosts_page.py write')


if __name__ == '__main__':
  played_hosts.main(__doc__, STORED, measure, write, check)
