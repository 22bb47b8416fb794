#!/usr/bin/env python3
"""Which pairs of what a test can exercise no row of tests/rows.txt has; tests/uncovered.txt has the reasons.

  pairs.py check QUADRILLE      name what neither a row has nor a reason, and reasons without need (exit status 1)
  pairs.py list QUADRILLE       count what each reason covers

QUADRILLE is the tool: its lists are the registry of algorithms and the table of settings. The parameters are

  collective, algorithm   each of the registry; a pair of them where the registry has it
  form                    blocking, nonblocking, persistent, enqueued
  types                   contiguous, with-gaps, unlike (of another layout where it is received)
  ranks, map, reach, memory, setting, MPI     as in facts.py; of a setting its name, and each of its words

Each value must be in a row, and each pair of values of two parameters. tests/uncovered.txt says why of all others; of pairs
under `drawn`, a random program of scripts/fuzz.py has both values. What a program does by itself is in
PROGRAMS and FORCING: the rows of one program share its cases, and count for all of them.
"""

import collections
import fnmatch
import itertools
import json
import re
import subprocess
import sys

import facts
import fuzz_settings
import rows

UNCOVERED = rows.ROOT / 'tests' / 'uncovered.txt'
DENSE = ('alltoall', 'alltoallv', 'alltoallw', 'allgather', 'allgatherv')
NEIGHBORS = ('neighbor_alltoall', 'neighbor_alltoallv', 'neighbor_alltoallw', 'neighbor_allgather', 'neighbor_allgatherv')
FORMS = ('blocking', 'nonblocking', 'persistent', 'enqueued')
TYPES = ('contiguous', 'with-gaps', 'unlike')
MAPS = ('one', *sorted(set(re.findall(r'kind == "(\w+)"', (rows.ROOT / 'src' / 'plan' / 'problem.cpp').read_text()))),
        'hosts-in-turn', 'hosts-in-blocks', 'hosts-permuted')
MEMORIES = ('private', 'heap', 'cuda', 'hip')
# Settings that are parameters of their own.
OWN = {'ALGORITHM', 'NODES', 'REACH'}
# What programs do, whatever the environment: (program, collectives, forms, types).
PROGRAMS = [
    ('(mpi|dropin|large|large_blocking)_tests', DENSE, FORMS[:1], TYPES),
    ('(forced|grid_nodes)_tests', DENSE, FORMS[:1], TYPES[:1]),
    ('(large_started|taken_started|started)_tests', DENSE + NEIGHBORS, FORMS[1:2], TYPES),
    ('(large_persistent|taken_persistent|persistent)_tests', DENSE + NEIGHBORS, FORMS[2:3], TYPES),
    ('neighbor_(dropin_|large_)?tests', NEIGHBORS, FORMS[:1], TYPES),
    ('neighbor_tests', ('neighbor_allgatherw',), FORMS[2:3], TYPES),
    ('sparse_tests', ('exchange',), FORMS[:1], TYPES[:2]),
    ('request_tests|taken_check', DENSE[:1], FORMS[1:3], TYPES[:1]),
    ('device_aware_tests', (), FORMS[:3], TYPES),
    (r'api_checks\.enqueued_pull', DENSE, FORMS[3:], TYPES[:2]),
    ('enqueue_check', DENSE[:3], FORMS[3:], TYPES[:1]),
    ('fuzz', DENSE + NEIGHBORS, FORMS[:3], TYPES[:1]),  # other types are left out of calls that the MPI may carry out
    ('fuzz_served', DENSE + NEIGHBORS, FORMS[:3], TYPES),
]
# So many random programs are looked at, at most, with up to so many ranks.
MOST_DRAWN, MOST_RANKS = 20_000, 9
# Programs that force algorithms one after the other: (program, file with their names, or None: those of the registry for
# DENSE that a filter leaves).
FORCING = [
    ('(mpi|forced|started|persistent|large_blocking|large_started|large_persistent)_tests', None),
    ('neighbor_tests|(started|persistent)_tests', 'neighbor_test.cpp'),
    ('sparse_tests', 'sparse_test.cpp'),
]


def words_of(setting):
  """{a value of the parameter `setting`: the texts that mean it}: its words but the default; its name for all else."""
  name = setting['name'].removeprefix('QUADRILLE_')
  words = re.split(', ?', setting['values'])
  found = {f'{name}={word}': {word, {'on': '1', 'off': '0'}.get(word)} for word in words
           if word.islower() and word != setting['default'].split(' ')[0]}
  return found | ({name: set()} if any(word.isupper() for word in words) else {})


