"""Tuning tables that were never measured: legal ones, drawn at random, some with mistakes.

Whatever a table says, it chooses among ways that are all right: results may not change. scripts/fuzz.py runs random
programs under them.
"""

import json
import random

DENSE = ['alltoall', 'alltoallv', 'alltoallw', 'allgather', 'allgatherv']
# Orders of copies that a table may choose for neighbours inside a node, and what it may choose for dense collectives.
INSIDE = ['default', 'sh-naive', 'sh-co', 'sh-numa-co']


def _size(draw):
  return draw.choice([0, 1, 8, 64, 1000, 4096, 65536, 1 << 20, 1 << 30, draw.randrange(1 << draw.randrange(1, 40))])


def _sizes(draw, most):
  """Rising sizes above zero."""
  return sorted({1 + _size(draw) for _ in range(draw.randint(1, most))})


def _limit(size, way):
  return [{'up_to': size, 'take': way}]


def _around(draw, blocks):
  return {'neighbors': blocks, 'rounds': draw.randint(1, blocks - 1), 'blocks': draw.randint(blocks, 4 * blocks)}


def _constants(draw):
  return {name: draw.choice([0, 1, draw.random(), 10 ** draw.uniform(-3, 6)])
          for name in ('message', 'byte', 'copied_byte', 'copied_block', 'round')}


def _nodes_of(draw, ranks):
  """Ranks on the fullest node, and nodes."""
  here = draw.randint(1, ranks)
  least = -(-ranks // here)
  return here, draw.randint(least, ranks - here + 1)


def _words(draw, algorithms, one_node):
  names = [name for name, _ in algorithms if name != 'mpi']
  if not one_node:
    names = [name for name in names if not name.startswith(('hint-', 'sh-', 'co-'))]
  return draw.choice(['default', 'unknown', *names])


def draw_table(seed, by_collective):
  """The text of a table. One in four has a mistake somewhere."""
  draw = random.Random(f'table {seed}')
  crowded = [True, False]
  neighbor = ['neighbor_alltoall', 'neighbor_allgather']
  entries = []
  for ranks in range(2, 10):
    for crowd in crowded:
      if draw.random() < 0.5:
        case = {'ranks': ranks, 'crowded': crowd}
        entries += [{'of': 'inbox', 'collective': name, **case, 'choices': _limit(_size(draw), 'inbox')}
                    for name in DENSE]
        entries.append({'of': 'kernel-copy', **case, 'choices': draw.choice([[], _limit(_size(draw), 'ring')])})
      if draw.random() < 0.5:
        entries.append({'of': 'model', 'ranks': ranks, 'ranks_on_node': draw.randint(1, ranks), 'crowded': crowd,
                        'quadrille': _constants(draw), 'mpi': _constants(draw)})
      for collective in neighbor:
        blocks = draw.randint(2, 40)
        if draw.random() < 0.5:
          entries.append({'of': 'combining', 'collective': collective, 'ranks': ranks,
                          'ranks_on_node': draw.randint(1, ranks), 'crowded': crowd, 'around': _around(draw, blocks),
                          'choices': _limit(_size(draw), 'combined')})
        if draw.random() < 0.5:
          entries.append({'of': 'order', 'collective': collective, 'ranks': ranks, 'crowded': crowd,
                          'around': _around(draw, blocks),
                          'choices': [{'up_to': size, 'take': draw.choice(INSIDE)} for size in _sizes(draw, 8)]})
      for collective in DENSE:
        if draw.random() < 0.7:
          one_node = draw.random() < 0.7
          here, nodes = (ranks, 1) if one_node else _nodes_of(draw, ranks)
          entries.append(
              {'of': 'algorithm', 'collective': collective, 'ranks': ranks, 'ranks_on_node': here, 'nodes': nodes,
               'crowded': crowd,
               'choices': [{'up_to': size, 'take': _words(draw, by_collective[collective], nodes == 1)}
                           for size in _sizes(draw, 6)]})
  table = {'quadrille_tuning': 2, 'machine': {'processor': 'none', 'cores': draw.randint(1, 999)}, 'entries': entries}
  text = json.dumps(table, indent=1)
  return _with_mistake(draw, text) if draw.random() < 0.25 else text


def _with_mistake(draw, text):
  at = draw.randrange(len(text))
  return draw.choice([text[:at], text[:at] + draw.choice(['-', '9', '"', '}', '\0', 'x']) + text[at + 1:],
                      text[:at] + text[at:at + 40] + text[at:]])
