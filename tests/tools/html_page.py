#!/usr/bin/env python3
"""The page of `quadrille show --html`: its moves bring every block to where it belongs, and are those of `quadrille show`.

    html_page.py TOOL PAGE

The page's own script is not used. What its numbers mean stands in tool/plans/show_html.hpp.
"""
import collections
import json
import re
import subprocess
import sys

SEND, RECV, SCRATCH = range(3)
MOST_BYTES = 2_000_000


def data_of(page):
  text = open(page, encoding='utf-8').read()
  assert len(text.encode()) < MOST_BYTES, f'{len(text)} bytes'
  outside = [word for word in re.findall(r'https?://[^\s"\'<)]*', text) if word != 'http://www.w3.org/2000/svg']
  assert not outside, outside
  for word in ('<link', 'src=', '@import', 'fetch(', 'url(h'):
    assert word not in text, word
  data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))
  for collective in data['collectives']:
    for algorithm in collective['algorithms']:
      algorithm['cases'] = [{'parameters': '', 'place': 'one node', **case} for case in algorithm['cases']]
  return data


def span_of(play, number):
  owned, buffer = divmod(number, 3)
  owner, block = divmod(owned, play['stride'])
  return owner, buffer, block


def pairs(blocks):
  return zip(blocks[::2], blocks[1::2])


def check_form(play, ranks, node_of, neighbors):
  """Nobody writes a send buffer; messages leave their sender and reach their receiver; copies stay on a node."""
  sizes = (play['sends'], play['receives'], play['scratch'])
  for step in play['steps']:
    assert step, 'an empty step'
    for by, to, blocks in step:
      for number_from, number_to in pairs(blocks):
        source, target = span_of(play, number_from), span_of(play, number_to)
        for owner, buffer, block in (source, target):
          assert 0 <= owner < ranks and 0 <= block < sizes[buffer], (owner, buffer, block)
        assert target[1] != SEND, 'a send buffer is written'
        if to >= 0:
          assert (source[0], target[0]) == (by, to), 'a message reaches into another rank'
        elif not neighbors:
          assert node_of[source[0]] == node_of[target[0]] == node_of[by], 'a copy leaves its node'


def replay(play, ranks):
  held = {(rank, SEND, block): (rank, block) for rank in range(ranks) for block in range(play['sends'])}
  for step in play['steps']:
    for _, _, blocks in step:
      for number_from, number_to in pairs(blocks):
        held[span_of(play, number_to)] = held[span_of(play, number_from)]  # a KeyError: nothing lies there
  return held


def rank_behind(place, rank, offset):
  point = []
  for extent in reversed(place['extents']):
    rank, at = divmod(rank, extent)
    point.insert(0, at)
  behind = 0
  for extent, at, by in zip(place['extents'], point, offset):
    behind = behind * extent + (at - by) % extent
  return behind


def wanted(collective, algorithm, place, rank, i):
  """The block that recv block i of a rank must be; None: it is not touched."""
  if collective['neighbors']:
    return rank_behind(place, rank, place['offsets'][i]), 0 if collective['gather'] else i
  if algorithm['between_nodes'] and place['node_of'][rank] == place['node_of'][i]:
    return None
  return i, 0 if collective['gather'] else rank


def check_case(data, collective, algorithm, case):
  play, ranks = data['plays'][case['play']], case['ranks']
  place = data['places'][f"{ranks} {case['place']}"]
  check_form(play, ranks, place['node_of'], collective['neighbors'])
  held = replay(play, ranks)
  for rank in range(ranks):
    for i in range(play['receives']):
      got, want = held.get((rank, RECV, i)), wanted(collective, algorithm, place, rank, i)
      assert got == want, f'recv[{i}] of rank {rank} is {got}, not {want}'


def blocks_in_text(words):
  """'send[1], scratch[3..2]' as (buffer, block)."""
  found = []
  for name, first, last in re.findall(r'(send|recv|scratch)\[(\d+)(?:\.\.(\d+))?\]', words):
    first, last = int(first), int(last or first)
    step = 1 if last >= first else -1
    found += [(('send', 'recv', 'scratch').index(name), block) for block in range(first, last + step, step)]
  return tuple(found)


def messages_of_show(tool, collective, algorithm, case):
  choice = algorithm['name'] + (':' + case['parameters'] if case['parameters'] else '')
  command = [tool, 'show', '--collective', collective['name'], '--algorithms', choice, '--ranks', str(case['ranks'])]
  if collective['neighbors']:
    command += ['--neighborhood', case['place']]
  elif case['place'] != 'one node':
    command += ['--node-map', case['place']]
  sends, receives, copies, me = collections.Counter(), collections.Counter(), 0, None
  for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
    if found := re.match(r'rank (\d+) of', line):
      me = int(found.group(1))
    elif found := re.match(r'  send  to (\d+): (.*)', line):
      sends[me, int(found.group(1)), blocks_in_text(found.group(2))] += 1
    elif found := re.match(r'  recv  from (\d+): (.*)', line):
      receives[int(found.group(1)), me, blocks_in_text(found.group(2))] += 1
    elif found := re.match(r'  copy  (.*) -> ', line):
      copies += len(blocks_in_text(found.group(1)))
  return sends, receives, copies


def check_against_show(tool, data, collective, algorithm, case):
  play = data['plays'][case['play']]
  sends, receives, copies = collections.Counter(), collections.Counter(), 0
  for step in play['steps']:
    for by, to, blocks in step:
      if to < 0:
        copies += len(blocks) // 2
        continue
      sends[by, to, tuple(span_of(play, number)[1:] for number in blocks[::2])] += 1
      receives[by, to, tuple(span_of(play, number)[1:] for number in blocks[1::2])] += 1
  assert (sends, receives, copies) == messages_of_show(tool, collective, algorithm, case), 'not what quadrille show says'


def main(tool, page):
  data = data_of(page)
  cases, shown, failures = 0, 0, []
  for collective in data['collectives']:
    assert collective['algorithms'], collective['name']
    for algorithm in collective['algorithms']:
      for i, case in enumerate(algorithm['cases']):
        name = f"{collective['name']} {algorithm['name']}:{case['parameters']}, {case['ranks']} ranks, {case['place']}"
        try:
          check_case(data, collective, algorithm, case)
          # Each program start takes its time: a few cases of each algorithm.
          if i % 37 == 3:
            check_against_show(tool, data, collective, algorithm, case)
            shown += 1
        except (AssertionError, KeyError) as problem:
          failures.append(f'{name}: {problem!r}')
        cases += 1
  start = data['start']
  drawn = [case for collective in data['collectives'] if collective['name'] == start['collective']
           for algorithm in collective['algorithms'] if algorithm['name'] == start['algorithm'] for case in algorithm['cases']]
  if not any(all(case[key] == start[key] for key in ('parameters', 'ranks', 'place')) for case in drawn):
    failures.append(f'it begins with {start}, which it does not hold')
  print('\n'.join(failures[:20]))
  print(f'{cases} cases replayed, {shown} compared with quadrille show, {len(failures)} wrong')
  return 1 if failures or cases < 500 or shown < 20 else 0


if __name__ == '__main__':
  sys.exit(main(*sys.argv[1:]))
