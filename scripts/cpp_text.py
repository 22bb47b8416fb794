"""C++ as text: the functions that files define, and what a call means. Without a compiler.

A name that is called means the definition in the same file, or else the same room, or else another room, as far as the
included headers show it. A name with several meanings in the nearest of these is left out.
"""

import collections
import functools
import re

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(.*)$', re.MULTILINE)
INCLUDE_FORM = re.compile(r'^(?:"([^"]+)"|<([^>]+)>)')
NO_CALLS = {
    'alignas', 'alignof', 'assert', 'catch', 'constexpr', 'decltype', 'for', 'if', 'noexcept', 'requires', 'return',
    'sizeof', 'static_assert', 'switch', 'while'
}
NAME = re.compile(r'(?<![\w.])((?:[A-Za-z_]\w*::)*~?[A-Za-z_]\w*)\s*\(')
QUALIFIER = re.compile(r'\s*(const\b|noexcept\b|override\b|final\b|&&?|->[\w\s:<>&*,]+(?=\{))')
MEMBER_INIT = re.compile(r'\s*[:,]?\s*[\w:]+(?:<[^(){};]*>)?\s*(?=[({])')
CALL = re.compile(r'(?<!\w)((?:[A-Za-z_]\w*::)*)([A-Za-z_]\w*)\s*(?:<[^<>(){};]*>)?\s*\(')
BRACKETS = {'(': re.compile(r'[()]'), '{': re.compile(r'[{}]')}

Definition = collections.namedtuple('Definition', 'file name body')


def code_of(text):
  """Without comments, texts and directives of the preprocessor."""
  text = re.sub(r'/\*.*?\*/|//[^\n]*', ' ', text, flags=re.DOTALL)
  text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
  text = re.sub(r"(?<!\w)'(?:\\.|[^'\\\n])+'", '0', text)
  return re.sub(r'^[ \t]*#(?:.*\\\n)*.*$', '', text, flags=re.MULTILINE)


def behind(code, at):
  """The place behind the bracket that closes the one at `at`."""
  depth = 0
  for bracket in BRACKETS[code[at]].finditer(code, at):
    depth += 1 if bracket[0] == code[at] else -1
    if depth == 0:
      return bracket.end()
  return len(code)


def body_behind(code, at):
  """Where the body of a function begins whose parameters end at `at`; None if it has none."""
  while found := QUALIFIER.match(code, at):
    at = found.end()
  if re.compile(r'\s*:(?!:)').match(code, at):
    while found := MEMBER_INIT.match(code, at):
      at = behind(code, found.end())
  found = re.compile(r'\s*\{').match(code, at)
  return found.end() - 1 if found else None


def definitions(file, code):
  at = 0
  while found := NAME.search(code, at):
    at = found.end()
    if found[1].split('::')[-1] in NO_CALLS:
      continue
    close = behind(code, at - 1)
    if (begin := body_behind(code, close)) is not None:
      at = behind(code, begin)
      yield Definition(file, found[1], code[close:at])


def room_of(file):
  return file.split('/')[0]


def stem_of(file):
  return file.rsplit('.')[0]


class Code:
  """Texts, by file, with the functions that they define. `rooms`: what qualifies a name. `by_table`: what a function
  calls beside what its text says. `left_out`: functions that no call means."""

  def __init__(self, texts, rooms, by_table, left_out):
    self.rooms, self.by_table, self.left_out = rooms, by_table, left_out
    self.files = {file: code_of(text) for file, text in texts.items()}
    self.includes = {
        file: [name[1] for written in INCLUDE.findall(text) if (name := INCLUDE_FORM.match(written)) and name[1] in texts]
        for file, text in texts.items()
    }
    self.by_name = collections.defaultdict(list)
    for file, code in self.files.items():
      for one in definitions(file, code):
        self.by_name[one.name.split('::')[-1]].append(one)
    self.declared_in = collections.defaultdict(set)
    for file, code in self.files.items():
      for name in re.findall(r'(\w+)\s*\(', code) if file.endswith('.hpp') else ():
        self.declared_in[name].add(file)

  @functools.cache
  def seen_from(self, file):
    """The file and all headers that it includes."""
    seen, todo = {file}, [file]
    while todo:
      new = [header for header in self.includes[todo.pop()] if header not in seen]
      seen.update(new)
      todo += new
    return seen

  def meant(self, file, names, name):
    """The definitions that a call of a name in a file may mean; several only of one header and source."""
    headers = self.seen_from(file)

    def is_seen(one):
      return one.file in headers or any(room_of(h) == room_of(one.file) for h in self.declared_in[name] & headers)

    room = next((part for part in reversed(names.split('::')) if part in self.rooms), None)
    found = [one for one in self.by_name[name] if is_seen(one) and room in (None, room_of(one.file))]
    for nearest in ([one for one in found if stem_of(one.file) == stem_of(file)],
                    [one for one in found if room_of(one.file) == room_of(file)], found):
      if nearest:
        return nearest if len({stem_of(one.file) for one in nearest}) == 1 else []
    return []

  @functools.cache
  def called_by(self, definition):
    called = set(self.by_name[self.by_table.get(definition.name)])
    for names, name in CALL.findall(definition.body):
      if name not in NO_CALLS and name not in self.left_out:
        called.update(self.meant(definition.file, names, name))
    return called

  def reached_from(self, first):
    reached, todo = {first}, [first]
    while todo:
      new = self.called_by(todo.pop()) - reached
      reached |= new
      todo += new
    return reached
