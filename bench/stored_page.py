"""What the scripts share that write a page from stored data."""

import sys


def check(page, text, stored, again):
  """Ends with an error unless the file `page` has this text, which `stored` gives; the command `again` writes it."""
  if not page.is_file() or page.read_text() != text:
    sys.exit(f'{page} is not what is stored in {stored}; run {again}')
