"""The stored figures of the papers, and the verdicts on the papers' claims."""

import json
import pathlib
import subprocess
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / 'docs' / 'results'
sys.path.insert(0, str(ROOT / 'lab'))
import applications  # noqa: E402  pylint: disable=wrong-import-position
from programs.common import AT_THIS_SCALE, MEASURED, NO_NUMBER, SIMULATED, UNTOLD, number_of  # noqa: E402  pylint: disable=wrong-import-position
from results import PLAYED, folder_of  # noqa: E402  pylint: disable=wrong-import-position


class Row(typing.NamedTuple):
  """A claim of a paper, and the verdict on it by one file."""
  text: str
  compared: str  # 'torus over mpi'; '' if the text names it
  paper: str
  here: str      # '1.11 (1.05..1.20)': median, minimum and maximum of the runs, or of the networks
  verdict: str   # 'agrees', 'disagrees', 'cannot be told', or the note that there is no number to compare with
  reason: str    # the reason of 'cannot be told'
  note: str
  how: str

  def is_judged(self):
    return self.verdict != NO_NUMBER

  def words(self):
    text = f'{self.verdict}: {self.reason}' if self.verdict == UNTOLD else self.verdict
    if self.verdict in ('agrees', 'disagrees') and self.how != MEASURED:
      text += f', {self.how}'
    return text + (f'; {self.note}' if self.note else '')


class Stored:
  """A file of data: `place` is its path below the folder of results."""

  def __init__(self, path, rows=()):
    self.path, self.name = path, path.stem
    self.data = json.loads(path.read_text(encoding='utf-8'))
    self.is_played = path.parent.name == PLAYED
    self.is_computed = 'network' in self.data or 'counts' in self.data
    self.rows = list(rows)

  def runs(self, plot, line, size):
    """The microseconds of each run; those of the MPI are in the row of any line. `plot` is the number or a part of the title."""
    plots = self.data.get('plots') or self.data['panels']
    found = plots[plot] if isinstance(plot, int) else next(one for one in plots if plot in one['title'])
    key, us = ('line', 'mpi_us') if line == 'mpi' else ('line', 'us')
    row = next(row for row in found['rows'] if row.get('bytes', row.get(found.get('x'))) == size and line in ('mpi', row[key]))
    return row[us]

  def ratios(self, plot, slow, fast, size):
    return [theirs / ours for theirs, ours in zip(self.runs(plot, slow, size), self.runs(plot, fast, size))]


def here_of(claim):
  """A claim from the C++ form: `here` is the median, between `least` and `most`."""
  if claim['here'] is None:
    return '-'
  text = f'{claim["here"]:.2f}'
  several = 'least' in claim and (claim['least'] != claim['most'] or 'sizes' not in claim)
  return f'{text} ({claim["least"]:.2f}..{claim["most"]:.2f})' if several else text


def row_of_figure(claim, stored):
  how = SIMULATED if stored.is_computed else AT_THIS_SCALE if claim.get('scale') else MEASURED
  return Row(claim['text'], f'{claim["fast"]} over {claim["slow"]}', claim['paper'], here_of(claim), claim['verdict'] or NO_NUMBER,
             claim.get('reason', ''), claim.get('note', ''), how)


def row_of_program(claim):
  return Row(claim.text, '', claim.paper, number_of(claim.here), claim.verdict, claim.reason, claim.note,
             AT_THIS_SCALE if claim.scale else MEASURED)


def rows_elsewhere():
  """{(page, source): [Row]} of the pages that lab/pages writes."""
  said = subprocess.run([sys.executable, str(ROOT / 'lab' / 'pages'), 'claims'], capture_output=True, text=True, check=True).stdout
  rows = {}
  for line in said.splitlines():
    page, source, text, paper, here, verdict, how = line.split('\t')
    word = next(one for one in ('agrees', 'disagrees', UNTOLD, NO_NUMBER) if verdict.startswith(one))
    reason = verdict.removeprefix(f'{UNTOLD}: ') if word == UNTOLD else ''
    rows.setdefault((page, source), []).append(Row(text, '', paper, here, word, reason, '', how))
  return rows


def judge_figures(lab, files):
  """{file: [claim]}, from `quadrille-lab judge`."""
  said = subprocess.run([lab, 'judge', '--json', *map(str, files)], capture_output=True, text=True, check=False)
  if said.returncode:
    raise SystemExit(said.stderr)
  return json.loads(said.stdout)


def known_figures(lab):
  """The names of `quadrille-lab bench --figure`."""
  said = subprocess.run([lab, 'bench', '--figure', '?'], capture_output=True, text=True, check=False).stderr
  return said.partition('known are ')[2].strip().split(', ')


def is_of_a_paper(data):
  if not isinstance(data, dict):
    return False
  name = data.get('figure', data.get('application', ''))
  return bool(folder_of(name))


def files_of(results=RESULTS):
  """Figures and programs of the papers, except figures on GPUs, which have their own page."""
  return [path for path in sorted(results.rglob('*.json')) if is_of_a_paper(json.loads(path.read_text(encoding='utf-8')))]


def read_all(lab, files):
  """{path: Stored}, with their claims."""
  found = {path: Stored(path) for path in files}
  figures = [path for path, stored in found.items() if 'figure' in stored.data]
  for path, claims in (judge_figures(lab, figures) if figures else {}).items():
    stored = found[pathlib.Path(path)]
    stored.rows = [row_of_figure(claim, stored) for claim in claims]
  for stored in found.values():
    if 'application' in stored.data:
      program = applications.APPLICATIONS[stored.data['application']]
      stored.rows = [row_of_program(claim) for claim in program.claims(stored.data)]
  return found

