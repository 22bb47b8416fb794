"""The text of the pages of results, from templates: tables, fields, and the check of the text against the data. For lab/papers and
lab/pages."""

import re


def table(head, rows):
  lines = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
  return '\n'.join(lines + ['| ' + ' | '.join(map(str, row)) + ' |' for row in rows])


def typed(words, no_results):
  """Numbers typed into a template; `no_results` are patterns of texts with digits that are not results."""
  left = re.sub('|'.join(no_results), '_', words, flags=re.M)
  return re.findall(r'(?:\S+ ){0,3}\S*\d\S*', ' '.join(left.split()))


def problems_of(words, text, fields, sayings, numbers):
  """The errors of a template and its page. `sayings`: (sentence or its beginning, whether the data confirm it); `numbers`: the
  result of typed()."""
  page = ' '.join(text.split())
  wrong = [f'nobody computes what is typed here: {one}' for one in numbers]
  wrong += [f'no words use {name}' for name in fields if f'{{{name}}}' not in words]
  wrong += [f'is not said any more: {said}' for said, _ in sayings if ' '.join(said.split()) not in page]
  return wrong + [f'the data say otherwise: {said}' for said, is_so in sayings if not is_so]
