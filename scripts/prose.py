#!/usr/bin/env python3
"""Checks the words that users read: the documents, the help texts and errors in the sources, and the comments of examples.

  prose.py             print every match of PATTERNS, every long sentence, and the words of each reader; fails if there is any, or
                       if a reader has more words than the limit
  prose.py --counts    print the counts alone

A pattern has an example that it must match and an example that it must not match (tests/docs/prose_test.py).
"""

import ast
import dataclasses
import pathlib
import re
import sys

import docs_links

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What is read. To add pages or sources, add a line.
PAGES = [
    'README.md',
    'CONTRIBUTING.md',
    'python/README.md',
    'docs/*.md',
    'examples/*/README.md',
]
SOURCES = [  # folders; the string literals that contain a blank
    'tool',
    'src',
    'report',
    'python/quadrille',
    'examples',
    'include',
]
COMMENTS = {'python', 'examples', 'include'}  # the comments, too; those of include become the manual pages of section 3

LONGEST_SENTENCE = 28
GENERATED = re.compile(r'^docs/(algorithms|cli)\.md$|^docs/results/')  # reference; not among the words of a reader
# {reader: (first page, most words today)}: README, this page, and every page that it links to. Lower the numbers with the pages.
MOST = 2500  # words of a reader
READERS = {
    'user of a cluster': 'docs/cluster.md',
    'Python user': 'docs/python.md',
    'GPU user': 'docs/gpu.md',
    'contributor': 'CONTRIBUTING.md',
}
MOST_OF_ALL = 25000  # README, CONTRIBUTING and docs without results


@dataclasses.dataclass(frozen=True)
class Pattern:
  regex: str
  instead: str
  wrong: str  # a line that matches
  right: str  # a line that does not


