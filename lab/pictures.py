#!/usr/bin/env python3
"""Draws the stored results: an SVG beside each file of data.

  lab/pictures.py [FILE...]          draws (needs matplotlib: `make pictures` installs it into build/venv-pictures)
  lab/pictures.py --check [FILE...]  needs nothing: is there a picture of each file, and is it of this file?

Without files, all below docs/results that have a form with a picture:
  figures    (`quadrille-lab bench --figure`)  each panel as curves with the spread of the runs, and as a map of ours over the MPI's
  maps       (`quadrille-lab show --map --map-json`) which algorithm is the fastest, N by P
  panels     (`quadrille-lab bench --figure bruck-6-simulated`, lab/applications.py) curves over ranks, sizes, or iterations, with the
             spread of the runs, or of what the networks' constants may be
  counted    (`quadrille-lab bench --figure co-table-1`) curves of cache misses, and the paper's beside them

A picture follows from its data alone, byte for byte with one version of matplotlib, and names them by their hash.
"""

import argparse
import hashlib
import json
import math
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / 'docs' / 'results'
# Counted up when pictures of a form change, so that all of it are drawn anew.
DRAWING = {'figure': 1, 'map': 1, 'panels': 2, 'counted': 1}
FOUND = re.compile(r'data sha256 ([0-9a-f]{64})')


def picture_of(source):
  return source.with_suffix('.svg')


def hash_of(source):
  drawing = DRAWING[kind_of(json.loads(source.read_text()))]
  return hashlib.sha256(f'{drawing}\n'.encode() + source.read_bytes()).hexdigest()


def kind_of(data):
  """'figure', 'map', 'counted', 'panels', or None for data of another form."""
  if not isinstance(data, dict) or str(data.get('figure')).startswith('gpu-'):
    return None
  if 'cells' in data:
    return 'map'
  if 'counts' in data:
    return 'counted'
  if 'panels' in data:
    return 'panels'
  return 'figure' if any(plot.get('rows') for plot in data.get('plots', [])) else None


def files_with_pictures():
  return [path for path in sorted(RESULTS.rglob('*.json')) if kind_of(json.loads(path.read_text()))]


# ---- What is drawn, without matplotlib ----

def bytes_text(size):
  for unit, letter in ((1 << 20, 'M'), (1 << 10, 'K')):
    if size >= unit and size % unit == 0:
      return f'{size // unit}{letter}'
  return str(size)


def x_of(plot, row):
  """A figure on GPUs varies the ranks, or the data of a rank or of all."""
  return row['ranks'] if plot.get('x') == 'ranks' else row.get('size', row['bytes'])


def curves_of(plot):
  """{line: [(x, median, least, most)]}, 'mpi' first. What is identical to another line is left out."""
  curves = {'mpi': []}
  for row in plot['rows']:
    line, x = row['algorithm'], x_of(plot, row)
    runs = row.get('runs', {})
    if not any(point[0] == x for point in curves['mpi']):
      times = runs.get('mpi_us', [row['mpi_us']])
      curves['mpi'].append((x, row['mpi_us'], min(times), max(times)))
    if 'identical_to' in row or line == 'mpi':
      continue
    times = runs.get('quadrille_us', [row['quadrille_us']])
    curves.setdefault(line, []).append((x, row['quadrille_us'], min(times), max(times)))
  return curves


def panel_curves(panel):
  """{line: [(x, us, least, most)]}: of several runs, or of the least and the most that the constants of a network may be."""
  curves = {}
  for row in panel['rows']:
    if 'us' in row:
      ends = [row[key] for key in ('least_us', 'most_us', 'fast_us', 'slow_us') if key in row] or [row['us']]
      curves.setdefault(row['line'], []).append((row[panel['x']], row['us'], min(ends), max(ends)))
  return {line: sorted(points) for line, points in curves.items()}


def counted_panels(data):
  """{title: {line: [(bytes, misses)]}}, the paper's as lines of their own."""
  panels = {}
  for row in data['counts']:
    title = f'{row["cache"]}, {row["start"]} at the start, lines of {row["line_bytes"]} bytes'
    panel = panels.setdefault(title, {})
    for line, misses in row['misses'].items():
      panel.setdefault(line, []).append((row['bytes'], misses))
    for line, misses in row['paper'].items():
      panel.setdefault(f'{line}, paper', []).append((row['bytes'], misses))
  return panels


