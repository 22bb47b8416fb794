#!/usr/bin/env python3
"""Draws the stored figures of the papers. Pictures are not stored: `make site` and `make pictures` draw them.

  lab/pictures.py FOLDER [--results RESULTS]   writes an SVG into FOLDER for each file of data below RESULTS (docs/results), at the same
                                               relative path. Needs matplotlib: `make pictures` installs it into build/venv-pictures

Forms of data with a picture:
  figures    (`quadrille-lab bench --figure`)  each panel as curves with the spread of the runs, and as a map of ours over the MPI's
  maps       (`quadrille-lab show --map --map-json`) the fastest algorithm, N by P
  panels     (`quadrille-lab bench --figure bruck-6-simulated`, lab/applications.py) curves over ranks, sizes, or iterations, with the
             spread of the runs, or of the networks' constants
  counted    (`quadrille-lab bench --figure co-table-1`) curves of cache misses, with the paper's

A picture contains the hash of its data; an existing picture of the same data is not drawn again.
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
# Incremented when the pictures of a form change, so that all of them are drawn again.
DRAWING = {'figure': 2, 'map': 1, 'panels': 3, 'counted': 2}
FOUND = re.compile(r'data sha256 ([0-9a-f]{64})')


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


def files_with_pictures(results=RESULTS):
  return [path for path in sorted(results.rglob('*.json')) if kind_of(json.loads(path.read_text()))]


# ---- The drawn data, without matplotlib ----

def bytes_text(size):
  for unit, letter in ((1 << 20, 'M'), (1 << 10, 'K')):
    if size >= unit and size % unit == 0:
      return f'{size // unit}{letter}'
  return str(size)


def point_of(x, us):
  return x, statistics.median(us), min(us), max(us)


def curves_of(plot):
  """{line: [(bytes, median, least, most)]}, 'mpi' first. Lines that are identical to others are left out."""
  curves = {'mpi': []}
  for row in plot['rows']:
    if not any(point[0] == row['bytes'] for point in curves['mpi']):
      curves['mpi'].append(point_of(row['bytes'], row['mpi_us']))
    if 'identical_to' not in row:
      curves.setdefault(row['line'], []).append(point_of(row['bytes'], row['us']))
  return curves


def panel_curves(panel):
  """{line: [(x, us, least, most)]}: the spread of several runs, or of the constants of a network."""
  curves = {}
  for row in panel['rows']:
    if 'us' in row:
      runs = row['us'] if isinstance(row['us'], list) else [row['us']]
      ends = [row[key] for key in ('fast_us', 'slow_us') if key in row] or runs
      curves.setdefault(row['line'], []).append((row[panel['x']], statistics.median(runs), min(ends), max(ends)))
  return {line: sorted(points) for line, points in curves.items()}


def counted_panels(data):
  """{title: {line: [(bytes, misses)]}}; the paper's numbers are separate lines."""
  panels = {}
  for row in data['counts']:
    title = f'{row["cache"]}, {row["start"]} at the start, lines of {row["line_bytes"]} bytes'
    panel = panels.setdefault(title, {})
    for line, misses in row['misses'].items():
      panel.setdefault(line, []).append((row['bytes'], misses))
    for line, misses in row['paper'].items():
      panel.setdefault(f'{line}, paper', []).append((row['bytes'], misses))
  return panels


def ratios_of(rows):
  """(names, sizes, {(name, size): our time over the MPI's, by the medians of the runs})"""
  ours = [row for row in rows if not row['line'].endswith(' again')]
  ratios = {(row['line'], row['bytes']): statistics.median(row['us']) / statistics.median(row['mpi_us']) for row in ours}
  return list(dict.fromkeys(row['line'] for row in ours)), sorted({row['bytes'] for row in ours}), ratios


COLORS, MARKERS, STROKES = 10, 'o^svDPX*', ('-', '--', '-.', ':')


def style_of(number, line):
  """A colour, a marker and a stroke. Neighbours in the list differ in all of them, so that they are distinct without colours."""
  color = 'black' if line in ('mpi', 'MPI') else f'C{number % COLORS}'
  return {'color': color, 'marker': MARKERS[number % len(MARKERS)], 'linestyle': STROKES[number % len(STROKES)]}


