"""Small pages with one fault each, and what page_looks.js says of it; None: no fault."""

STYLE = '''body { margin: 0; background: #fff; color: #111; font: 15px sans-serif; }
.key { display: inline-block; width: 10px; height: 10px; } #bar { display: flex; height: 20px; width: 200px; }
#bar > div { flex: 1 1 0; } .of-rank { width: 5px; height: 5px; background: #06c; }'''
RED, GREEN, BLUE = '#c00000', '#007000', '#0000e0'


def legend(bar, keys, texts=('alltoall in a', 'alltoall in b')):
  drawn = ''.join(f'<div style="background: {color}"></div>' for color in bar)
  rows = ''.join(f'<div><span class="key" style="background: {color}"></span><b>50 %</b><span>{text}</span></div>' for color, text in zip(keys, texts))
  return f'<div id="bar">{drawn}</div><div>{rows}</div>'


def svg(inside, style='width: 100px; height: 50px; display: block'):
  return f'<svg viewBox="0 0 100 50" style="{style}">{inside}</svg>'


def lines(*colors):
  return svg(''.join(f'<polyline points="0,{10 * i} 50,{10 * i + 5}" fill="none" stroke="{color}"/>' for i, color in enumerate(colors)))


def pages():
  bodies = [
    (None, '<p>A text.</p>' + legend([RED, GREEN], [RED, GREEN]) + '<div class="of-rank"></div>' + lines(RED, BLUE) +
     svg('<text x="10" y="20" font-size="12">3</text><rect class="cell" x="50" y="10" width="5" height="5"/>')),
    ('overflow: the page is 500 pixels wide', '<div style="width: 500px">A text.</div>'),
    ('contrast of p.faint: 2.85', '<p class="faint" style="color: #999">A text.</p>'),
    ('contrast of span: 1.', '<p style="background: #0a0"><span style="color: #999">A text.</span></p>'),
    ('contrast of text.on: ', svg('<rect x="0" y="0" width="60" height="40" fill="#222"/><text class="on" x="20" y="25" font-size="12">3</text>')),
    ('size of p: 7.0 pixels', '<p style="font-size: 7px">A text.</p>'),
    ('size of text: 6.0 pixels', svg('<text x="10" y="20" font-size="12">3</text>', 'width: 50px; height: 25px; display: block')),
    ('text.far is cut off', svg('<text class="far" x="80" y="20" font-size="12">a long text</text>')),
    ('text.low is cut off', svg('<text class="low" x="10" y="60" font-size="12">3</text>')),
    ('p.short is cut off', '<p class="short" style="width: 50px; white-space: nowrap; overflow: hidden">A text that is longer.</p>'),
    ('.of-rank: 5.0 x 1.0 pixels', '<div class="of-rank" style="height: 1px"></div>'),
    ('contrast of .of-rank', '<div class="of-rank" style="background: #ddd"></div>'),
    ('#bar > div: 1.0 x 20.0', '<div id="bar"><div style="background: #c00000; flex: 0 0 1px"></div></div><div><span class="key" style="background: #c00000"></span><span>a</span></div>'),
    ('rect.cell: 1.0 x 5.0', svg('<rect class="cell" x="50" y="10" width="1" height="5"/>')),
    ('rect.cache-line: 5.0 x 1.0', svg('<rect class="cache-line" x="50" y="10" width="5" height="1"/>')),
    ('two entries of the legend are the same', legend([RED, GREEN], [RED, GREEN], ['alltoall', 'alltoall'])),
    ('key rgb(0, 0, 208) looks like rgb(0, 0, 224)', legend([BLUE, '#0000d0'], [BLUE, '#0000d0'])),
    ('contrast of key rgb(238, 238, 136)', legend(['#eeee88', RED], ['#eeee88', RED])),
    ('the legend has other colours than the bar', legend([RED, GREEN], [GREEN, RED])),
    ('a key of the legend is smaller than 8 pixels', legend([RED, GREEN], [RED, GREEN]) + '<style>.key { width: 4px; }</style>'),
    ('line rgb(0, 0, 208) looks like rgb(0, 0, 224)', lines(BLUE, '#0000d0')),
    ('contrast of line rgb(238, 238, 136)', lines('#eeee88', RED)),
  ]
  head = '<!doctype html><meta name="viewport" content="width=device-width">'
  return [(expected, f'{head}<style>{STYLE}</style><body>{body}') for expected, body in bodies]