# Phrases of the house first, then ordinary words in the sense of the house.
PATTERNS = [
    Pattern(r'\bunder way\b', 'in flight, pending', 'pairs of messages under way', 'pairs of messages in flight'),
    Pattern(r'\b(to be|cannot be|can be) had\b', 'unavailable, not supported', 'xpmem is not to be had: no library',
            'xpmem is unavailable: no library'),
    Pattern(r'\b(pass(es|ed|ing)?( (it|them|blocks|calls))?|hand(s|ed)?) on\b(?! (a|all|every|each) )', 'forward', 'the call is passed on to the MPI',
            'the test passed on all MPIs with 4 ranks'),
    Pattern(r'(\bcalls?|\bthem|\d|\{\}) passed\b(?! on all)', 'forwarded', '{} served, {} passed to the MPI',
            'all tests passed on all MPIs'),
    Pattern(r'\bpass through([.,;]|$)', 'forward', 'its signals pass through', 'blocks pass through other ranks'),
    Pattern(r'\bhow manieth\b', 'sequence number', 'how manieth call it is', 'its sequence number'),
    Pattern(r'\bkin\b', 'variant of', 'an algorithm and its kin', 'a variant of an algorithm'),
    Pattern(r'\bcrowded\b', 'oversubscribed', 'on crowded nodes', 'on oversubscribed nodes'),
    Pattern(r'\b(go|goes|going|went|gone|carry|carries|carried) on( with| by| in| only| alone|[,.;:]|$)', 'make progress, continue',
            'the calls go on by a thread', 'the option goes on the command line'),
    Pattern(r'\b(for|of|by|and|than|wakes?|so|lets?|is) who\b|\bwho (waits|sleeps|changes|calls|enters|is late|sends|writes)\b',
            'a noun: "a waiting rank"', 'it wakes who sleeps', 'users who call it'),
    Pattern(r'\bas many as suits?\b|\bas suits\b', 'as many as needed; automatic', '0: as many as suit', '0: automatic'),
    Pattern(r'\bso many (times|ranks|bytes|nodes|messages|calls|microseconds|seconds|blocks|words)\b(?! that)|\bfor so many\b',
            'the number: "N bytes"', 'messages of at most so many bytes', 'there are so many ranks that rings do not fit'),
    Pattern(r'\b(the other way(?! round)|goes another way)\b', 'fall back to', 'a call goes the other way', 'the other way round'),
    Pattern(r'\bthere is none\b|\bis none(?= of|$|[.;,])', 'unavailable, not supported', '{} is for grids, and {} is none',
            'none is available'),
    Pattern(r'(?<!here )\bis no (?!(longer|more|less|faster|better|reason|need|way|point|guarantee|difference)\b)[a-z]', 'is not a',
            "'{}' is no size", 'there is no size; the time is no longer than before'),
    Pattern(r'\bmeans nothing\b|\bis meant\?', 'unknown variable; did you mean?', '{} means nothing; {} is meant?',
            'unknown variable {}; did you mean {}?'),
    Pattern(r'\b(is|are|stands?) in the way\b|\bin the way (it|which)\b', 'what is wrong', 'what is in the way, and what to do',
            'what is wrong and how to fix it'),
    Pattern(r'\bover the host\b|\bover memory of the host\b', 'through host memory', 'the data go over the host',
            'the data are staged through host memory'),
    Pattern(r'\bnobody\b', 'no rank, no thread', 'one rank has nobody to exchange with', 'one rank has no peer'),
    Pattern(r'\bfor want of\b', 'without', 'for want of memory', 'because memory is exhausted'),
    Pattern(r'\bround in circles\b', 'livelock', 'a plan that goes round in circles', 'a livelock'),
    Pattern(r'\btwins?\b', 'identical plans', 'plans that are twins', 'identical plans'),
    Pattern(r'\b(seats?|(?<!vector )lanes?)\b', 'channel', 'each pair has its own lane', 'each pair has its own channel'),
    Pattern(r'(?i)\bbeliev\w+', 'pretend, assume', 'believe in a node map', 'pretend a node map'),
    Pattern(r'^(May|Does|Let|Say|Of)\b(?! you\b)', 'an imperative or a noun: Print, Report, Whether', 'Say what was chosen',
            'Print what was chosen'),
    Pattern(r'\bsuch as `?(quadrille|mpirun|srun|--)', 'for example', 'a command such as mpirun -n 4', 'a launcher, for example mpirun'),
    Pattern(r'\b(do|does|did) not tell\b', 'does not reveal', 'a script does not tell its MPI', 'a script does not reveal its MPI'),
    Pattern(r'\bremember(s|ed)?\b', 'cached', 'calls that are remembered', 'cached calls'),
    Pattern(r'\b(are|is|were|be|been|was|to be) made again\b|\bmak(e|es|ing) (the calls|them|calls|what) again\b', 'replay',
            'the calls were made again', 'run the benchmark again'),
    Pattern(r'\bkept (calls?|plans?|types?|requests?|from)\b|\b(is|are) kept for (later|another)\b', 'cached', 'kept from another communicator',
            'the file is kept when a job ends'),
    Pattern(r'\b(ranks?|blocks?|messages?|peers?|steps?|nodes?|goes?|copies|data) away\b', 'between nodes', 'ranks away cost more',
            'data that move away from rank 0'),
    Pattern(r'\btaken (calls?|requests?)\b|\b(requests?|calls?) (that )?(is|are|was|were) taken\b', 'interposed', 'a request that was taken',
            'the time taken by a request'),
    Pattern(r'\b(told|tell|telling) (apart|from)\b|\b(ranks?|leaders?|others) (is|are|was|were) told\b', 'distinguish',
            'alpha and beta not told apart', 'users are told how'),
    Pattern(r'\b(set up|made|kept|put|lie far|live) apart\b|\bput off\b', 'separate; deferred', 'the set-up is put off',
            'heaps that lie 64 GiB apart'),
    Pattern(r'\b(trial|rank|call|tuner|size|communicator)s?\'?s? verdicts?\b|\bverdicts? (of|on|about) (a |the )?(trial|call|rank|size)',
            'decision, result', "the trial's verdict", 'the verdict on a claim of a paper'),
    Pattern(r'\b(it|this|that|what|which|MPI|library|rank|table|driver|program) (says|said) (so|of itself|that it takes|what)\b|\bsays the\b',
            'reports; the fact', 'the MPI says that it takes such memory', 'the MPI reports support for device memory'),
    Pattern(r'\bone\'s own\b|\bof its own accord\b', 'custom; automatically', "offsets (one's own)", 'custom offsets'),
]


