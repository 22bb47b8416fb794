#!/usr/bin/env python3
"""The data of `quadrille report` are those of tests/tools/report_program.c, and the page holds them and asks for nothing else.

    report_page.py DATA PAGE ACTION RANKS [NODES]     # ACTION: what the program was told

Numbers are computed here from what the program's source says.
"""
import json
import os
import re
import sys

INT, DOUBLE = 4, 8


def data_of(page):
  text = open(page, encoding='utf-8').read()
  outside = [word for word in re.findall(r'https?://[^\s"\'<)]*', text) if word != 'http://www.w3.org/2000/svg']
  assert not outside, outside
  for word in ('<link', 'src=', '@import', 'fetch(', 'url(h'):
    assert word not in text, word
  return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def zeros(ranks):
  return [[0] * ranks for _ in range(ranks)]


def uneven(ranks, calls):
  return [[sum((a + 2 * b + c) % 5 for c in range(calls)) * INT for b in range(ranks)] for a in range(ranks)]


def plus(*matrices):
  return [[sum(cells) for cells in zip(*rows)] for rows in zip(*matrices)]


def same(ranks, bytes_of_pair):
  return [[bytes_of_pair] * ranks for _ in range(ranks)]


def ring(ranks, block):
  matrix = zeros(ranks)
  for r in range(ranks):
    matrix[r][(r - 1) % ranks] += block
    matrix[r][(r + 1) % ranks] += block
  return matrix


def all_of(data, collective, form):
  return [call for call in data['calls'] if call['collective'] == collective and call['form'] == form]


def only(data, collective, form='blocking', least=None, calls=None):
  found = [call for call in all_of(data, collective, form) if
           (least is None or call['least'] == least) and (calls is None or call['calls'] == calls)]
  assert len(found) == 1, (collective, form, least, calls, found)
  return found[0]


def names(call):
  return {by['name'] for by in call['by']}


def check_call(data, call, calls, bytes_of_all, least, most):
  assert call['calls'] == calls, (call['calls'], calls)
  assert call['bytes'] == bytes_of_all, (call['bytes'], bytes_of_all)
  assert (call['least'], call['most']) == (least, most), (call['least'], call['most'])
  assert 0 <= call['seconds'][0] <= call['seconds'][1] <= call['seconds'][2], call['seconds']
  assert call['seconds'][1] > 0 and 0 < call['timed'] <= 1, call
  # One that found no room for its name is in no row.
  assert sum(by['calls'] for by in call['by']) <= calls + 1e-9 and call['by'], call['by']


def check_names(data, first, others):
  """What carried calls out is known where they are like earlier ones, of another place or size, that went the whole way."""
  if len(set(data['node_of'])) > 1 and os.environ.get('QUADRILLE') != 'off':
    return  # of each size the first calls try several ways
  expected = 'inbox'
  if os.environ.get('QUADRILLE') == 'off':
    expected = 'mpi'
  elif 'QUADRILLE_ALGORITHM' in os.environ:
    expected = os.environ['QUADRILLE_ALGORITHM'].split('=')[1]
  for call in [first] + others:
    assert names(call) == {expected} and call['by'][0]['calls'] == call['calls'], (call, expected)


def check_first(data, ranks):
  """The calls that all actions make: on the world."""
  first, vector = only(data, 'alltoall', least=16 * INT, calls=100), only(data, 'alltoallv')
  check_call(data, first, 100, 100 * 16 * INT * ranks * ranks, 16 * INT, 16 * INT)
  others = [only(data, 'alltoall', least=count * INT, calls=20) for count in (16, 5)]
  for other, count in zip(others, (16, 5)):
    check_call(data, other, 20, 20 * count * INT * ranks * ranks, count * INT, count * INT)
  check_names(data, first, others)
  moved = uneven(ranks, 50)
  check_call(data, vector, 50, sum(map(sum, moved)), 0, 4 * INT)
  assert first['communicator'] == vector['communicator'] and first['told'] == ranks, first
  assert 'report_program' in first['where']['object'] or 'report_program' in first['where']['line'], first['where']
  # The last calls whose number is a power of two, with their own counts.
  assert [sample['call'] for sample in vector['samples']] == [32, 16], vector['samples']
  for sample in vector['samples']:
    c = sample['call'] - 1
    assert sample['bytes'] == [[(a + 2 * b + c) % 5 * INT for b in range(ranks)] for a in range(ranks)], sample
  return plus(same(ranks, (120 * 16 + 20 * 5) * INT), moved)


