"""How the index counts verdicts: '1 agree, 2 disagree at this scale, 1 cannot be tested here'."""

SCALE = ' at this scale'
TESTED = {'agrees': 'agree', 'disagrees': 'disagree', 'the runs differ': 'with runs that differ', 'the networks differ': 'with networks that differ'}
UNTESTED = ('cannot be tested here', 'not measured yet')


def counted(verdicts, words, behind=''):
  counts = [(verdicts.count(word + behind), shown) for word, shown in words.items()]
  return ', '.join(f'{number} {shown}' for number, shown in counts if number)


def summary(verdicts):
  """Of words as pages have them; None has no number to compare with, and is not counted."""
  own, scaled = counted(verdicts, TESTED), counted(verdicts, TESTED, SCALE)
  rest = counted(verdicts, {word: word for word in UNTESTED})
  tested = '; '.join(part for part in (own, scaled and scaled + SCALE) if part)
  return ', '.join(part for part in (tested, rest) if part)
