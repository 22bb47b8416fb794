"""The words of pages of results, which templates hold: tables, fields, and what words say that the data do not. For lab/papers and
bench/pages."""

import re


def table(head, rows):
  lines = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
  return '\n'.join(lines + ['| ' + ' | '.join(map(str, row)) + ' |' for row in rows])


def typed(words, no_results):
  """Numbers that somebody typed into a template; `no_results` are patterns of what has digits and is no result."""
  left = re.sub('|'.join(no_results), '_', words, flags=re.M)
  return re.findall(r'(?:\S+ ){0,3}\S*\d\S*', ' '.join(left.split()))


def problems_of(words, text, fields, sayings, numbers):
  """Of a template and the page that is made of it. `sayings`: (sentence or its beginning, whether the data say so); `numbers`: what
  typed() found."""
  page = ' '.join(text.split())
  wrong = [f'nobody computes what is typed here: {one}' for one in numbers]
  wrong += [f'no words use {name}' for name in fields if f'{{{name}}}' not in words]
  wrong += [f'is not said any more: {said}' for said, _ in sayings if ' '.join(said.split()) not in page]
  return wrong + [f'the data say otherwise: {said}' for said, is_so in sayings if not is_so]
