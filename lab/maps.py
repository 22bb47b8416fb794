"""docs/results/maps.md: which algorithm of Alltoallv is the fastest at which N and P, as `quadrille-lab show --map` computes it. The page
has nothing measured: its numbers are those of the paper, and of the maps."""

import json
import pathlib
import subprocess

RESULTS = pathlib.Path(__file__).resolve().parent.parent / 'docs' / 'results'
PAGE = RESULTS / 'maps.md'
MODELS = {'paper': 'the paper\'s formulas', 'aries': 'our model'}
# Up to which N two-phase is ahead of spread-out, as the paper measured it (its figures 6 and 9).
PAPER = {256: 1024, 512: 1024, 1024: 1024, 2048: 1024, 4096: 1024, 8192: 512, 16384: 256, 32768: 128}

INTRODUCTION = """\
# Uneven data: maps by models

<!-- Written by lab/figures.py from map-paper.json and map-aries.json, which quadrille-lab show --map computes. -->

Which algorithm of Alltoallv is the fastest, by formulas. Nothing here is measured: that is [uneven data](inside-a-node.md#uneven-data), and, beside
the figures of Fan et al. (HPDC 2022), [bruck-6](bruck-6.md) and [bruck-9](bruck-9.md).

## The paper's formulas

`quadrille-lab show --map --model paper`: the paper's formulas (section 3.3) with a latency of 1.5 us and 2 GB/s a rank. These two
numbers are assumed for the paper's network, a Cray Aries: nobody measured them there, and no source is cited for them. With them
the formulas say far less time than the paper measured. So times of these maps say nothing; where one algorithm overtakes another
depends on the ratio of the two numbers.
"""
BETWEEN = """\
Where the formulas go further than the paper measured, a network under such load is perhaps slower than the constants say.

## Our model

Sizes travel with small data, so a round costs one message and not two, the radix is free, and padding costs its agreement and its
copies. `quadrille-lab show --map --model aries`, with the same assumed numbers:
"""
BEHIND = """\
Padded Bruck wins nowhere here: it saved the messages of sizes, and those are gone. With larger radices two-phase stays ahead of direct
messages for larger N.
"""


def computed(lab):
  """{model: (the text of its map, its data)}, as `show --map` gives them today."""
  found = {}
  for model in MODELS:
    said = subprocess.run([lab, 'show', '--map', '--model', model, '--map-json', '/dev/stderr'], capture_output=True, text=True,
                          check=True)
    found[model] = (said.stdout, said.stderr)
  return found


def path_of(model):
  return RESULTS / f'map-{model}.json'


def bruck_ends(data):
  """{ranks: the largest N up to which Bruck is ahead, from the smallest on}; 0 if it never is."""
  cells, ends = sorted(data['cells'], key=lambda cell: cell['bytes']), {}
  for cell in cells:
    before = ends.setdefault(cell['ranks'], (0, True))
    ahead = before[1] and 'bruck' in cell['algorithm']
    ends[cell['ranks']] = (cell['bytes'] if ahead else before[0], ahead)
  return {ranks: end for ranks, (end, _) in ends.items()}


def comparison(data):
  ends = bruck_ends(data)
  rows = [f'| {ranks:,} | N = {paper:,} | N = {ends[ranks]:,} |' for ranks, paper in PAPER.items() if ranks in ends]
  head = '| ranks | Bruck ahead of spread-out, the paper measured (figures 6 and 9) up to | its formulas, with these constants, up to |'
  return '\n'.join([head, '|---|---|---|', *rows, ''])


def picture(model):
  return f'![{MODELS[model]}](map-{model}.svg)\n'


def block(text):
  return f'```\n{text}```\n'


def page_of(maps):
  """`maps`: what `computed` gives."""
  parts = [INTRODUCTION, picture('paper'), block(maps['paper'][0]), comparison(json.loads(maps['paper'][1])), BETWEEN, picture('aries'),
           block(maps['aries'][0]), BEHIND]
  return '\n'.join(parts)


def write(lab):
  maps = computed(lab)
  for model, (_, data) in maps.items():
    path_of(model).write_text(data)
  PAGE.write_text(page_of(maps))


def problems(lab):
  maps = computed(lab)
  wrong = [f'{path_of(model)}: it is not the map of today; run make pictures' for model, (_, data) in maps.items()
           if path_of(model).read_text() != data]
  if not PAGE.is_file() or PAGE.read_text() != page_of(maps):
    wrong.append(f'{PAGE}: it is not the page of the maps of today; run make pictures')
  return wrong
