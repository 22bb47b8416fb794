#!/usr/bin/env python3
"""What becomes of the papers' claims about whole programs, by data that are made here."""

import json
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'lab'))
import applications  # noqa: E402
from programs import common, stored  # noqa: E402

ABOUT = {'command': 'lab/applications.py run', 'ranks': 4, 'processors': 2, 'cpu': 'a', 'mpi': 'b', 'runs': 1, 'how': 'So.'}


def claims(data):
  return applications.APPLICATIONS[data['application']].claims(data)


def exchanges(line, times):
  return [{'line': line, 'iteration': i + 1, 'us': [us]} for i, us in enumerate(times)]


KCFA = ABOUT | {'application': 'bruck-12', 'panels': [
    {'title': '4 ranks', 'x': 'iteration', 'y': 'us', 'rows': exchanges('MPI', [1, 9, 9, 9]) + exchanges('two-phase', [2, 8, 8, 10])},
    {'title': 'N', 'x': 'iteration', 'y': 'bytes', 'rows': exchanges('N', [1, 999, 1000, 5000])},
    {'title': 'in all', 'x': 'ranks', 'y': 'us', 'rows': [{'line': line, 'ranks': 4, 'us': [us]} for line, us in (('MPI', 23), ('two-phase', 20))]}]}


def with_runs(line, x, runs, total=None):
  row = {'line': line, **x, **common.each_run([us * 1e-6 for us in runs])}
  return row | (common.each_run([us * 1e-6 for us in total], 'total_') if total else {})


class Verdicts(unittest.TestCase):
  def word(self, paper, here, **about):
    found = common.judged('a', paper, here, **about)
    return found.reason or found.verdict

  def test_what_a_number_of_the_paper_allows(self):
    self.assertEqual(common.bounds_of('above 67 %'), (67, float('inf')))
    self.assertEqual(common.bounds_of('below 1'), (float('-inf'), 1))
    self.assertEqual(common.bounds_of('0.8 to 1'), (0.8, 1))
    self.assertEqual(common.bounds_of('2'), (1.6, 2.5))
    self.assertEqual(common.bounds_of('1.15'), (1.01, 1.15 * 1.25))
    self.assertEqual(common.bounds_of('0.85'), (0.85 / 1.25, 1 / 1.01))
    self.assertIsNone(common.bounds_of('-'))

  def test_words(self):
    self.assertEqual(self.word('above 1', [1.1, 1.2]), 'agrees')
    self.assertEqual(self.word('above 1', [0.9, 0.8]), 'disagrees')
    self.assertEqual(self.word('above 1', [1.1, 0.9, 1.2]), 'the runs differ')
    self.assertEqual(self.word('2', [1.7, 2.4]), 'agrees')
    self.assertEqual(self.word('2', [1.7, 2.6]), 'the runs differ')
    self.assertEqual(self.word('2', [3]), 'disagrees')

  def test_other_numbers_of_ranks(self):
    self.assertEqual(self.word('above 1', [2], ranks=2048, about=2048), 'agrees')
    for here, word in (([2], 'agrees'), ([0.5], 'disagrees'), ([2, 0.5], 'cannot be told')):
      found = common.judged('a', 'above 1', here, ranks=16, about=2048)
      self.assertEqual((found.verdict, found.scale), (word, 'the paper has 2048 ranks, the run 16'))
    self.assertEqual(common.judged('a', 'above 1', [2], 16, 16).scale, '')

  def test_what_cannot_be_told(self):
    self.assertEqual(self.word('above 1', []), 'not measured')
    found = common.judged('a', 'above 1', [2], reason=common.crowded(8, 2))
    self.assertEqual(found[2:5], ([2], 'cannot be told', 'no machine: 8 ranks shared 2 processors'))
    self.assertEqual(common.crowded(2, 2), '')

  def test_what_the_paper_does_not_say(self):
    self.assertEqual(common.beyond('a', [2])[:4], ('(not in the paper) a', '-', [2], 'no number to compare with'))

  def test_ratios_are_those_of_runs(self):
    panel = {'x': 'n', 'rows': [with_runs('a', {'n': 1}, [1, 2, 4]), with_runs('b', {'n': 1}, [2, 2, 2])]}
    self.assertEqual([round(one, 6) for one in common.speedups(panel, 'a', 'b')], [2, 1, 0.5])
    self.assertEqual(common.speedups(panel, 'a', 'c'), [])

  def test_a_cell_has_the_spread(self):
    self.assertEqual(common.number_of([1.05, 1.2, 1.11]), '1.11 (1.05..1.20)')
    self.assertEqual(common.number_of([1.11]), '1.11')
    self.assertEqual(common.number_of([]), '-')

  def test_runs_are_kept_in_their_order(self):
    row = with_runs('a', {'n': 1}, [3, 1, 2], [6, 4, 5])
    text = stored.nested_text({'a': 1}, 'panels', [{'title': 'b', 'rows': [row]}])
    self.assertEqual(json.loads(text), {'a': 1, 'panels': [{'title': 'b', 'rows': [{'line': 'a', 'n': 1, 'us': [3, 1, 2], 'total_us': [6, 4, 5]}]}]})
    self.assertIn('\n  {"line":"a", "n":1, ', text, 'a row a line')