def check_all(data, ranks):
  matrix = check_first(data, ranks)
  world = data['communicators'][only(data, 'alltoallv')['communicator']]
  matrix = plus(matrix, same(ranks, 5 * 4 * INT))
  assert only(data, 'alltoall', 'nonblocking')['calls'] == 5
  assert world['bytes'] == matrix, world['bytes']
  assert world['world_ranks'] == list(range(ranks)) and world['told'] == ranks

  one = only(data, 'alltoall', least=INT)
  check_call(data, one, 30, 30 * INT * ranks * ranks, INT, INT)
  assert data['communicators'][one['communicator']]['made'] == 30, data['communicators'][one['communicator']]
  matrix = plus(matrix, same(ranks, 30 * INT))

  gathers = [call for call in data['calls'] if call['collective'] == 'allgather']
  assert sorted(data['communicators'][call['communicator']]['name'] for call in gathers) == ['even', 'odd'], gathers
  for call in gathers:
    half = data['communicators'][call['communicator']]
    members = len(half['world_ranks'])
    check_call(data, call, 20, 20 * 8 * DOUBLE * members * members, 8 * DOUBLE, 8 * DOUBLE)
    assert half['bytes'] == same(members, 20 * 8 * DOUBLE), half
    for a in half['world_ranks']:
      for b in half['world_ranks']:
        matrix[a][b] += 20 * 8 * DOUBLE

  around = only(data, 'neighbor_alltoall')
  check_call(data, around, 10, 10 * 2 * 3 * INT * ranks, 3 * INT, 3 * INT)
  assert data['communicators'][around['communicator']]['bytes'] == ring(ranks, 30 * INT)
  matrix = plus(matrix, ring(ranks, 30 * INT))
  assert data['traffic']['bytes'] == matrix, 'the traffic of all communicators'
  assert data['finished'] == ranks and not any(data['left_out'].values()), data['left_out']


def check_many(data, ranks):
  """80 communicators with 10 sizes each: 64 and 256 have room. No call is lost."""
  assert len(data['communicators']) == 64, len(data['communicators'])
  assert sum(call['calls'] for call in data['calls']) == 800
  assert sum(call['bytes'] for call in data['calls']) == 80 * 1023 * INT * ranks * ranks
  others = [call for call in data['calls'] if call['communicator'] < 0]
  assert len(others) == 1 and others[0]['calls'] == 800 - (256 - 12), others
  assert data['left_out']['communicators'] > 0 and data['left_out']['entries'] > 0


def check_full(data, ranks):
  """280 sizes on 28 communicators, and then Alltoallv on two ranks, and on all: of these there is no room for a row."""
  assert sum(call['calls'] for call in data['calls'] if call['collective'] == 'alltoall') == 280
  others = only(data, 'alltoallv')
  assert others['communicator'] < 0 and not others['samples'], others
  world = next(one for one in data['communicators'] if one['name'] == 'MPI_COMM_WORLD')
  assert world['world_ranks'] == list(range(ranks)), world
  assert world['bytes'] == uneven(ranks, 15), world
  assert data['left_out']['entries'] > 0 and data['left_out']['communicators'] == 0, data['left_out']


def check_names_of_communicators(data):
  """One is cut where it has no room, but not in a character; one has nothing of that which stood there before."""
  assert sorted(one['name'] for one in data['communicators']) == ['p', 15 * chr(0xfc)], data['communicators']
  # The argument is no UTF-8.
  assert data['command'][-1] == 'gr' + chr(0xfffd) + 'n', data['command']


def check_replay(data):
  cases, advice = data['replay']['cases'], data['advice']
  measured = [case for case in cases if 'times' in case]
  # Which calls took the most time, and for how many there is time, is the machine's affair.
  assert measured and advice, (cases, advice)
  for case in measured:
    first, second = case['times'][:2]
    assert (first['name'], second['name']) == ('mpi', 'default') and second['by'], case
    for time in case['times']:
      assert time['microseconds'] > 0, time
      for ratio in ('to_mpi', 'to_default'):
        assert ratio not in time or 0 < time[ratio][0] <= time[ratio][1] <= time[ratio][2], time
    assert all('to_default' in time and time['saved'] >= 0 for time in case['times'][2:]), case
    form = data['calls'][case['call']]['form']
    assert form == 'blocking' or len(case['times']) == 2 and case['times'][1]['saved'] == 0, case
  halves = [case for case in cases if data['calls'][case['call']]['collective'] == 'allgather']
  assert not halves or len(halves) == 1 and len(halves[0]['calls']) == 2, halves
  for case in cases:
    call = data['calls'][case['call']]
    if call['least'] == INT:
      assert 'why' in case, case
  # Whatever was set in the run, Quadrille chooses.
  set_in_run = [f'{name}={os.environ[name]}' for name in ('QUADRILLE', 'QUADRILLE_ALGORITHM') if name in os.environ]
  assert data['replay']['without'] == set_in_run, (data['replay']['without'], set_in_run)
  assert set(set_in_run) <= set(data['settings']), data['settings']
  assert any(case['times'][1]['by'] != 'mpi' for case in measured), measured
  if 'QUADRILLE_ALGORITHM' in os.environ:
    collective, forced = os.environ['QUADRILLE_ALGORITHM'].split('=')
    by = [case['times'][1]['by'] for case in measured if data['calls'][case['call']]['collective'] == collective]
    assert forced not in by, (by, forced)
  assert any(len(case['times']) > 2 for case in measured), measured