class Registry:
  """What the tool lists: (algorithm, collective) with the names that tests have for it, and values of settings."""

  def __init__(self, algorithms, settings):
    self.pairs = collections.defaultdict(set)
    for algorithm in algorithms:
      for collective in algorithm['collectives']:
        self.pairs[algorithm['name'], collective] |= test_names(algorithm, collective)
    self.settings = {value: texts for setting in settings for value, texts in words_of(setting).items()
                     if value.partition('=')[0] not in OWN}
    self.ways = next(setting['values'] for setting in settings if setting['name'] == 'QUADRILLE_REACH').split(',')

  def setting(self, text):
    """The value that NAME=TEXT has; None for one that no user has, as those of stand-ins."""
    name, _, text = text.partition('=')
    of_name = [value for value in self.settings if value.partition('=')[0] == name]
    return next((value for value in of_name if text in self.settings[value]), name if name in of_name else None)

  def values(self):
    """{parameter: its values}, but for those that the tests alone know."""
    return {'collective': {collective for _, collective in self.pairs}, 'algorithm': {name for name, _ in self.pairs},
            'form': set(FORMS), 'types': set(TYPES), 'map': set(MAPS), 'memory': set(MEMORIES),
            'reach': {'any', *self.ways} - {'cma'}, 'setting': set(self.settings), 'MPI': {rows.MAIN, rows.SPINNING}}


def test_names(algorithm, collective):
  """How tests/mpi/choices.cpp calls the tests of an algorithm."""
  texts = [algorithm['name']] if not algorithm['parameters'] else []
  for parameter in algorithm['parameters']:
    named = parameter.get('names') or {min(max(number, parameter['least']), parameter['most'])
                                       for number in (parameter['least'], parameter['standard'], 3, 16)}
    texts += [f'{algorithm["name"]}:{parameter["name"]}={value}' for value in named]
  return {f'All/.{re.sub("[^0-9a-zA-Z]", "_", f"{collective}_{text}")}' for text in texts}


def leaves(filters, names):
  """Whether a filter of googletest leaves one of these tests."""
  wanted, _, unwanted = filters.partition('-')

  def among(name, patterns):  # `All/Vector*` is taken for `All/*`
    patterns = (re.sub(r'^All/\w+\*$', 'All/*', pattern) for pattern in patterns.split(':') if pattern)
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

  return any((not wanted or among(name, wanted)) and not among(name, unwanted) for name in names)


def named_in(file):
  """The algorithms that a test program has in a list of its own."""
  source = (rows.ROOT / 'tests' / 'mpi' / file).read_text()
  lists = re.findall(r'(?:algorithms\[\] = \{|Sparse, testing::Values\()([^;]*?)[})]', source)
  return {name.partition(':')[0] for text in lists for name in re.findall('"([^"]*)"', text)} - {''}


def forces(program, filters, registry):
  """{(algorithm, collective)} that a program forces by itself."""
  found = set()
  for expression, file in FORCING:
    if not re.fullmatch(expression, program):
      continue
    if file is None:
      found |= {pair for pair, names in registry.pairs.items() if pair[1] in DENSE and leaves(filters, names)}
    else:
      names = named_in(file)
      found |= {pair for pair in registry.pairs if pair[0] in names and pair[1] not in DENSE}
  return found


def exercised(build, row, registry):
  """{parameter: values} of a row, and the pairs of an algorithm and a collective."""
  by = collections.defaultdict(set, MPI={build})
  for fact in row:
    by[facts.parameter(fact)].add(facts.value(fact))
  program = next(iter(by['program']))
  filters = next((one.partition(rows.FILTER)[2] for one in by['argument'] if rows.FILTER in one), '')
  forced = {(re.split('[=:]', one)[1], one.partition('=')[0]) for one in by['forced']} | forces(program, filters, registry)
  found = {name: by[name] for name in ('MPI', 'ranks', 'map', 'reach', 'memory')}
  found['setting'] = {registry.setting(one) for one in by['setting']} - {None}
  found['algorithm'], found['collective'] = {name for name, _ in forced}, {collective for _, collective in forced}
  found['form'], found['types'] = set(), set()
  for expression, collectives, forms, types in PROGRAMS:
    if re.fullmatch(expression, program):
      found['collective'] |= set(collectives)
      found['form'] |= set(forms)
      found['types'] |= set(types)
  return found, forced


