#!/usr/bin/env python3
"""What scripts/fuzz_settings.py draws for each parameter of each algorithm is a value that it takes.

  settings_test.py TOOL
"""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'scripts'))
import fuzz_settings  # noqa: E402

TIMES = 200


def wrong_values(name, parameter):
  for seed in range(TIMES):
    value = fuzz_settings.draw_value(random.Random(f'{name} {seed}'), parameter)
    good = value in parameter['names'] if 'names' in parameter else parameter['least'] <= value <= parameter['most']
    good = good or (value == 0 and parameter['automatic'])
    if not good:
      yield f'{name}: {parameter["name"]}={value}'


def main(tool):
  algorithms = fuzz_settings.algorithms(pathlib.Path(tool))
  known = {name: parameters for of_one in algorithms.values() for name, parameters in of_one}
  wrong = [one for name, parameters in known.items() for parameter in parameters for one in wrong_values(name, parameter)]
  print('\n'.join(wrong))
  return 1 if wrong or len(known) < 20 else 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1]))
