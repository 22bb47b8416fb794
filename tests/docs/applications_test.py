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


def claims(data):
  return applications.APPLICATIONS[data['application']].claims(data)


def exchanges(line, times):
  return [{'line': line, 'iteration': i + 1, 'us': us} for i, us in enumerate(times)]


KCFA = ABOUT | {'application': 'bruck-12', 'panels': [
    {'title': '4 ranks', 'x': 'iteration', 'y': 'us', 'rows': exchanges('MPI', [1, 9, 9, 9]) + exchanges('two-phase', [2, 8, 8, 10])},
    {'title': 'N', 'x': 'iteration', 'y': 'bytes', 'rows': exchanges('N', [1, 999, 1000, 5000])}]}


class Applications(unittest.TestCase):
  def test_claims_of_k_cfa(self):
    ahead, small, varies = claims(KCFA)
    self.assertEqual(ahead[2], 0.5)  # two of four
    self.assertEqual(small[2], 0.5)
    self.assertIn('it is about 4096 ranks, and there were 4', ahead[3])
    self.assertEqual(varies[3], 'agrees')
    same = json.loads(json.dumps(KCFA))
    for row in same['panels'][0]['rows']:
      row['us'] = 3
    self.assertEqual(claims(same)[2][3], 'disagrees')

  def test_claims_of_the_closure_are_about_the_most_ranks(self):
    rows = [{'line': line, 'ranks': ranks, 'us': us}
            for line, ranks, us in (('MPI', 2, 1), ('two-phase', 2, 9), ('MPI', 4, 6), ('two-phase', 4, 3))]
    data = ABOUT | {'application': 'bruck-11', 'panels': [{'title': 'a', 'x': 'ranks', 'y': 'us', 'rows': rows}] * 2}
    self.assertEqual([claim[2] for claim in claims(data)], [2, 2])

  def test_claims_of_the_cache_oblivious_programs(self):
    def rows(factor):
      return [{'line': line, 'N': n, 'us': us * factor, 'total_us': us * factor}
              for line, us in (('MPI', 20), ('SH-Naive', 15), ('SH-CO', 10), ('Quadrille', 10)) for n in (1, 2)]
    panels = [{'title': f'heat2d, {ranks} ranks', 'x': 'N', 'y': 'us', 'ranks': ranks, 'rows': rows(1)} for ranks in (2, 60)]
    found = claims(ABOUT | {'application': 'co-15', 'processors': 60, 'panels': panels})
    self.assertEqual([(round(here, 2), verdict) for _, _, here, verdict in found],
                     [(1.5, 'agrees')] + 5 * [(2.0, 'agrees')])
    found = claims(ABOUT | {'application': 'co-15', 'panels': panels})
    self.assertIn('60 ranks shared 2', found[0][3])
    found = claims(ABOUT | {'application': 'co-15', 'panels': panels[:1]})
    self.assertIn('it is about 60 ranks, and there were 2', found[0][3])

  def test_the_copies_alone(self):
    rows = [{'line': line, 'bytes': size, 'us': us} for line, us in (('row', 3), ('morton', 2)) for size in (8, 4096)]
    rows[-1]['us'] = 6
    data = ABOUT | {'application': 'co-copies', 'panels': [{'title': 'allgather, 72 ranks', 'x': 'bytes', 'y': 'us', 'rows': rows}]}
    self.assertEqual([claim[2:] for claim in claims(data)], [(1.5, 'agrees'), (0.5, 'disagrees')])
    self.assertEqual(applications.summary_of(data), 'no number to compare with')
    page = applications.page_of(data, False)
    self.assertIn('played by one process with as many threads as processors: 2 of', page)
    self.assertNotIn('time slices', page)

  def test_blocks_have_the_papers_sizes(self):
    for ranks in (2, 8, 60, 72):
      for block in applications.cache_oblivious.CLASSES.values():
        x, y, z = applications.cache_oblivious.extents(ranks, block)
        self.assertEqual((y % ranks, z % ranks, 16 * x * y * z), (0, 0, block * ranks * ranks))

  def test_claims_against_the_mpis_at_hand(self):
    rows = [{'line': line, 'bytes': size, 'us': us} for line, us in (('Intel MPI 2021', 10), ('Quadrille on Intel MPI 2021', 2),
            ('Open MPI 4.1', 1), ('Quadrille on Open MPI 4.1', 2)) for size in (256, 512)]
    data = ABOUT | {'application': 'hint-12', 'processors': 8, 'panels': [
        {'title': '8 ranks', 'x': 'bytes', 'y': 'us', 'ranks': 8, 'rows': rows}]}
    found = claims(data)
    self.assertEqual(found[0][2:], (80.0, 'agrees'))  # Cascade Lake, Intel MPI: 67 %
    self.assertIn('16 ranks were not measured', found[1][3])
    self.assertEqual(found[3][2:], (-100.0, 'disagrees'))  # Skylake, Open MPI
    self.assertIn('shared 2 processors', claims(data | {'processors': 2})[0][3])
    alone = json.loads(json.dumps(data))
    alone['panels'][0]['rows'] = rows[2:]
    self.assertEqual(claims(alone)[0][2:], (None, 'cannot be tested here: none of these MPIs was there'))
    self.assertIn('-100.00', applications.page_of(data, False))

  def test_the_index_has_the_verdicts(self):
    self.assertEqual(applications.summary_of(KCFA), '1 agree, 2 cannot be tested here')
    with tempfile.TemporaryDirectory() as folder:
      path = pathlib.Path(folder) / 'bruck-12.json'
      path.write_text(json.dumps(KCFA))
      self.assertIsNone(applications.index_problem(path, '| [a](bruck-12.md) | 1 agree, 2 cannot be tested here. |'))
      self.assertIn('does not say', applications.index_problem(path, '| [a](bruck-12.md) | 2 agree |'))
      for other in ('11 agree, 2 cannot be tested here', '1 agree, 2 cannot be tested here, 3 disagree',
                    '3 disagree, 1 agree, 2 cannot be tested here'):
        self.assertIn('does not say', applications.index_problem(path, f'| [a](bruck-12.md) | {other}. |'))
      self.assertIn('there is no row', applications.index_problem(path, '| [a](bruck-11.md) | 2 agree |'))

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


if __name__ == '__main__':
  unittest.main()