NEIGHBOR_CALLS = 200


def graphs(ranks):
  """Of each communicator the sources and destinations of its ranks, edge by edge, and the bytes along those to destinations."""
  last, after = [[(r - 1) % ranks] for r in range(ranks)], [[(r + 1) % ranks] for r in range(ranks)]
  width = ranks // 2  # of the grid of two rows
  def doubled(r, side):
    row, column = divmod(r, width)
    rows, columns = [(1 - row) * width + column] * 2, [row * width + (column + step) % width for step in (side, -side)]
    return rows + columns
  line = [[(r - 1, r + 1), ((r + 1) * INT, (r + 2) * INT)] for r in range(ranks)]
  inside = lambda r: [k for k in (0, 1) if 0 <= line[r][0][k] < ranks]
  leaves = [0] * (ranks - 1)
  return {
      'ring': ([[(r + 1) % ranks, (r - 1) % ranks] for r in range(ranks)],
               [[(r - 1) % ranks, (r + 1) % ranks] for r in range(ranks)], [[3 * INT] * 2 for _ in range(ranks)]),
      'line': ([[line[r][0][k] for k in reversed(inside(r))] for r in range(ranks)],
               [[line[r][0][k] for k in inside(r)] for r in range(ranks)], [[line[r][1][k] for k in inside(r)] for r in range(ranks)]),
      'doubled': ([doubled(r, 1) for r in range(ranks)], [doubled(r, -1) for r in range(ranks)],
                  [[5 * DOUBLE] * 4 for _ in range(ranks)]),
      'skewed': ([last[r] + ([0] if r == 2 else []) for r in range(ranks)], [after[r] + ([2] if r == 0 else []) for r in range(ranks)],
                 [[(r + 1) * INT] + ([2 * DOUBLE] if r == 0 else []) for r in range(ranks)]),
      'star': ([list(range(1, ranks))] + [[0] for _ in leaves], [list(range(1, ranks))] + [[0] for _ in leaves],
               [[2 * DOUBLE] * (ranks - 1)] + [[2 * DOUBLE] for _ in leaves]),
      'after': ([[]] + last[1:], after[:-1] + [[]], [[(r + 1) * INT] for r in range(ranks - 1)] + [[]]),
      'mixed': ([2 * one for one in last], [2 * one for one in after], [[INT, 2 * INT] for _ in range(ranks)]),
  }


def check_neighbors(data, ranks):
  """Lists of neighbours and counts are those of the program; what can be made again is, and of the rest it is said why not."""
  communicators = {one['name']: number for number, one in enumerate(data['communicators'])}
  calls = {call['communicator']: number for number, call in enumerate(data['calls'])}
  assert len(calls) == len(data['calls']) == 8, data['calls']
  for name, (sources, destinations, sizes) in graphs(ranks).items():
    call = data['calls'][calls[communicators[name]]]
    assert data['communicators'][communicators[name]]['made'] == 1, name
    assert data['communicators'][communicators[name]]['neighbors'] == {'sources': sources, 'destinations': destinations}, (
        name, data['communicators'][communicators[name]]['neighbors'])
    all_sizes = sum(sizes, [])
    check_call(data, call, NEIGHBOR_CALLS, NEIGHBOR_CALLS * sum(all_sizes), min(all_sizes), max(all_sizes))
    uniform = call['collective'] in ('neighbor_alltoall', 'neighbor_allgather')
    assert [sample['call'] for sample in call['samples']] == ([] if uniform else [128, 64]), (name, call['samples'])
    assert all(sample['bytes'] == sizes for sample in call['samples']), (name, call['samples'])
  changed = data['communicators'][communicators['changed']]
  assert changed['made'] == 2 and 'different neighbours' in changed['neighbors']['why'], changed