def ratios_of(rows, x=lambda row: row['bytes'], name=lambda row: row['algorithm']):
  """(names, xs, {(name, x): ours over the MPI's, the median of several runs})"""
  names, xs, ratios = [], [], {}
  for row in rows:
    if not row['mpi_us'] or row['algorithm'] == 'mpi' or row['algorithm'].endswith(' again'):
      continue
    names += [name(row)] if name(row) not in names else []
    xs += [x(row)] if x(row) not in xs else []
    ratios.setdefault((name(row), x(row)), []).append(row['quadrille_us'] / row['mpi_us'])
  return names, sorted(xs), {place: statistics.median(of) for place, of in ratios.items()}


# ---- Drawing ----

class Drawing:
  """Everything that needs matplotlib."""

  def __init__(self):
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use('svg')
    import matplotlib.pyplot as plot  # pylint: disable=import-outside-toplevel
    self.plot = plot
    plot.rcParams.update({'svg.hashsalt': 'quadrille', 'svg.fonttype': 'none', 'font.size': 8, 'axes.titlesize': 8,
                          'figure.facecolor': 'white', 'lines.linewidth': 1.2, 'lines.markersize': 3})

  def save(self, figure, path, source):
    figure.savefig(path, format='svg', bbox_inches='tight',
                   metadata={'Date': None, 'Creator': None, 'Title': source.stem,
                             'Description': f'{source.name}: data sha256 {hash_of(source)}'})
    self.plot.close(figure)
    # A line that ends in blanks is nobody's wish in a repository.
    text = path.read_text()
    path.write_text('\n'.join(line.rstrip() for line in text.split('\n')))

  def curves(self, axes, plot):
    markers = 'o^svDPX*'
    for i, (line, points) in enumerate(curves_of(plot).items()):
      if not points:
        continue
      xs = [point[0] for point in points]
      color = 'black' if line == 'mpi' else f'C{i - 1}'
      style = ':' if line.endswith(' again') else '-'
      axes.plot(xs, [point[1] for point in points], style, color=color, marker=markers[i % len(markers)], label=line)
      axes.fill_between(xs, [point[2] for point in points], [point[3] for point in points], color=color, alpha=0.2,
                        linewidth=0)
    axes.set_xscale('log', base=2)
    axes.set_yscale('log')
    axes.set_xlabel(plot.get('x', 'size') if plot.get('x') == 'ranks' else 'bytes')
    axes.set_ylabel('µs')
    axes.set_title(plot['title'])
    axes.grid(True, which='major', alpha=0.3)
    axes.legend(fontsize=6)

  def ratios(self, axes, names, xs, ratios, title):
    """Blue: ours is faster; red: the MPI's is. A factor of four is the full colour."""
    cells = [[math.log2(ratios[name, x]) if (name, x) in ratios else math.nan for x in xs] for name in names]
    axes.imshow(cells, cmap='RdBu_r', vmin=-2, vmax=2, aspect='auto')
    for i, name in enumerate(names):
      for j, x in enumerate(xs):
        if (name, x) in ratios:
          dark = abs(cells[i][j]) > 1.2
          axes.text(j, i, f'{ratios[name, x]:.2f}', ha='center', va='center', fontsize=6,
                    color='white' if dark else 'black')
    axes.set_xticks(range(len(xs)), [bytes_text(x) for x in xs], fontsize=6, rotation=45)
    axes.set_yticks(range(len(names)), names, fontsize=6)
    axes.set_title(title)

  def figure(self, data, path, source):
    plots = [plot for plot in data['plots'] if plot.get('rows')]
    figure, axes = self.plot.subplots(len(plots), 2, figsize=(9, 2.9 * len(plots)), squeeze=False,
                                      layout='constrained')
    for (left, right), plot in zip(axes, plots):
      self.curves(left, plot)
      self.ratios(right, *ratios_of(plot['rows'], lambda row, plot=plot: x_of(plot, row)), 'time over the MPI\'s')
    self.save(figure, path, source)

  def map(self, data, path, source):
    """Who is the fastest; the colour is how many times as fast as each block straight to its place."""
    cells = {(cell['bytes'], cell['ranks']): cell for cell in data['cells']}
    sizes, ranks = sorted({n for n, _ in cells}), sorted({p for _, p in cells})
    gains = [[math.log2(cells[n, p]['direct_us'] / cells[n, p]['us']) for p in ranks] for n in sizes]
    figure, axes = self.plot.subplots(figsize=(7, 0.9 + 0.35 * len(sizes)), layout='constrained')
    image = axes.imshow(gains, cmap='Blues', vmin=0, aspect='auto')
    for i, n in enumerate(sizes):
      for j, p in enumerate(ranks):
        axes.text(j, i, cells[n, p]['mark'], ha='center', va='center', fontsize=6)
    axes.set_xticks(range(len(ranks)), ranks)
    axes.set_yticks(range(len(sizes)), sizes)
    axes.set_xlabel('ranks P')
    axes.set_ylabel('N, blocks uniform in 0..N')
    axes.set_title(f'Alltoallv, the fastest by {data["map"]}')
    figure.colorbar(image, label='log2 of the gain over straight messages')
    self.save(figure, path, source)

  def panels(self, data, path, source):
    count = len(data['panels'])
    columns = min(count, 3)
    rows = -(-count // columns)
    figure, axes = self.plot.subplots(rows, columns, figsize=(4 * columns, 2.9 * rows), squeeze=False, layout='constrained')
    for place in axes.flat[count:]:
      place.axis('off')
    for place, panel in zip(axes.flat, data['panels']):
      for i, (line, points) in enumerate(panel_curves(panel).items()):
        xs, color = [point[0] for point in points], 'black' if line == 'MPI' else f'C{i}'
        place.plot(xs, [point[1] for point in points], '' if panel['x'] == 'iteration' else '-', marker='o', label=line, color=color)
        place.fill_between(xs, [point[2] for point in points], [point[3] for point in points], color=color, alpha=0.2, linewidth=0)
      if panel['x'] != 'iteration':
        place.set_xscale('log', base=2)
      place.set_yscale('log')
      place.set_xlabel('N, bytes' if panel['x'] == 'bytes' else panel['x'])
      place.set_ylabel(panel.get('y', 'µs, simulated'))
      place.set_title(panel['title'])
      place.grid(True, which='major', alpha=0.3)
      place.legend(fontsize=6)
    self.save(figure, path, source)

  def counted(self, data, path, source):
    panels = counted_panels(data)
    figure, axes = self.plot.subplots((len(panels) + 1) // 2, 2, figsize=(9, 2.9 * ((len(panels) + 1) // 2)), squeeze=False,
                                      layout='constrained')
    for place, (title, panel) in zip(axes.flat, panels.items()):
      lines = list(data['counts'][0]['misses'])
      for line, points in panel.items():
        of_paper = line.endswith(', paper')
        place.plot([point[0] for point in points], [point[1] for point in points], '--' if of_paper else '-', marker='o',
                   color=f'C{lines.index(line.removesuffix(", paper"))}', label=line)
      place.set_xscale('log', base=2)
      place.set_yscale('log')
      place.set_xlabel('bytes')
      place.set_ylabel('lines brought in, a rank')
      place.set_title(title)
      place.grid(True, which='major', alpha=0.3)
      place.legend(fontsize=6)
    self.save(figure, path, source)

  def draw(self, source):
    data = json.loads(source.read_text())
    getattr(self, kind_of(data))(data, picture_of(source), source)


# ---- Checking ----

def what_is_wrong(source):
  """Why the picture of a file is not its own; None if it is."""
  picture = picture_of(source)
  if not picture.is_file():
    return f'{source}: there is no picture; run make pictures'
  found = FOUND.search(picture.read_text())
  if not found or found[1] != hash_of(source):
    return f'{picture} is of other data than {source.name}; run make pictures'
  return None


def pictures_without_data(sources):
  known = {picture_of(source) for source in sources}
  return [f'{picture}: there are no data of this picture' for picture in sorted(RESULTS.rglob('*.svg'))
          if picture not in known and FOUND.search(picture.read_text())]


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('files', nargs='*', type=pathlib.Path)
  parser.add_argument('--check', action='store_true')
  options = parser.parse_args()
  sources = [path for path in options.files if kind_of(json.loads(path.read_text()))] if options.files else files_with_pictures()
  if options.check:
    wrong = [problem for problem in map(what_is_wrong, sources) if problem]
    wrong += [] if options.files else pictures_without_data(sources)
    for problem in wrong:
      print(problem, file=sys.stderr)
    print(f'{len(sources)} files, {len(wrong)} wrong')
    return 1 if wrong or not sources else 0
  drawing = Drawing()
  for i, source in enumerate(sources):
    if not what_is_wrong(source):
      continue
    print(f'[{i + 1}/{len(sources)}] {picture_of(source).name}', flush=True)
    drawing.draw(source)
  return 0


if __name__ == '__main__':
  sys.exit(main())
