"""docs/results/README.md: each figure and table of the papers with the verdicts on its claims, below totals."""

import collections
import pathlib
import re
import typing

import pages
from programs.common import NO_MACHINE, NO_OTHER_WAY, NOT_BUILT, REASONS, UNTOLD
from stored import AT_THIS_SCALE, MEASURED, RESULTS, SIMULATED, rows_elsewhere

HERE = pathlib.Path(__file__).resolve().parent
HOWS = (MEASURED, AT_THIS_SCALE, SIMULATED)
NO_COUNTERS = f'{NO_MACHINE}: no counters'


class Part(typing.NamedTuple):
  """A figure or a table of a paper: `what` names its data, or says why there are none."""
  name: str   # 'figures 12 to 14'
  shows: str
  what: object = ''


class Paper(typing.NamedTuple):
  page: str
  title: str
  figures: int
  tables: list
  parts: list


PAPERS = [
    Paper('hint', 'HINT', 18, ['I'], [
        Part('figure 2', 'cache misses of patterns of copies', f'{NOT_BUILT}: patterns'),
        Part('figure 3', 'bandwidth of streaming and ordinary stores', ['hint-3']),
        Part('figure 6', 'orders of copies, 8 to 32 ranks', ['hint-6']),
        Part('figure 7', 'stalls of the store buffer', NO_COUNTERS),
        Part('figure 8', 'streaming and ordinary copies', ['hint-8']),
        Part('figure 10', 'the hybrid copy against both', ['hint-10']),
        Part('figure 11', 'the hybrid copy by counters', NO_COUNTERS),
        Part('figures 12 to 14', 'against three MPIs, 256 B to 32 KiB', ['hint-12']),
        Part('figures 15 to 17', 'the same, 64 KiB to 1 MiB', ['hint-15']),
        Part('figure 18', 'P3DFFT, a transform by pencils', ['hint-18']),
        Part('figures 1, 4, 5, 9, table I', 'drawings, machines')]),
    Paper('isomorphic', 'Isomorphic neighbourhoods', 8, ['1', '2'], [
        Part('figure 2', 'combining against the MPI, 8 to 342 neighbours', ['iso-2']),
        Part('figure 3', 'blocks of different sizes', ['iso-3']),
        Part('figure 4', 'straightforward, torus, torus-direct', ['iso-4']),
        Part('figure 5', 'allgather', ['iso-5']),
        Part('figure 6', 'another machine and MPI, 342 neighbours', ['iso-6']),
        Part('figure 7', '70 x 16 processes, radius 1', ['iso-7']),
        Part('figure 8', '500 x 24 processes, Cray MPICH', ['iso-8']),
        Part('table 2', 'set-up times', ['iso-table-2']),
        Part('sections 3.3 and 5', 'zero copy, bases', ['iso-basis']),
        Part('figures 1, table 1', 'a drawing, machines')]),
    Paper('bruck', 'Non-uniform Bruck', 13, [], [
        Part('figure 2', 'six variants of Bruck, 32 bytes', ['bruck-2']),
        Part('figure 6', 'block sizes, 128 to 32,768 ranks', ['bruck-6']),
        Part('figure 7', 'weak scaling', ['bruck-7']),
        Part('figure 8', 'windows of sizes, 4,096 ranks', ['bruck-8']),
        Part('figure 9', 'which is the fastest, N by P', ['bruck-9']),
        Part('figure 10', 'power law and normal distributions', ['bruck-10']),
        Part('figure 11', 'transitive closure of two graphs', ['bruck-11']),
        Part('figure 12', 'k-CFA, exchange by exchange', ['bruck-12']),
        Part('figure 13', 'two more machines', NO_MACHINE),
        Part('figures 1, 3, 4, 5', 'drawings')]),
    Paper('gpu', 'GPUs', 10, ['1', '2'], [
        Part('figure 6', "exchanges in the host's memory, on one node", 'elsewhere'),
        Part('figures 1 to 5, 7 to 10', 'exchanges of data on several GPUs', 'elsewhere'),
        Part('tables 1, 2', 'strategies, grids')]),
    Paper('cache-oblivious', 'Cache-oblivious exchanges', 15, ['1', '2'], [
        Part('figures 1, 10', 'Morton order, 60 ranks', ['co-10', 'co-10-neighbors']),
        Part('figure 11', 'with NUMA, 72 ranks', ['co-11', 'co-11-neighbors']),
        Part('table 1', 'cache misses of an allgather', ['co-table-1']),
        Part('table 2', 'cache misses of an all-to-all', ['co-table-2']),
        Part('sections 3 and 4', 'the copies alone, in time', ['co-copies']),
        Part('figure 12', 'several nodes, up to 256 of 24 ranks', ['co-12']),
        Part('figure 13', 'overlap inside and between nodes', ['co-13']),
        Part('figure 14', '3D FFT of NPB, 60 and 72 ranks', ['co-14']),
        Part('figure 15', 'heat transfer, 60 and 72 ranks', ['co-15']),
        Part('figures 2 to 9', 'drawings, and the benchmark')])]


def counted(rows):
  """('2', '1', '3 the runs differ, 1 no machine'): the numbers of claims that agree, that disagree, and of the others by reason."""
  words = collections.Counter(row.verdict for row in rows if row.is_judged())
  why = collections.Counter(row.reason.partition(':')[0] for row in rows if row.verdict == UNTOLD)
  return str(words['agrees'] or ''), str(words['disagrees'] or ''), ', '.join(f'{why[one]} {one}' for one in REASONS if why[one])