def had_time(case):
  """Whether it was made again: what does not fit into the budget is not, on a machine that is busy."""
  return 'no time' not in case.get('why', '')


def check_neighbors_again(data, ranks):
  cases = {data['communicators'][data['calls'][case['call']]['communicator']]['name']: case for case in data['replay']['cases']}
  reasons = {'changed': 'different neighbours', 'mixed': 'different sizes'}
  for name, case in cases.items():
    if name in reasons:
      assert reasons[name] in case['why'], case
      continue
    if not had_time(case):
      continue
    assert 'why' not in case, (name, case)
    first, second = case['times'][:2]
    assert (first['name'], second['name']) == ('mpi', 'default'), case
    assert all(time['microseconds'] > 0 for time in case['times']), case
    if len(set(data['node_of'])) == 1:
      assert second['by'] == 'rings' and len(case['times']) > 2, case
    elif data['calls'][case['call']]['collective'] not in ('neighbor_alltoall', 'neighbor_allgather'):
      # Nobody knows all sizes, so nothing is combined, and under `quadrille run` the MPI's own is left alone.
      assert second['by'] == 'mpi', case
  # Which calls took the most time is the machine's affair.
  assert len(cases.keys() - reasons.keys()) >= 2, cases


REQUESTS = {('alltoallv', 'nonblocking'), ('allgather', 'nonblocking'), ('neighbor_alltoall', 'nonblocking'),
            ('alltoallv', 'blocking'), ('allgather', 'blocking')}
PERSISTENT = [('alltoall', 'persistent'), ('alltoall', 'started')] * 2  # where the MPI has them: of two sizes


def check_requests(data, ranks):
  """Calls that are started and waited for are made again so, by the MPI and by Quadrille alone; nobody knows what they save."""
  kinds = sorted((call['collective'], call['form']) for call in data['calls'])
  assert kinds in (sorted(REQUESTS), sorted([*REQUESTS, *PERSISTENT])), kinds
  assert all(call['calls'] == 100 or call['form'] == 'persistent' for call in data['calls']), data['calls']
  for elements, made in ((2, 100), (6, 1)) if len(kinds) > len(REQUESTS) else ():
    size = elements * INT
    check_call(data, only(data, 'alltoall', 'persistent', least=size), made, 0, size, size)
    check_call(data, only(data, 'alltoall', 'started', least=size), 100, 100 * size * ranks * ranks, size, size)
  vector = only(data, 'alltoallv', 'nonblocking')
  sizes = [[(a + b) * INT for b in range(ranks)] for a in range(ranks)]
  check_call(data, vector, 100, 100 * sum(map(sum, sizes)), 0, 2 * (ranks - 1) * INT)
  assert [sample['bytes'] for sample in vector['samples']] == [sizes, sizes], vector['samples']
  if 'replay' not in data:
    return
  cases = data['replay']['cases']
  # Which calls took the most time is the machine's affair.
  assert all('its starts' in case['why'] for case in cases if data['calls'][case['call']]['form'] == 'persistent'), cases
  assert cases, data['replay']
  cases = [case for case in cases if data['calls'][case['call']]['form'] not in ('blocking', 'persistent')]
  for case in filter(had_time, cases):
    assert [time['name'] for time in case['times']] == ['mpi', 'default'], case
    assert all(time['microseconds'] > 0 for time in case['times']), case
    assert case['times'][1]['by'] not in ('', 'nothing') and case['times'][1]['saved'] == 0, case


def check_own(data, ranks):
  """What no MPI has is recorded. The sparse exchange, and what takes its place in a stream, are not made again."""
  calls, double = 30, 8
  sparse = only(data, 'exchange', least=INT)
  check_call(data, sparse, calls, calls * INT * sum(range(1, ranks)), INT, (ranks - 1) * INT)
  check_call(data, only(data, 'exchange', least=0), calls, 0, 0, 0)
  assert sparse['by'] and sparse['by'][0]['name'].startswith(('consensus', 'bruck')), sparse['by']
  enqueued = only(data, 'alltoall', 'enqueued')
  check_call(data, enqueued, calls, calls * ranks * ranks * 4 * double, 4 * double, 4 * double)
  check_own_requests(data, ranks)
  assert len(data['calls']) == 16, data['calls']
  whys = {(data['calls'][case['call']]['collective'], data['calls'][case['call']]['form']): case['why']
          for case in data['replay']['cases'] if 'why' in case}
  # Which calls took the most time is the machine's affair.
  assert whys, data['replay']
  for (collective, form), why in whys.items():
    assert form != 'enqueued' or "a device's stream" in why, whys
    assert (collective, form) != ('exchange', 'blocking') or 'no MPI has' in why, whys