def values_and_pairs(build, row, registry):
  """What a row has: tuples of one or two `parameter=value`."""
  found, forced = exercised(build, row, registry)
  of = {name: sorted(f'{name}={value}' for value in some) for name, some in found.items()}
  ones = sorted(itertools.chain.from_iterable(of.values()))
  together = set(itertools.combinations(ones, 2)) - set(itertools.product(of['algorithm'], of['collective']))
  served = {(f'algorithm={name}', f'collective={collective}') for name, collective in forced}
  return {(one,) for one in ones} | together | served


def uncovered(stored, registry):
  """The values, and the pairs of values, that no row has: tuples of one or two `parameter=value`."""
  have, values = set(), registry.values()
  for (build, _), row in stored.items():
    if build in values['MPI']:
      have |= values_and_pairs(build, row, registry)
      values.setdefault('ranks', set()).update(facts.value(one) for one in row if facts.parameter(one) == 'ranks')
  every = sorted(f'{name}={value}' for name, some in values.items() for value in some)
  missing = {(one,) for one in every} - have
  known = [one for one in every if (one,) not in missing]
  served = {(f'algorithm={name}', f'collective={collective}') for name, collective in registry.pairs}
  missing |= {pair for pair in itertools.combinations(known, 2)
              if pair not in have and facts.parameter(pair[0]) != facts.parameter(pair[1])
              and (pair in served or not are_of({'algorithm', 'collective'}, pair))}
  return missing


def drawn(pairs, registry, by_collective):
  """Those of the pairs that a random program has. by_collective: as of fuzz_settings.algorithms()."""
  left = set(pairs)
  for seed in range(MOST_DRAWN):
    if not left:
      break
    case = fuzz_settings.draw_case(rows.SPINNING, seed, by_collective, 1, MOST_RANKS)
    program = 'fuzz_served' if '--served' in case.arguments else 'fuzz'
    command = ['-n', str(case.ranks), '/bin/quadrille', 'run', '--', f'/{rows.SPINNING}/bin/quadrille_{program}']
    row = facts.of(command, [f'{name}={value}' for name, value in case.settings.items()], rows.SPINNING)
    left -= values_and_pairs(rows.SPINNING, row, registry)
  return set(pairs) - left


def are_of(parameters, pair):
  return {facts.parameter(one) for one in pair} == parameters


def reasons(text):
  """[(patterns, why)] of the lines of tests/uncovered.txt."""
  lines = (line.partition(': ') for line in text.splitlines() if line and not line.startswith('#'))
  return [(patterns.split(), why.strip()) for patterns, _, why in lines]


def fits(pattern, one):
  name, _, values = pattern.partition('=')
  return fnmatch.fnmatchcase(facts.parameter(one), name) and any(
      fnmatch.fnmatchcase(facts.value(one), value) for value in values.split('|'))


def matches(patterns, ones):
  return len(patterns) == len(ones) and any(all(map(fits, patterns, order)) for order in itertools.permutations(ones))


def judged(missing, given, random=frozenset()):
  """{number of a reason: what it covers}; under None what has no reason. The first that matches counts; `drawn` matches
  what is in `random`."""
  def holds(patterns, ones):
    return ones in random if patterns == ['drawn'] else matches(patterns, ones)

  found = collections.defaultdict(list)
  for ones in sorted(missing):
    found[next((at for at, (patterns, _) in enumerate(given) if holds(patterns, ones)), None)].append(ones)
  return found


def problems(missing, given, random=frozenset()):
  found = judged(missing, given, random)
  lines = [(' '.join(patterns), why, found[at]) for at, (patterns, why) in enumerate(given)]
  return ([f'no row has {" with ".join(ones)}, and tests/uncovered.txt has no reason' for ones in found[None]] +
          [f'tests/uncovered.txt: nothing needs {line}' for line, _, covered in lines if not covered] +
          [f'tests/uncovered.txt: {line} has no reason' for line, why, _ in lines if not why])


def main(words):
  if len(words) != 2 or words[0] not in ('check', 'list'):
    print(__doc__)
    return 2
  def listed(*what):
    answer = subprocess.run([words[1], 'list', *what, '--json'], check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)

  registry = Registry(listed(), listed('--settings'))
  missing, given = uncovered(rows.read(), registry), reasons(UNCOVERED.read_text())
  random = drawn(judged(missing, given)[None], registry, fuzz_settings.algorithms(words[1]))
  if words[0] == 'list':
    for at, ones in judged(missing, given, random).items():
      print(len(ones), 'without a reason' if at is None else given[at][1])
  wrong = problems(missing, given, random)
  print('\n'.join(wrong[:100]) or f'each value and pair is in a row, but for {len(missing)} with a reason')
  return 1 if wrong else 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
