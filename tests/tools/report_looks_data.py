#!/usr/bin/env python3
"""From the data of one `quadrille report`, others that are hard to draw: report_looks_data.py DATA FOLDER writes NAME.json there."""
import copy
import json
import os
import sys


def long_names(data):
  """Names without a place to break, of calls that differ in their communicator or blocks alone."""
  name = 'quantum::transpose<' + 'std::complex<double>,' * 12 + 'void>' + 'x' * 150
  data['command'] = ['mpirun', '/scratch/' + 'deep/' * 60 + 'program' + 'y' * 200]
  data['settings'] = ['QUADRILLE_ALGORITHM=alltoall=' + 'z' * 120]
  for call in data['calls']:
    call['where'] = {'object': 'lib' + 'o' * 100 + '.so', 'symbol': name, 'line': 'l' * 100 + '.cpp:1'}
  for number, one in enumerate(data['communicators']):
    one['name'] = 'c' * 120 + str(number)
  for one in data.get('replay', {}).get('cases', []):
    one['why'] = 'w' * 300
  data['advice'] = [{'text': 't' * 300, 'lines': ['export QUADRILLE_ALGORITHM=' + 'a' * 300]}]


def same_calls(data):
  """Calls that no name tells apart, the last of them with hardly any time."""
  first = data['calls'][0]
  data['calls'] = [copy.deepcopy(first) for _ in range(9)]
  for call in data['calls'][1:]:
    call['seconds'] = [1e-9, 1e-9, 1e-9]


def ranks_of(count):
  def many_ranks(data):
    data['ranks'] = data['told'] = data['finished'] = count
    data['hosts'] = [f'node{rank // 8}' for rank in range(count)]
    data['node_of'] = [rank // 8 for rank in range(count)]
    data['seconds'] = [1.0] * count
    # One rank has most of the time: the bars of the others are low.
    data['in_calls'] = [0.5 if rank == 5 else 1e-6 for rank in range(count)]
    for key, value in (('in_calls_error', 0.0), ('scale', 1.0), ('recording', 1e-5)):
      data[key] = [value] * count
    data['traffic'] = {'bin': 1, 'bytes': [[0 if (a + b) % 3 else 1 + a * b for b in range(count)] for a in range(count)]}
    del data['communicators'][1:]
    data['communicators'][0].update(ranks=count, told=count, world_ranks=list(range(count)), bin=1, bytes=None)
    data['calls'] = [dict(call, communicator=0, told=count) for call in data['calls']]
  return many_ranks


def ranks_and_calls(data):
  """More ranks than bars, and calls that look the same."""
  ranks_of(301)(data)
  same_calls(data)


def nothing(data):
  """Calls without time, bytes and repeats, of one rank."""
  ranks_of(1)(data)
  data['in_calls'], data['seconds'] = [0.0], [0.0]
  data['traffic']['bytes'] = [[0]]
  data['calls'] = []
  data.pop('replay', None)
  data['advice'] = []


def main():
  source, folder = sys.argv[1:]
  with open(source, encoding='utf-8') as file:
    data = json.load(file)
  for name, change in {'long': long_names, 'ranks64': ranks_of(64), 'ranks301': ranks_and_calls, 'nothing': nothing}.items():
    changed = copy.deepcopy(data)
    change(changed)
    with open(os.path.join(folder, name + '.json'), 'w', encoding='utf-8') as file:
      json.dump(changed, file)


main()