def check_own_requests(data, ranks):
  """Requests by Quadrille's names as they are made, and their starts in a stream, each with the blocks of its request."""
  starts, double = 20, 8
  check_call(data, only(data, 'alltoall', 'nonblocking'), starts, starts * 2 * INT * ranks * ranks, 2 * INT, 2 * INT)
  pairs = [[(a + b) * 2 * INT for b in range(ranks)] for a in range(ranks)]
  of_all, most = sum(map(sum, pairs)), 2 * (ranks - 1) * 2 * INT
  made = max(all_of(data, 'alltoallv', 'persistent'), key=lambda call: call['most'])
  started = only(data, 'alltoallv', 'enqueued')
  check_call(data, made, 1, 0, 0, most)
  check_call(data, started, starts, starts * of_all, 0, most)
  assert [sample['call'] for sample in started['samples']] == [16, 8], started['samples']
  assert all(sample['bytes'] == pairs for sample in started['samples']), started['samples']
  assert names(started) == names(made) and names(made) <= {'rings', 'messages'}, (started, made)
  assert started['where'] != made['where'], started['where']

  alone_and_with_another = all_of(data, 'alltoallv', 'started')
  assert len(alone_and_with_another) == 2, alone_and_with_another
  for host in alone_and_with_another:
    check_call(data, host, starts, starts * of_all / 2, 0, most / 2)
    assert names(host) == names(made), (host, made)
  check_call(data, only(data, 'alltoall', 'started'), starts, starts * 3 * double * ranks * ranks, 3 * double, 3 * double)
  around = only(data, 'neighbor_alltoallv', 'enqueued')
  to_the_next = INT * sum(range(1, ranks))
  check_call(data, around, starts, starts * to_the_next, 0, (ranks - 1) * INT)
  line = data['communicators'][around['communicator']]
  matrix = zeros(ranks)
  for rank in range(ranks - 1):
    matrix[rank][rank + 1] = (rank + 1) * INT * starts
  assert line['name'] == 'line' and line['bytes'] == matrix, line

  known = only(data, 'allgather', 'enqueued')
  check_call(data, known, starts / 2, starts / 2 * 3 * double * ranks * ranks, 3 * double, 3 * double)
  assert data['communicators'][known['communicator']]['name'] == 'gone', known
  # Starts after it was freed have no place of their own.
  rest = only(data, 'allgather')
  assert rest['communicator'] < 0 and rest['calls'] == starts / 2, rest


def main(data_file, page, action, ranks, nodes=1):
  data = json.load(open(data_file, encoding='utf-8'))
  assert data_of(page) == data, 'the page holds other data than --data'
  ranks = int(ranks)
  assert data['ranks'] == data['told'] == ranks and all(data['hosts']), data['hosts']
  assert len({data['node_of'][r] for r in range(ranks)}) == int(nodes), data['node_of']
  assert all(0 < calls <= whole * 1.01 for calls, whole in zip(data['in_calls'], data['seconds'])), (data['in_calls'], data['seconds'])
  told = sum(call['seconds'][1] * call['told'] for call in data['calls'])
  assert abs(told - sum(data['in_calls'])) <= 1e-9 * told, (told, data['in_calls'])
  assert all(0 <= call['error'] and (call['timed'] < 1 or call['error'] == 0) for call in data['calls']), data['calls']
  assert all(0 < scale <= 1 for scale in data['scale']), data['scale']
  assert all(0 < own <= whole for own, whole in zip(data['recording'], data['seconds'])), (data['recording'], data['seconds'])
  if action == 'replay':
    check_all(data, ranks)
    check_replay(data)
  elif action == 'all':
    check_all(data, ranks)
  elif action == 'many':
    check_many(data, ranks)
  elif action == 'full':
    check_full(data, ranks)
  elif action == 'neighbors':
    check_neighbors(data, ranks)
    if 'replay' in data:
      check_neighbors_again(data, ranks)
  elif action == 'requests':
    check_requests(data, ranks)
  elif action == 'own':
    check_own(data, ranks)
  elif action == 'names':
    check_names_of_communicators(data)
  else:
    check_first(data, ranks)
    assert data['finished'] == 0
  print(f'{len(data["calls"])} rows as they should be')


if __name__ == '__main__':
  main(*sys.argv[1:])