class Applications(unittest.TestCase):
  def test_claims_of_k_cfa(self):
    whole, sums, ahead, small, follows = claims(KCFA)
    self.assertEqual(([round(one, 6) for one in whole.here], whole.verdict), ([1.15], 'agrees'))
    self.assertEqual((sums.here, ahead.here, small.here), ([1], [0.5], [0.5]))
    self.assertEqual((ahead.verdict, ahead.scale), ('agrees', 'the paper has 4096 ranks, the run 4'))
    self.assertEqual((small.verdict, small.reason), ('cannot be told', 'could not have come out otherwise: N follows from the input, which is ours'))
    self.assertEqual([round(one, 6) for one in follows.here], [0.774597])  # the times are equal but for the first
    self.assertEqual(follows.verdict, 'agrees')

  def test_a_time_that_varies_without_n_does_not_follow_it(self):
    noisy = json.loads(json.dumps(KCFA))
    for row, us in zip(noisy['panels'][0]['rows'], (9, 1, 7, 2)):
      row['us'] = [us]
    self.assertEqual(claims(noisy)[4].verdict, 'disagrees')
    for row in noisy['panels'][0]['rows']:
      row['us'] = [3]
    self.assertEqual(claims(noisy)[4].here, [0])

  def test_falling_behind_needs_the_near_side(self):
    rows = [{'line': line, 'ranks': 4, 'us': us, 'total_us': us} for line, us in (('MPI', [6, 6]), ('two-phase', [9, 9]))]
    behind = {'title': 'b', 'x': 'ranks', 'y': 'us', 'rows': rows}
    for two_phase, word, reason in (([3, 3], 'agrees', ''), ([9, 9], 'disagrees', ''), ([3, 9], 'cannot be told', 'the runs differ')):
      first = json.loads(json.dumps(behind))
      first['rows'][1]['us'] = first['rows'][1]['total_us'] = two_phase
      found = claims(ABOUT | {'application': 'bruck-11', 'panels': [first, behind]})[1]
      self.assertEqual((found.verdict, found.reason, bool(found.note)), (word, reason, word != 'agrees'))

  def test_claims_of_the_closure_are_about_the_whole_with_the_most_ranks(self):
    rows = [{'line': line, 'ranks': ranks, 'us': [us], 'total_us': [total]}
            for line, ranks, us, total in (('MPI', 2, 1, 7), ('two-phase', 2, 9, 7), ('MPI', 4, 1, 6), ('two-phase', 4, 18, 3))]
    data = ABOUT | {'application': 'bruck-11', 'panels': [{'title': 'a', 'x': 'ranks', 'y': 'us', 'rows': rows}] * 2}
    found = claims(data)
    self.assertEqual([[round(one, 6) for one in claim.here] for claim in found[:2]], [[2], [2]])
    self.assertEqual([one.verdict for one in found[:3]], ['disagrees'] * 3)
    self.assertEqual([round(one, 6) for one in found[2].here], [0.5])  # 1 / 18 with 4 ranks, 1 / 9 with 2
    beyond = [claim.text for claim in found if claim.text.startswith('(not in')]
    self.assertEqual(len(beyond), 2 * 2 * 2)  # of each graph, 2 and 4 ranks, in the exchanges and in all

  def heat(self, counts, programs=('heat2d',)):
    def rows():
      return [{'line': line, 'N': n, 'us': [us], 'total_us': [us]}
              for line, us in (('MPI', 20), ('SH-Naive', 12), ('SH-CO', 10), ('Quadrille', 10)) for n in (1, 2)]
    panels = [{'title': f'{program}, {ranks} ranks', 'x': 'N', 'y': 'us', 'ranks': ranks, 'rows': rows()}
              for program in programs for ranks in counts]
    return ABOUT | {'application': 'co-15', 'panels': panels}

  def test_claims_of_the_cache_oblivious_programs(self):
    found = claims(self.heat((2, 60)) | {'processors': 60})
    self.assertEqual([([round(here, 2) for here in one.here], one.verdict) for one in found[:2]], [([1.2], 'agrees'), ([2.0], 'agrees')])
    self.assertIn('(b and 60 ranks here)', found[1].text, 'the MPI at hand, for that of the paper')
    self.assertIn('(60 ranks here)', found[0].text)
    self.assertEqual(found[2].reason, 'not measured: heat3d')
    self.assertEqual([one.verdict for one in found[4:]], 4 * ['no number to compare with'])
    found = claims(self.heat((2, 60)))
    self.assertEqual([round(here, 2) for here in found[0].here], [1.2])
    self.assertEqual(found[0].reason, 'no machine: the claim is about 60 ranks with a processor each; 60 ranks shared 2 processors')
    found = claims(self.heat((2,)))
    self.assertEqual((found[0].verdict, found[0].scale), ('agrees', 'the paper has 60 ranks, the run 2'))

  def test_heat_has_grids_of_all_its_ranks(self):
    for program, sizes in (('heat2d', (300, 600, 1200)), ('heat3d', ())):
      for ranks in map(int, applications.RANKS['co-15'].split(',')):
        grid = applications.cache_oblivious.grid_of(program, ranks)
        self.assertEqual(math.prod(grid), ranks)
        self.assertTrue(all(n % part == 0 for n in sizes for part in grid), grid)
    self.assertRaises(SystemExit, applications.cache_oblivious.grid_of, 'heat2d', 7)

  def test_the_copies_alone(self):
    rows = [{'line': line, 'bytes': size, 'us': [us]} for line, us in (('row', 3), ('morton', 2)) for size in (8, 4096)]
    rows[-1]['us'] = [6]
    data = ABOUT | {'application': 'co-copies', 'panels': [{'title': 'allgather, 72 ranks', 'x': 'bytes', 'y': 'us', 'rows': rows}]}
    self.assertEqual([(round(one.here[0], 6), one.verdict) for one in claims(data)], [(1.5, common.NO_NUMBER), (0.5, common.NO_NUMBER)])

  def test_blocks_have_the_papers_sizes(self):
    for ranks in (2, 8, 60, 72):
      for block in applications.cache_oblivious.CLASSES.values():
        x, y, z = applications.cache_oblivious.extents(ranks, block)
        self.assertEqual((y % ranks, z % ranks, 16 * x * y * z), (0, 0, block * ranks * ranks))

  def alltoall(self, lines, processors=8):
    rows = [{'line': line, 'bytes': size, 'us': [us]} for line, us in lines.items() for size in (256, 512)]
    return ABOUT | {'application': 'hint-12', 'processors': processors, 'panels': [
        {'title': '8 ranks', 'x': 'bytes', 'y': 'us', 'ranks': 8, 'rows': rows}]}

  def found(self, data, beginning):
    return next(one for one in claims(data) if one.text.startswith(beginning))

  def test_claims_against_the_mpis_at_hand(self):
    lines = {'Intel MPI 2021': 10, 'Quadrille on Intel MPI 2021': 2, 'Open MPI 4.1': 1, 'Quadrille on Open MPI 4.1': 2}
    data = self.alltoall(lines)
    intel = 'figure 12, Cascade Lake, 8 ranks: up to so much less time than Intel MPI'
    self.assertEqual(self.found(data, intel)[2:4], ([80], 'agrees'))
    self.assertIn('(here Quadrille against Intel MPI 2021, 256 B)', self.found(data, intel).text)
    self.assertEqual(self.found(data, 'figure 13, Skylake, 8 ranks: up to so much less time than HPC-X')[2:4], ([-100], 'disagrees'))
    self.assertEqual(self.found(data, 'figure 12, Cascade Lake, 8 ranks: up to so much less time than MVAPICH2-X')[2:5],
                     ([], 'cannot be told', 'no machine: no MPICH'))
    self.assertEqual(self.found(data, 'figure 14, AMD, 64 ranks').reason, 'not measured: 64 ranks')
    crowded = self.found(self.alltoall(lines, 2), intel)
    self.assertEqual(crowded[2:5], ([80], 'cannot be told', 'no machine: 8 ranks shared 2 processors'))

  def test_claims_are_about_the_order_of_hint_where_it_was_measured(self):
    data = self.alltoall({'Intel MPI 2021': 10, 'Quadrille on Intel MPI 2021': 2, 'hint-hilbert on Intel MPI 2021': 5})
    found = self.found(data, 'figure 12, Cascade Lake, 8 ranks: up to so much less time than Intel MPI')
    self.assertEqual((found.here, found.verdict), ([50], 'disagrees'))

  def test_each_mpi_that_stands_for_a_rival_has_a_claim(self):
    lines = {f'{of}Open MPI {version}': 2 - bool(of) for version in ('4.1', '5.0') for of in ('', 'Quadrille on ')}
    texts = [one.text for one in claims(self.alltoall(lines)) if one.text.startswith('figure 13, Skylake, 8 ranks') and 'HPC-X' in one.text]
    self.assertEqual(len(texts), 2)
    self.assertIn('against Open MPI 5.0', texts[1])

  def transforms(self, lines):
    rows = [{'line': line, 'points': points, 'grid': grid, 'us': [us], 'total_us': [us]} for line, us in lines.items()
            for grid, points in (('128x256x256', 128 * 256 * 256), ('256x256x512', 256 * 256 * 512))]
    return ABOUT | {'application': 'hint-18', 'processors': 8, 'panels': [
        {'title': '8 ranks', 'x': 'points', 'y': 'us', 'ranks': 8, 'rows': rows}]}

  def test_what_is_said_of_intel_mpi_is_tested_with_intel_mpi(self):
    found = claims(self.transforms({'MPI': 10, 'Quadrille': 9}))
    self.assertEqual(found[0][2:5], ([], 'cannot be told', 'no machine: no Intel MPI'))
    found = claims(self.transforms({'Open MPI 4.1': 1, 'Quadrille on Open MPI 4.1': 1, 'Intel MPI 2021': 100, 'Quadrille on Intel MPI 2021': 95}))
    self.assertEqual(([round(one, 6) for one in found[0].here], found[0].verdict), ([5], 'agrees'))  # 4.8 %
    self.assertEqual(found[2].verdict, 'disagrees')  # 15.1 %

  def test_the_transform_is_compared_with_each_forced_order(self):
    found = claims(self.transforms({'Intel MPI 2021': 100, 'Quadrille on Intel MPI 2021': 50, 'hint-hilbert on Intel MPI 2021': 95,
                                    'hint-row on Intel MPI 2021': 200}))
    self.assertEqual(([round(one, 6) for one in found[0].here], found[0].verdict), ([5], 'agrees'))  # by HINT's order
    beyond = {claim.text.partition(': ')[2]: claim.here for claim in found if claim.text.startswith('(not in')}
    self.assertEqual(len(beyond), 3 * 2)
    self.assertEqual(beyond['time in all, that of Intel MPI 2021 over that of Quadrille on Intel MPI 2021'], [2])
    self.assertEqual(beyond['time in all, that of hint-row on Intel MPI 2021 over that of Quadrille on Intel MPI 2021'], [4])
    self.assertEqual([one.reason for one in found[1:10:2]], 5 * ['no machine: no MVAPICH2-X'])
    self.assertEqual(found[8].reason, 'not measured: 32 ranks')


if __name__ == '__main__':
  unittest.main()
