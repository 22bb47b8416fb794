"""What a test of the matrices exercises, as facts `parameter=value`, from its command and its environment.

  program    the program, and the check that it runs
  ranks      how many
  map        one: one node; the kind of the pretended node map; hosts-in-turn, hosts-in-blocks, hosts-permuted
  nodes      the pretended node map, or the hosts of the ranks
  reach      each allowed way of large blocks inside a node; any: all of them
  memory     of the buffers: private, the shared heap's, a device's (cuda, hip)
  door       api, the preloaded libraries, or run (`quadrille run`)
  setting    NAME=VALUE, without QUADRILLE_
  beside     scripts that run the program, libraries of the tests that are loaded with it, another program
  algorithm  each that is forced
  forced     the same with its collective and its parameters
  argument   of the program, or an option with its value
"""

import pathlib
import re

# Variables that are another fact, or that say how a test runs and not what it exercises.
OTHER_VARIABLES = re.compile(r'QUADRILLE_(ALGORITHM|NODES|REACH|TUNING=none|TEST_(EFFORT|HOSTS|PLACES|DRIVER|LEAST_GRID))$')
VARIABLE = re.compile(r'(QUADRILLE\w*|LD_PRELOAD)=(.*)', re.S)


def parameter(fact):
  return fact.partition('=')[0]


def value(fact):
  return fact.partition('=')[2]


def option_values(command, *names):
  return [following for word, following in zip(command, command[1:]) if word in names]


def variables_of(command, environment):
  found = (VARIABLE.fullmatch(word) for word in [*environment, *command])
  return {match[1]: match[2] for match in found if match}


def ranks_of(command):
  """Of all programs that a launcher starts, or of the hosts."""
  for places in option_values(command, '--places'):
    return len(places.split(','))
  return sum(map(int, option_values(command, '-n', '-np') or option_values(command, '--ranks'))) or 1


def map_of(command, variables):
  for places in option_values(command, '--places'):
    hosts = [int(host) for host in places.split(',')]
    in_turn = [rank % (max(hosts) + 1) for rank in range(len(hosts))]
    return 'hosts-in-turn' if hosts == in_turn else 'hosts-in-blocks' if hosts == sorted(hosts) else 'hosts-permuted'
  if '--hosts' in command:
    return 'hosts-in-blocks' if '--blocked' in command else 'hosts-in-turn'
  return variables.get('QUADRILLE_NODES', 'one').partition(':')[0]


def nodes_of(command, variables):
  return option_values(command, '--places') or [variables.get('QUADRILLE_NODES', 'one')]


def reach_of(variables):
  ways = variables.get('QUADRILLE_REACH', 'any').split(',')
  return {way for word in ways for way in (('cma-read', 'cma-write') if word == 'cma' else (word,))}


def door_of(command, variables):
  libraries = re.findall(r'libquadrille_(mpi\w*)\.so', variables.get('LD_PRELOAD', '').replace('mpix', 'mpi'))
  return '+'.join(libraries) or ('run' if any(word.endswith('/bin/quadrille') for word in command) else 'api')


def beside_of(command, variables):
  scripts = {pathlib.Path(word).name for word in command if re.fullmatch(r'/.*\.(sh|py)', word)}
  libraries = re.findall(r'libquadrille_(?!mpi)(\w+)\.so', ' '.join([variables.get('LD_PRELOAD', ''), *command]))
  others = {'another-program'} if ':' in command else set()
  return (scripts | set(libraries) | others) - {'hosts.py'}


def memory_of(command, environment, door, variables):
  devices = set(re.findall(r'standin[-_](cuda|hip)\b', ' '.join([*command, *environment])))
  devices |= set(option_values(command, '--device')) & {'cuda', 'hip'}
  heap = door != 'api' and variables.get('QUADRILLE_HEAP') != 'off' and variables.get('QUADRILLE') != 'off'
  return devices or {'heap' if heap else 'private'}


def arguments_of(words):
  """An option with the value that follows it is one argument; libraries and folders are left out."""
  found = []
  for word in words:
    if word == ':':  # another program
      break
    if '/lib/' in word:
      continue
    word = re.sub(r'\s+', '_', pathlib.Path(word).name if word.startswith('/') else word)
    if found and found[-1].startswith('--') and '=' not in found[-1] and not word.startswith('-'):
      found[-1] += f'={word}'
    else:
      found.append(word)
  return found


def of(command, environment, build):
  """The facts of a test of the build of that name; none if it runs none of its programs."""
  at = next((at for at, word in enumerate(command) if f'/{build}/bin/' in word and '=' not in word), None)
  if at is None:
    return frozenset()
  program, arguments = pathlib.Path(command[at]).name.removeprefix('quadrille_'), command[at + 1:]
  if program.endswith('_checks') and arguments:
    program, arguments = f'{program}.{arguments[0]}', arguments[1:]
  variables = variables_of(command, environment)
  door = door_of(command, variables)
  forced = [one for one in variables.get('QUADRILLE_ALGORITHM', '').split(';') if one]
  settings = {f'{name.removeprefix("QUADRILLE_")}={re.sub(r"[^!-~]+", "_", text)}' for name, text in variables.items()
              if name != 'LD_PRELOAD' and not OTHER_VARIABLES.match(name) and not OTHER_VARIABLES.match(f'{name}={text}')}
  values = {'program': [program], 'ranks': [ranks_of(command)], 'map': [map_of(command, variables)],
            'nodes': nodes_of(command, variables), 'reach': reach_of(variables),
            'memory': memory_of(command, environment, door, variables), 'door': [door],
            'setting': settings, 'beside': beside_of(command, variables),
            'algorithm': {re.split('[=:]', one)[1] for one in forced}, 'forced': forced,
            'argument': {f'{program}:{one}' for one in arguments_of(arguments)}}
  return frozenset(f'{name}={one}' for name, some in values.items() for one in some)
