#!/usr/bin/env python3
"""prose.py sees what it is for: each pattern its wrong line and not its right one, and prose, literals and links as they are."""

import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'scripts'))
import docs_links  # noqa: E402
import prose  # noqa: E402


def tree(files):
  """A folder with these files, {name: text}."""
  folder = tempfile.TemporaryDirectory()
  for name, text in files.items():
    path = pathlib.Path(folder.name) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
  return folder


class Patterns(unittest.TestCase):
  def test_each_matches_its_wrong_line_alone(self):
    for pattern in prose.PATTERNS:
      self.assertTrue(re.search(pattern.regex, pattern.wrong), pattern)
      self.assertFalse(re.search(pattern.regex, pattern.right), pattern)

  def test_right_lines_match_nothing(self):
    for pattern in prose.PATTERNS:
      self.assertEqual([], prose.matches(pattern.right), pattern)


class Texts(unittest.TestCase):
  def test_code_of_a_page_is_not_prose(self):
    page = '# Head\n\nA `b c` text\nof two lines.\n\n    under way\n\n```\nunder way\n```\n\n- an item\n  goes on\n\n| a | b |\n|---|---|\n'
    self.assertEqual([text for _, text in prose.prose_of(page)],
                     ['Head', 'A CODE text of two lines.', 'an item goes on', 'a', 'b'])

  def test_long_sentences(self):
    long = ' '.join(['word'] * (prose.LONGEST_SENTENCE + 1))
    self.assertEqual(len(prose.long_sentences(f'Short. {long}.\n')), 1)
    self.assertEqual(prose.long_sentences(f'{long.removesuffix(" word")}.\n\n    {long}\n'), [])

  def test_literals_are_joined_and_comments_left_out(self):
    self.assertEqual([text for _, text in prose.literals_of_cpp('say("not to "\n    "be had", "one", R"(raw text)");')],
                     ['not to be had', 'raw text'])
    self.assertEqual(prose.literals_of_cpp('// "a comment"\n/* "b c" */ char c = \'"\'; int d = 1\'000\'000; // "e f"'), [])
    self.assertEqual([text for _, text in prose.literals_of_cpp('"\\"crowded\\": {} and {}"')], [' {} and {}'])

  def test_words_are_seen_wherever_they_are_read(self):
    files = {'README.md': 'Calls under way.\n', 'CONTRIBUTING.md': 'x\n', 'docs/a.md': 'It is not to be had.\n',
             'tool/a.cpp': 'say("calls under way"); // under way\n', 'python/quadrille/a.py': 'X = "is under way"  # under way\n',
             'include/a.h': '/* pending, under way */ int a;\n', 'src/a.hpp': 'int under_way;\n',
             'examples/a/a.cpp': 'int a;  // pending\n\n// calls under\n// way\nint b;\n', 'examples/a/README.md': 'Calls under way.\n'}
    with tree(files) as folder:
      found = prose.bad_words(pathlib.Path(folder))
    self.assertEqual([line.split(':')[0] for line in found],
                     ['README.md', 'docs/a.md', 'examples/a/README.md', 'tool/a.cpp', 'python/quadrille/a.py', 'python/quadrille/a.py',
                      'examples/a/a.cpp', 'include/a.h'])

  def test_readers_follow_the_links_of_their_page(self):
    files = {'README.md': 'one two [c](docs/c.md)\n', 'docs/a.md': 'three [b](b.md#x) [web](https://b.md)\n', 'docs/b.md': 'four\n',
             'docs/c.md': 'five\n'}
    with tree(files) as folder:
      root = pathlib.Path(folder).resolve()
      self.assertEqual([path.name for path in prose.reading(root, 'docs/a.md')], ['README.md', 'a.md', 'b.md'])
      self.assertEqual(sum(map(prose.words_in, prose.reading(root, 'docs/a.md'))), 7)

  def test_links_in_comments_are_seen(self):
    page = 'docs' + '/a.md'  # this file is looked at, too
    code = f'// see {page}#one-head,\n// {page}#none\nint a;  // {page[:5]}b.md.\nf("{page[:5]}c.md");\n'
    files = {'docs/a.md': '# One head\n', 'src/a.cpp': code}
    with tree(files) as folder:
      root = pathlib.Path(folder)
      self.assertEqual(list(docs_links.broken_names(root / 'src/a.cpp', root)),
                       [f'src/a.cpp: {page}#none: no such heading', f'src/a.cpp: {page[:5]}b.md: no such file'])


if __name__ == '__main__':
  unittest.main()