def matches(text):
  """[(pattern, the words that match)] of a piece of text."""
  return [(pattern, found[0]) for pattern in PATTERNS for found in re.finditer(pattern.regex, text)]


# ---- Markdown ----

def prose_of(page):
  """[(line, text)] of a page: paragraphs, headings, items and cells, without code."""
  pieces, fenced, opened = [], False, False
  for number, line in enumerate(page.splitlines(), 1):
    if line.lstrip().startswith('```'):
      fenced, opened = not fenced, False
      continue
    is_item = re.match(r'\s*([-*]|\d+\.) ', line)
    if fenced or not line.strip() or re.match(r'[|\s:-]+$', line):
      opened = opened and bool(line.strip()) and not fenced
      continue
    if line.startswith('    ') and not is_item and not opened:
      continue  # code
    if line.lstrip().startswith('|'):
      pieces += [(number, cell.strip()) for cell in re.split(r'(?<!\\)\|', line.strip())[1:-1] if cell.strip()]
      opened = False
    elif line.startswith('#') or is_item or not opened:
      pieces.append((number, re.sub(r'^\s*(#+|[-*]|\d+\.) ', '', line)))
      opened = not line.startswith('#')
    else:
      pieces[-1] = (pieces[-1][0], f'{pieces[-1][1]} {line.strip()}')
  return [(number, plain(piece)) for number, piece in pieces]


def plain(text):
  """Without links, emphasis and code; a span of code counts as a word."""
  text = re.sub(r'`[^`]*`', 'CODE', text)
  text = re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', text)
  return re.sub(r'<[^>]*>', '', text).replace('**', '').strip()


def sentences(text):
  return [one for one in re.split(r'(?<=[.?!:;])\s+(?=[\'"(]?[A-Z0-9])', text) if one]


def long_sentences(page):
  return [(line, one) for line, text in prose_of(page) for one in sentences(text) if len(one.split()) > LONGEST_SENTENCE]


# ---- Sources ----

CPP = re.compile(r'''//[^\n]*|/\*.*?\*/|R"(\w*)\((.*?)\)\1"|"((?:[^"\\\n]|\\.)*)"|(?<!\w)'(?:[^'\\\n]|\\.)+\'''', re.S)


KEY = re.compile(r'"[a-z_]+":')  # of a file of JSON, whose format has it


def literals_of_cpp(text):
  """[(line, text)]: literals that follow each other are one."""
  found, end = [], None
  for token in CPP.finditer(text):
    literal = token[2] if token[2] is not None else token[3]
    if literal is None:
      continue
    literal = KEY.sub('', literal.replace('\\n', '\n').replace('\\"', '"'))
    if end is not None and not text[end:token.start()].strip():
      found[-1] = (found[-1][0], found[-1][1] + literal)
    else:
      found.append((text.count('\n', 0, token.start()) + 1, literal))
    end = token.end()
  return [(line, literal) for line, literal in found if ' ' in literal.strip()]


def literals_of_python(text):
  """[(line, text)] with the docstrings, which `help()` prints."""
  return [(node.lineno, node.value) for node in ast.walk(ast.parse(text))
          if isinstance(node, ast.Constant) and isinstance(node.value, str) and ' ' in node.value.strip()]


def comments_of(text, mark):
  """[(line, text)]: lines that follow each other are one. `mark` begins a comment."""
  comment = re.compile(rf'(?m)(?:^[ \t]*{mark}(?: .*)?\n)+|(?<=\S)[ \t]+{mark} .*$|/\*[\s\S]*?\*/')
  return [(text.count('\n', 0, one.start()) + 1, re.sub(rf'(?m)^\s*({mark}|/\*|\*(?!/)) ?|\s*\*/', '', one[0]))
          for one in comment.finditer(text)]


