"""docs/results/as-programs-call.md: calls of a program that touches its buffers; nonblocking and persistent calls, with the C API and
under MPI's own names."""

import statistics

from page import RESULTS, UNTOLD, Page, load, mean, measured_on, middle, reached, size_text, table
from picture import ratios_by_size

STORED = RESULTS / 'as-programs-call'
MPIS = {'openmpi': 'Open MPI', 'mpich': 'MPICH'}

# ---- Calls of a program ----

PROGRAM_MPIS = {'openmpi': 'Open MPI 4.1', 'openmpi-5': 'Open MPI 5', 'mpich': 'MPICH 5', 'intel': 'Intel MPI'}
MEMORIES = {'heap': 'heap', 'static': 'private', 'stack': 'stack', 'mmap': 'mapped'}
WORST = 8  # number of listed cells
BEHIND = 1.03


def ratio_of(row):
  return statistics.median(row['ratios'])


def behind(row):
  """Whether Quadrille is slower by more than the MPI differs from itself in the same turns."""
  return ratio_of(row) > max(BEHIND, statistics.median(row['native']))


def settings_of(row):
  return [PROGRAM_MPIS[row['mpi']], MEMORIES[row['memory']]]


def programs_rows(rows):
  for some in groups(rows):
    worst = max(some, key=ratio_of)
    yield [*settings_of(worst), f'{mean([ratio_of(row) for row in some]):.2f}',
           f'{ratio_of(worst):.2f} ({size_text(worst["bytes"])})', f'{mean([statistics.median(row["native"]) for row in some]):.2f}',
           sum(map(behind, some))]


def groups(rows):
  found = {}
  for row in rows:
    found.setdefault((row['mpi'], row['memory']), []).append(row)
  return found.values()


def worst_rows(rows):
  for row in sorted(rows, key=ratio_of, reverse=True)[:WORST]:
    yield [*settings_of(row), size_text(row['bytes']), middle(row['ratios']), middle(row['native'])]


def programs_picture(rows):
  panels = {}
  for some in groups(rows):
    panels.setdefault(PROGRAM_MPIS[some[0]['mpi']], {})[MEMORIES[some[0]['memory']]] = [(row['bytes'], ratio_of(row)) for row in some]
  return ratios_by_size("Quadrille's time over the MPI's, a step of a program", panels, [512, 8192, 131072, 4194304],
                        [0.125, 0.25, 0.5, 1, 2])


def fill_programs(it):
  data = load(STORED / 'program-calls.json')
  rows = [row for row in data['rows'] if row['touch'] == 'touched']
  it.numbers(
    programs_cpu=data['cpu'],
    programs_commands='\n    '.join(data['commands']),
    programs_measured=measured_on([data]),
    programs_turns=len(rows[0]['ratios']),
    programs_cells=len(rows),
    behind_above=BEHIND,
    programs_behind=sum(map(behind, rows)),
    programs_table=table(['MPI', 'memory', 'mean', 'worst', 'the MPI beside itself', 'cells behind'], programs_rows(rows)),
    worst_table=table(['MPI', 'memory', 'block', 'ratio', 'the MPI beside itself'], worst_rows(rows)),
  )
  it.pictures['as-programs-call.svg'] = programs_picture(rows)


# ---- Nonblocking and persistent calls ----

NONBLOCKING, PERSISTENT = "nonblocking/MPI's", "persistent/MPI's"
MOST = {'nonblocking': 0.6, 'small': 0.5, 'blocking': 1.0, 'persistent': 0.5, 'request': 150, 'completion': 2}


def runs_of(rows):
  """{(mpi, ranks): rows}"""
  found = {}
  for row in rows:
    found.setdefault((row['mpi'], row['ranks']), []).append(row)
  return found


def rival_of(row):
  """The baseline of a persistent call: Open MPI 4.1 has no persistent calls under MPI's own names."""
  return next(name for name in row['ratios'] if name.startswith('persistent/MPI'))


def said(value, most, digits=2):
  """The number, and whether it misses an aim."""
  return f'{value:.{digits}f}' if value <= most else f'{value:.{digits}f}: {reached(False)}'


