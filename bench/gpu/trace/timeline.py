"""A picture of a trace: a row for each rank, with its driver calls above and its work on the device below."""

from xml.sax.saxutils import escape

WIDTH, LEFT, HALF, SPACE, TOP = 1400, 80, 26, 14, 30
COLORS = ('#4e79a7', '#f28e2b', '#e15759', '#76b7b2', '#59a14f', '#edc948', '#b07aa1', '#ff9da7', '#9c755f', '#86bcb6', '#d37295', '#8cd17d')
OTHERS = '#bab0ac'


def colors_of(names):
  """A color for each name, by frequency; the rarest share one."""
  often = sorted(set(names), key=lambda name: (-names.count(name), name))
  return {name: COLORS[n] if n < len(COLORS) else OTHERS for n, name in enumerate(often)}


def step_of(span):
  """The distance of two marks of the axis: 1, 2 or 5 times a power of 10, for about 10 marks."""
  power = 1
  while power * 10 < span / 10:
    power *= 10
  return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= span / 10 or factor == 10)


def box(x, y, width, height, color, about):
  return (f'<rect x="{x:.2f}" y="{y}" width="{max(0.4, width):.2f}" height="{height}" fill="{color}" fill-opacity="0.85">'
          f'<title>{escape(about)}</title></rect>')


def text(x, y, words, more=''):
  return f'<text x="{x:.1f}" y="{y}" {more}>{escape(words)}</text>'


def axis(begin, end, place, bottom):
  """The marks of the axis, in microseconds after the left edge."""
  parts, step = [], step_of((end - begin) / 1000)
  for n in range(int((end - begin) / 1000 / step) + 1):
    x = place(begin + n * step * 1000)
    parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}" stroke="#dddddd"/>')
    parts.append(text(x, bottom + 14, f'{n * step}', 'text-anchor="middle"'))
  return [*parts, text(WIDTH - 20, bottom + 30, 'microseconds', 'text-anchor="end"')]


def legend(colors, y):
  parts, x = [], LEFT
  for name, color in colors.items():
    shown = name if len(name) <= 40 else name[:39] + '…'
    if x + 7 * len(shown) + 30 > WIDTH:
      x, y = LEFT, y + 18
    parts += [box(x, y - 10, 12, 12, color, name), text(x + 16, y, shown)]
    x += 7 * len(shown) + 36
  return parts, y


def about(item, name, begin):
  words = f'{name}, {(item.begin - begin) / 1000:.1f} to {(item.end - begin) / 1000:.1f} us ({(item.end - item.begin) / 1000:.1f})'
  return words + ''.join(f', {field} {getattr(item, field)}' for field in ('bytes', 'stream', 'thread') if hasattr(item, field))


def svg(works, calls, ranks, begin, end):
  colors = colors_of([call.name for call in calls] + [work.what for work in works])
  rows = {rank: TOP + n * (2 * HALF + SPACE) for n, rank in enumerate(ranks)}
  device = TOP + len(ranks) * (2 * HALF + SPACE)
  scale = (WIDTH - LEFT - 20) / max(1, end - begin)
  def place(time):
    return LEFT + (time - begin) * scale
  def bar(item, name, y):
    return box(place(item.begin), y, (item.end - item.begin) * scale, HALF, colors[name], about(item, name, begin))
  parts = axis(begin, end, place, device + HALF)
  for rank, y in rows.items():
    parts += [text(6, y + HALF - 8, f'rank {rank} calls'), text(6, y + 2 * HALF - 8, 'device')]
    parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 20}" y1="{y + HALF}" y2="{y + HALF}" stroke="#999999"/>')
  parts.append(text(6, device + HALF - 8, 'all'))
  parts += [bar(call, call.name, rows[call.rank]) for call in calls]
  parts += [bar(work, work.what, rows[work.rank] + HALF) for work in works]
  parts += [bar(work, work.what, device) for work in works]
  names, bottom = legend(colors, device + HALF + 50)
  return '\n'.join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + 20}" font-family="sans-serif" font-size="11">',
                    f'<title>{escape(f"{len(ranks)} ranks on one device")}</title>', '<rect width="100%" height="100%" fill="white"/>',
                    *parts, *names, '</svg>', ''])