def texts_of_page(text):
  """[(line, text)] of HTML with its scripts: what stands between tags, and literals that contain a blank."""
  text = re.sub(r'(?m)^[ \t]*//[^\n]*|/\*.*?\*/|<!--.*?-->|<style>.*?</style>', lambda one: '\n' * one[0].count('\n'), text, flags=re.S)
  scripts = list(re.finditer(r'<script[^>]*>(.*?)</script>', text, re.S)) or [re.match(r'(.*)', text, re.S)] * ('<html' not in text)
  found = [(text.count('\n', 0, script.start(1) + one.start()) + 1, re.sub(r'\$\{[^}]*\}|<[^>]*>', '', one[0][1:-1]))
           for script in scripts for one in re.finditer(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`[^`]*`", script[1])]
  if '<html' in text:
    body = re.sub(r'<script[^>]*>.*?</script>', lambda one: '\n' * one[0].count('\n'), text, flags=re.S)
    found += [(body.count('\n', 0, one.start(1)) + 1, one[1]) for one in re.finditer(r'>([^<>]+)<', body)]
  return [(line, one) for line, one in found if ' ' in one.strip()]


READ = {'.html': texts_of_page, '.js': texts_of_page, '.py': literals_of_python, **dict.fromkeys(('.cpp', '.hpp', '.c', '.h'), literals_of_cpp)}


# ---- All ----

def pages(root):
  return [path for pattern in PAGES for path in sorted(root.glob(pattern))]


def sources(root):
  return [path for folder in SOURCES for path in sorted((root / folder).rglob('*')) if path.suffix in READ]


def pieces_of(path, root):
  text = path.read_text()
  if path.suffix == '.md':
    return prose_of(text)
  with_comments = path.relative_to(root).parts[0] in COMMENTS
  return READ[path.suffix](text) + (comments_of(text, '#' if path.suffix == '.py' else '//') if with_comments else [])


def bad_words(root):
  found = []
  for path in pages(root) + sources(root):
    for line, text in pieces_of(path, root):
      found += [f"{path.relative_to(root)}:{line}: '{words}': {pattern.instead}" for pattern, words in matches(' '.join(text.split()))]
  return found


def bad_sentences(root):
  return [f'{path.relative_to(root)}:{line}: {len(one.split())} words: {one[:60]}...'
          for path in pages(root) if not GENERATED.search(str(path.relative_to(root)))
          for line, one in long_sentences(path.read_text())]


def words_in(path):
  return len(path.read_text().split())


def reading(root, first):
  """The pages of a reader: README, the first one, and those that it links to."""
  linked = docs_links.LINK.findall(docs_links.FENCE.sub('', (root / first).read_text()))
  names = [(root / first).parent / target.partition('#')[0] for target in linked if not re.match(r'[a-z]+:|#', target)]
  found = {root / 'README.md', root / first} | {path.resolve() for path in names if path.suffix == '.md' and path.exists()}
  return sorted(path for path in found if not GENERATED.search(str(path.relative_to(root))))


def counts(root):
  """(what, words, at most)"""
  rows = [(f'{reader}, {len(reading(root, first))} pages', sum(map(words_in, reading(root, first))), MOST)
          for reader, first in READERS.items()]
  whole = [root / 'README.md', root / 'CONTRIBUTING.md', *sorted((root / 'docs').glob('*.md'))]
  return rows + [('README, CONTRIBUTING and docs', sum(map(words_in, whole)), MOST_OF_ALL)]


def main(words):
  if words not in ([], ['--counts']):
    print(__doc__)
    return 2
  rows, bad, long = counts(ROOT), bad_words(ROOT), bad_sentences(ROOT)
  too_many = [f'{what}: {count} words, never more than {most}' for what, count, most in rows if count > most]
  for line in [*bad, *long, *too_many] if not words else []:
    print(line, file=sys.stderr)
  for what, count, most in rows:
    print(f'{what}: {count} words of {most}')
  print(f'{len(pages(ROOT))} pages, {len(sources(ROOT))} sources: {len(bad)} matches, {len(long)} long sentences')
  return 1 if bad or long or too_many else 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