def api_rows(rows):
  for (mpi, ranks), some in runs_of(rows).items():
    rival = rival_of(some[0])
    small = next(row['ratios'] for row in some if row['bytes'] == 64)
    nonblocking = mean([row['ratios'][NONBLOCKING][0] for row in some])
    persistent = mean([row['ratios'][rival][0] for row in some])
    aims = [said(small[rival][0], MOST['small']), said(small['persistent/blocking'][0], MOST['blocking'])]
    # There are no aims with more ranks than processors.
    aims = aims if ranks == 2 else [f'{small[rival][0]:.2f}', f'{small["persistent/blocking"][0]:.2f}']
    yield [MPIS[mpi], ranks, said(nonblocking, MOST['nonblocking']), f'{persistent:.2f}', *aims]


def names_rows(rows):
  by_run = {}
  for (mpi, ranks), some in runs_of(rows).items():
    means = [mean([row['values'][form][0] for row in some]) for form in (NONBLOCKING, PERSISTENT)]
    more = [1000 * some[0]['values'][f'{form}-API\'s'][0] for form in ('nonblocking', 'persistent')]
    by_run[mpi, ranks] = means
    cells = [said(one, MOST['request'], 0) if ranks == 2 else f'{one:.0f}' for one in more]
    yield [MPIS[mpi], ranks, said(means[0], MOST['nonblocking']), said(means[1], MOST['persistent']), *cells]
  for mpi, name in sorted(MPIS.items()):
    of = [means for (one, _), means in by_run.items() if one == mpi]
    yield [
      name,
      'all',
      said(mean([one for one, _ in of]), MOST['nonblocking']),
      said(mean([one for _, one in of]), MOST['persistent']),
      '',
      '',
    ]


def completion_rows(rows):
  for (mpi, ranks), some in runs_of(rows).items():
    more = {row['call']: row['more_ns'][0] for row in some}
    yield [MPIS[mpi], ranks, *(said(more[call], MOST['completion'], 1) for call in ('Wait', 'Test', 'Waitall'))]


def overlap_rows(rows):
  def percent(of):
    return '{:.0f} ({:.0f}..{:.0f})'.format(*of)
  for row in (row for row in rows if row['ranks'] == 2):
    ours, theirs = row['values']['hidden'], row['values']['hidden by the MPI']
    # They differ if their quartiles do not overlap.
    verdict = 'yes' if ours[0] >= theirs[0] else 'no' if ours[2] < theirs[1] else f'{UNTOLD}: the quartiles overlap'
    yield [
      MPIS[row['mpi']],
      size_text(row['bytes']),
      f'{row["us"]["both"] / row["us"]["MPI both"]:.2f}',
      percent(ours),
      percent(theirs),
      verdict,
    ]


def fill_requests(it):
  data = load(STORED / 'requests.json')
  beside = [row['ratios']['persistent/blocking'][0] for row in data['rows']]
  it.numbers(
    requests_cpu=data['cpu'],
    requests_processors=data['processors'],
    requests_command=data['commands']['openmpi-2'],
    names_command=data['commands']['names-openmpi-2'],
    least_beside_blocking=f'{min(beside):.2f}',
    most_beside_blocking=f'{max(beside):.2f}',
    most_nonblocking=MOST['nonblocking'],
    most_small=MOST['small'],
    most_persistent=MOST['persistent'],
    most_request=MOST['request'],
    most_completion=MOST['completion'],
    api_table=table(
      [
        'MPI',
        'ranks',
        "nonblocking over the MPI's",
        "persistent over the MPI's",
        'the same, 64 B',
        'over blocking, 64 B',
      ],
      api_rows(data['rows']),
    ),
    names_table=table(
      [
        'MPI',
        'ranks',
        "nonblocking over the MPI's",
        "persistent over the MPI's",
        'request, ns: nonblocking',
        'persistent',
      ],
      names_rows(data['names']),
    ),
    completion_table=table(
      ['MPI', 'ranks', '`MPI_Wait`', '`MPI_Test`', '`MPI_Waitall` of four'], completion_rows(data['completion'])
    ),
    overlap_table=table(
      ['MPI', 'block', 'both, over the MPI', 'hidden, %', 'hidden by the MPI, %', 'at least as much'],
      overlap_rows(data['names']),
    ),
  )
  it.holds(
    'On Open MPI it is compared',
    {rival_of(row) for row in data['rows'] if row['mpi'] == 'openmpi'} == {"persistent/MPI's nonblocking"},
  )


def page():
  it = Page('as-programs-call')
  fill_programs(it)
  fill_requests(it)
  return it


