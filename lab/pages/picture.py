"""A picture of ratios by block size, as SVG: a panel for each MPI, with lines that differ in colour, dashes and marks, and a name at
the end of each line."""

import math

from page import size_text

WIDTH, HEIGHT, LEFT, TOP, NAMES = 340, 240, 36, 30, 126  # of a panel; NAMES is the space to the right of it
COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#7a5c00', '#5e4fa2')  # distinct for colour-blind readers, dark on white
DASHES = ('', '6 3', '2 3', '8 3 2 3', '', '6 3')
STYLE = ('text{font:11px sans-serif;fill:#222}.title{font-weight:bold}.grid{stroke:#ddd}.one{stroke:#222}'
         'polyline{fill:none;stroke-width:2}')


class Axis:
  def __init__(self, least, most, begin, end):
    self.least, self.most, self.begin, self.end = math.log2(least), math.log2(most), begin, end

  def at(self, value):
    return self.begin + (math.log2(value) - self.least) / (self.most - self.least) * (self.end - self.begin)


def text_at(x, y, words, anchor='start', kind=''):
  return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{f" class={chr(34)}{kind}{chr(34)}" if kind else ""}>{words}</text>'


def line_at(x1, y1, x2, y2, kind):
  return f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" class="{kind}"/>'


def mark(number, x, y, colour):
  """A circle, a square, a diamond or a triangle."""
  shapes = (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"', f'<rect x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"',
            f'<path d="M{x:.1f} {y - 4:.1f}l4 4l-4 4l-4 -4z"', f'<path d="M{x:.1f} {y - 4:.1f}l4 7h-8z"')
  return f'{shapes[number % len(shapes)]} fill="{colour}"/>'


def apart(places, least=13):
  """The heights, moved so that names do not overlap."""
  moved = {}
  for name, y in sorted(places.items(), key=lambda one: one[1]):
    moved[name] = max([y, *(other + least for other in moved.values())])
  return moved


def panel(left, title, lines, sizes, ratios):
  x, y = Axis(min(sizes), max(sizes), left, left + WIDTH), Axis(min(ratios), max(ratios), TOP + HEIGHT, TOP)
  parts = [text_at(left, TOP - 12, title, kind='title')]
  for ratio in ratios:
    parts += [line_at(left, y.at(ratio), left + WIDTH, y.at(ratio), 'one' if ratio == 1 else 'grid'),
              text_at(left - 6, y.at(ratio) + 4, f'{ratio:g}' if ratio >= 1 else f'1/{1 / ratio:.0f}', 'end')]
  for size in sizes:
    parts.append(text_at(x.at(size), TOP + HEIGHT + 16, size_text(size), 'middle'))
  ends = apart({name: y.at(points[-1][1]) for name, points in lines.items()})
  for number, (name, points) in enumerate(lines.items()):
    colour, places = COLOURS[number], [(x.at(size), y.at(ratio)) for size, ratio in points]
    shown = ' '.join(f'{px:.1f},{py:.1f}' for px, py in places)
    dashes = f' stroke-dasharray="{DASHES[number]}"' if DASHES[number] else ''
    parts.append(f'<polyline points="{shown}" stroke="{colour}"{dashes}/>')
    parts += [mark(number, px, py, colour) for px, py in places]
    parts.append(f'<text x="{left + WIDTH + 8}" y="{ends[name] + 4:.0f}" style="fill:{colour}">{name}</text>')
  return parts


def ratios_by_size(title, panels, sizes, ratios):
  """`panels`: {MPI: {line: [(size, ratio)]}}; `sizes` and `ratios` are the marks of the axes."""
  whole = (WIDTH + LEFT + NAMES) * len(panels), TOP + HEIGHT + 40
  parts = [
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole[0]} {whole[1]}" role="img">',
    f'<title>{title}</title>',
    f'<style>{STYLE}</style>',
    f'<rect width="{whole[0]}" height="{whole[1]}" fill="white"/>',
  ]
  for number, (mpi, lines) in enumerate(panels.items()):
    parts += panel(LEFT + number * (WIDTH + LEFT + NAMES), f'{mpi}: {title}', lines, sizes, ratios)
  return '\n'.join([*parts, '</svg>', ''])