def how_of(rows):
  return ' and '.join(sorted({row.how for row in rows if row.is_judged() and row.how}))


def where_of(stored):
  if stored.is_computed:
    return SIMULATED
  return (how_of(stored.rows) or MEASURED) + (', hosts' if stored.is_played else '')


def anchor_of(page, name):
  """The anchor of the heading about a part."""
  text = (HERE / f'{page}.md.in').read_text(encoding='utf-8')
  heading = next(line for line in text.splitlines() if line.startswith('## ') and line[3:].lower().startswith(name))
  return re.sub(r'[^\w\- ]', '', heading[3:].lower()).strip().replace(' ', '-')


def rows_of_part(paper, part, found):
  if not part.what:
    return [[part.name, part.shows, 'no experiment', '', '', '']]
  if part.what == 'elsewhere':
    rows = [row for (page, source), of_source in rows_elsewhere().items() for row in of_source
            if page == paper.page and names_in(source) <= names_in(part.name)]
    return [[f'[{part.name}]({paper.page}.md)', part.shows, how_of(rows), *counted(rows)]]
  if isinstance(part.what, str):
    return [[part.name, part.shows, '', '', '', part.what]]
  name, rows = f'[{part.name}]({paper.page}.md#{anchor_of(paper.page, part.name)})', []
  for stored in [one for each in part.what for one in pages.files_of_name(each, found)]:
    rows.append([name, part.shows, where_of(stored), *counted(stored.rows)])
    name = ''
  return [[*row[:1], row[1] if row[0] else '', *row[2:]] for row in rows]


def paper_text(paper, found):
  head = ['', 'shows', 'how', 'agree', 'disagree', 'cannot be told']
  return f'### {paper.title}\n\n' + pages.table(head, [row for part in paper.parts for row in rows_of_part(paper, part, found)])


def totals(rows):
  """The numbers of verdicts by how they were found."""
  judged = [row for row in rows if row.is_judged()]
  kinds = [('agrees', ''), ('disagrees', ''), *((UNTOLD, reason) for reason in REASONS)]
  hows = list(dict.fromkeys([*HOWS, *(row.how for row in judged)]))
  lines = []
  for verdict, reason in kinds:
    of_kind = [row for row in judged if row.verdict == verdict and (not reason or row.reason.partition(':')[0] == reason)]
    by = collections.Counter(row.how for row in of_kind)
    lines.append([f'{verdict}: {reason}' if reason else verdict, *(str(by[how] or '') for how in hows), str(len(of_kind))])
  assert sum(int(line[-1]) for line in lines) == len(judged), 'a claim has no verdict or no known reason'
  return pages.table(['', *(how or 'not run' for how in hows), 'all'], lines)


def more_papers():
  """Claims on the pages that belong to no single paper."""
  rows = [[f'[{source}]({page}.md)', how_of(rows), *counted(rows)] for (page, source), rows in rows_elsewhere().items() if page != 'gpu']
  return '### Between nodes\n\n' + pages.table(['', 'how', 'agree', 'disagree', 'cannot be told'], rows)


def other_pages():
  """The pages that belong to no single paper, by their headings."""
  own = {f'{name}.md' for name in (*pages.PAGES, 'README', 'gpu')}
  found = [path for path in sorted(RESULTS.glob('*.md')) if path.name not in own]
  return ''.join(f'- [{path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")}]({path.name})\n' for path in found)


def text(found):
  words = (HERE / 'README.md.in').read_text(encoding='utf-8')
  rows = [row for stored in found.values() for row in stored.rows] + [row for of_source in rows_elsewhere().values() for row in of_source]
  papers = '\n'.join([*(paper_text(paper, found) for paper in PAPERS), more_papers()])
  return words.format(totals=totals(rows), papers=papers, others=other_pages())


# ---- Checking ----


def names_in(name):
  """'figures 12 to 14, table I' are four."""
  names = set()
  for kind, numbers in re.findall(r'(figure|table)s? ((?:\w+(?: to \w+)?(?:, (?=\d))?)+)', name):
    for one in numbers.split(', '):
      first, _, last = one.partition(' to ')
      names |= {f'{kind} {n}' for n in range(int(first), int(last) + 1)} if last else {f'{kind} {one}'}
  return names


def problems_of(paper):
  wanted = {f'figure {n}' for n in range(1, paper.figures + 1)} | {f'table {name}' for name in paper.tables}
  named = [name for part in paper.parts for name in names_in(part.name)]
  wrong = [f'{paper.title}: there is no row of {name}' for name in sorted(wanted - set(named))]
  wrong += [f'{paper.title}: {name} is none of the paper' for name in sorted(set(named) - wanted)]
  return wrong + [f'{paper.title}: two rows of {name}' for name, count in collections.Counter(named).items() if count > 1]


def without_row(names):
  """Repeatable figures without a row, except those on GPUs, which have their own page."""
  used = {name for paper in PAPERS for part in paper.parts if isinstance(part.what, list) for name in part.what}
  return [f'no row of the index has {name}' for name in names if not name.startswith('gpu-') and name.removesuffix('-simulated') not in used]


def problems(found):
  wrong = [problem for paper in PAPERS for problem in problems_of(paper)] + without_row([stored.name for stored in found.values()])
  index = RESULTS / 'README.md'
  if not index.is_file() or index.read_text(encoding='utf-8') != text(found):
    wrong.append(f'{index} is not what the data say; run lab/papers write')
  return wrong
