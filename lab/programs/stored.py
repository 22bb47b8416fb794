"""Stored results: JSON with a head, and one row per line. Measured values have four significant digits."""

import json
import math
import pathlib

DIGITS = 4


def short(value, digits=DIGITS):
  """The value rounded to this number of digits, also inside lists and objects. Integers stay."""
  if isinstance(value, float):
    if not math.isfinite(value) or value == 0:
      return value
    rounded = float(f'{value:.{digits}g}')
    return int(rounded) if rounded.is_integer() and abs(rounded) >= 10 ** (digits - 1) else rounded
  if isinstance(value, dict):
    return {key: short(one, digits) for key, one in value.items()}
  return [short(one, digits) for one in value] if isinstance(value, (list, tuple)) else value


def line_of(value):
  return json.dumps(value, ensure_ascii=False, separators=(', ', ':'))


def text_of(head, rows, digits=DIGITS):
  """`rows` is a list, or {name: list} for several tables."""
  tables = rows if isinstance(rows, dict) else {'rows': rows}
  parts = [f'{line_of(key)}: {line_of(value)}' for key, value in head.items()]
  for name, table in tables.items():
    lines = ',\n  '.join(line_of(short(row, digits)) for row in table)
    parts.append(f'{line_of(name)}: [\n  {lines}\n ]' if table else f'{line_of(name)}: []')
  return '{' + ',\n '.join(parts) + '}\n'


def nested_text(head, name, parts):
  """The same for several named parts, each with its own head and rows."""
  texts = [text_of({key: value for key, value in part.items() if key != 'rows'}, part['rows']).strip() for part in parts]
  return text_of(head, []).replace('"rows": []', f'{line_of(name)}: [' + ',\n '.join(texts) + ']')


def store(path, head, rows, digits=DIGITS):
  path = pathlib.Path(path)
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_text(text_of(head, rows, digits), encoding='utf-8')


def load(path):
  return json.loads(pathlib.Path(path).read_text(encoding='utf-8'))