# ---- Drawing ----

class Drawing:
  """The code that needs matplotlib."""

  def __init__(self):
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use('svg')
    import matplotlib.pyplot as plot  # pylint: disable=import-outside-toplevel
    self.plot = plot
    plot.rcParams.update({'svg.hashsalt': 'quadrille', 'svg.fonttype': 'none', 'font.size': 8, 'axes.titlesize': 8,
                          'figure.facecolor': 'white', 'lines.linewidth': 1.2, 'lines.markersize': 3})

  def save(self, figure, path, source):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format='svg', bbox_inches='tight',
                   metadata={'Date': None, 'Creator': None, 'Title': source.stem,
                             'Description': f'{source.name}: data sha256 {hash_of(source)}'})
    self.plot.close(figure)

  def lines(self, axes, curves, x, y, title, are_joined=True):
    for i, (line, points) in enumerate(curves.items()):
      style = style_of(i, line) if are_joined else style_of(i, line) | {'linestyle': ''}
      xs = [point[0] for point in points]
      axes.plot(xs, [point[1] for point in points], label=line, **style)
      axes.fill_between(xs, [point[2] for point in points], [point[3] for point in points], color=style['color'], alpha=0.2, linewidth=0)
    if are_joined:
      axes.set_xscale('log', base=2)
    axes.set_yscale('log')
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title)
    axes.grid(True, which='major', alpha=0.3)
    axes.legend(fontsize=6, loc='upper left', bbox_to_anchor=(1.01, 1))

  def ratios(self, axes, names, xs, ratios, title):
    """Blue: ours is faster; red: the MPI's is faster. A factor of four has the full colour."""
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
    figure, axes = self.plot.subplots(len(plots), 2, figsize=(11, 2.9 * len(plots)), squeeze=False, layout='constrained')
    for (left, right), plot in zip(axes, plots):
      self.lines(left, {line: points for line, points in curves_of(plot).items() if points}, 'bytes', 'µs', plot['title'])
      self.ratios(right, *ratios_of(plot['rows']), 'time over the MPI\'s')
    self.save(figure, path, source)

  def map(self, data, path, source):
    """The fastest algorithm; the colour is its speedup over direct messages."""
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
    columns = min(count, 2)
    figure, axes = self.plot.subplots(-(-count // columns), columns, figsize=(5.5 * columns, 2.9 * -(-count // columns)), squeeze=False,
                                      layout='constrained')
    for place in axes.flat[count:]:
      place.axis('off')
    for place, panel in zip(axes.flat, data['panels']):
      self.lines(place, panel_curves(panel), 'N, bytes' if panel['x'] == 'bytes' else panel['x'], panel.get('y', 'µs, simulated'),
                 panel['title'], panel['x'] != 'iteration')
    self.save(figure, path, source)

  def counted(self, data, path, source):
    panels = counted_panels(data)
    figure, axes = self.plot.subplots((len(panels) + 1) // 2, 2, figsize=(11, 2.9 * ((len(panels) + 1) // 2)), squeeze=False,
                                      layout='constrained')
    for place, (title, panel) in zip(axes.flat, panels.items()):
      curves = {line: [(size, misses, misses, misses) for size, misses in points] for line, points in panel.items()}
      self.lines(place, curves, 'bytes', 'lines brought in, a rank', title)
    self.save(figure, path, source)

  def draw(self, source, picture):
    data = json.loads(source.read_text())
    getattr(self, kind_of(data))(data, picture, source)


def is_drawn(source, picture):
  """Whether the picture exists and shows these data."""
  found = FOUND.search(picture.read_text()) if picture.is_file() else None
  return bool(found) and found[1] == hash_of(source)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('folder', type=pathlib.Path)
  parser.add_argument('--results', type=pathlib.Path, default=RESULTS)
  options = parser.parse_args()
  sources = files_with_pictures(options.results)
  drawing = Drawing()
  for i, source in enumerate(sources):
    picture = (options.folder / source.relative_to(options.results)).with_suffix('.svg')
    if not is_drawn(source, picture):
      print(f'[{i + 1}/{len(sources)}] {picture}', flush=True)
      drawing.draw(source, picture)
  return 0 if sources else 1


if __name__ == '__main__':
  sys.exit(main())
