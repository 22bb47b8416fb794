#!/usr/bin/env python3
"""The pages of whole programs say what their data say, and the check sees it when they do not."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'lab'))
import applications  # noqa: E402

ABOUT = {'command': 'lab/applications.py run', 'ranks': 4, 'processors': 2, 'cpu': 'a', 'mpi': 'b', 'runs': 1, 'how': 'So.'}


def exchanges(line, times):
  return [{'line': line, 'iteration': i + 1, 'us': us} for i, us in enumerate(times)]


KCFA = ABOUT | {'application': 'bruck-12', 'panels': [
    {'title': '4 ranks', 'x': 'iteration', 'y': 'us', 'rows': exchanges('MPI', [1, 9, 9, 9]) + exchanges('two-phase', [2, 8, 8, 10])},
    {'title': 'N', 'x': 'iteration', 'y': 'bytes', 'rows': exchanges('N', [1, 999, 1000, 5000])}]}


class Applications(unittest.TestCase):
  def test_claims_of_k_cfa(self):
    ahead, small, varies = applications.claims_of(KCFA)
    self.assertEqual(ahead[2], 0.5)  # two of four
    self.assertEqual(small[2], 0.5)
    self.assertIn('it is about 4096 ranks, and there were 4', ahead[3])
    self.assertEqual(varies[3], 'agrees')
    same = json.loads(json.dumps(KCFA))
    for row in same['panels'][0]['rows']:
      row['us'] = 3
    self.assertEqual(applications.claims_of(same)[2][3], 'disagrees')

  def test_claims_of_the_closure_are_about_the_most_ranks(self):
    rows = [{'line': line, 'ranks': ranks, 'us': us}
            for line, ranks, us in (('MPI', 2, 1), ('two-phase', 2, 9), ('MPI', 4, 6), ('two-phase', 4, 3))]
    data = ABOUT | {'application': 'bruck-11', 'panels': [{'title': 'a', 'x': 'ranks', 'y': 'us', 'rows': rows}] * 2}
    self.assertEqual([claim[2] for claim in applications.claims_of(data)], [2, 2])

  def test_a_page_of_other_data_is_seen(self):
    with tempfile.TemporaryDirectory() as folder:
      path = pathlib.Path(folder) / 'bruck-12.json'
      path.write_text(json.dumps(KCFA))
      self.assertIn('is not what its data say', applications.problem_of(path))
      path.with_suffix('.md').write_text(applications.page_of(KCFA, False))
      self.assertIsNone(applications.problem_of(path))
      path.with_suffix('.svg').write_text('')
      self.assertIn('is not what its data say', applications.problem_of(path))

  def test_a_page_has_some_of_many_exchanges(self):
    panel = {'title': '', 'x': 'iteration', 'y': '', 'rows': exchanges('MPI', range(1, 1001))}
    self.assertLess(len(applications.table_of(panel).splitlines()), 40)

  def test_the_path_has_as_many_edges_as_it_says(self):
    with tempfile.TemporaryDirectory() as folder:
      path = pathlib.Path(folder) / 'chain.txt'
      applications.write_chain(path)
      edges = [tuple(map(int, line.split())) for line in path.read_text().splitlines()]
    self.assertEqual(len(set(edges)), 2 * applications.CHAIN)
    self.assertEqual([to for begin, to in edges if begin == 0], [1, applications.CHAIN + 1])


if __name__ == '__main__':
  unittest.main()
