#!/usr/bin/env python3
"""Looks at pages in a browser without a screen, as wide as a phone and a desktop, light and dark.

    page_looks.py [--dom FILE=ADDRESS]... [--faulty] [--pictures FOLDER] [--run SCRIPT] [NAME=ADDRESS...]

Measured (page_looks.js): no overflow, contrast and size of texts, bars of at least 2 pixels, colours of legends and lines that
differ. SCRIPT runs in each page first. FOLDER gets pictures of each page, two or with --all-pictures four. --dom writes a page as the browser has it when its
scripts have run. --faulty: pages with one fault each are measured first, and each fault must be found. One browser serves all.
"""
import argparse
import os
import sys

import chromium
import page_looks_faulty

WIDTHS = (360, 1280)
DRAWN = ((360, 'dark'), (1280, 'light'))
FOLDER = os.path.dirname(os.path.abspath(__file__))


class Looks:
  def __init__(self, browser):
    self.browser = browser
    with open(os.path.join(FOLDER, 'page_looks.js'), encoding='utf-8') as file:
      self.measure = file.read().strip()

  def faults(self, width):
    return self.browser.value(f'({self.measure})({width})')

  def views(self, address, script):
    """(width, scheme, faults) of each view."""
    for dark in (False, True):
      self.browser.open(address, WIDTHS[0], dark)
      for width in WIDTHS:
        self.browser.resize(width)
        if script:
          self.browser.value(script)
        yield width, 'dark' if dark else 'light', self.faults(width)


def check_faulty(looks):
  """What is not found, or found in a page without a fault."""
  wrong = []
  looks.browser.resize(WIDTHS[0])
  looks.browser.scheme(dark=False)
  for expected, page in page_looks_faulty.pages():
    looks.browser.write(page)
    faults = looks.faults(WIDTHS[0])
    if len(faults) != (expected is not None) or (expected and expected not in faults[0]):
      wrong.append(f"faulty page, expected '{expected}': {faults}")
  return wrong


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('--dom', action='append', default=[])
  parser.add_argument('--faulty', action='store_true')
  parser.add_argument('--pictures')
  parser.add_argument('--all-pictures', action='store_true')
  parser.add_argument('--run')
  parser.add_argument('pages', nargs='*')
  options = parser.parse_args()
  if options.pictures:
    os.makedirs(options.pictures, exist_ok=True)
  wrong = []
  with chromium.Browser() as browser:
    looks = Looks(browser)
    for one in options.dom:
      path, address = one.split('=', 1)
      browser.open(address, WIDTHS[-1])
      with open(path, 'w', encoding='utf-8') as file:
        file.write(browser.value('document.documentElement.outerHTML'))
    if options.faulty:
      wrong += check_faulty(looks)
    for page in options.pages:
      name, address = page.split('=', 1)
      for width, scheme, faults in looks.views(address, options.run):
        wrong += [f'{name}-{width}-{scheme}: {fault}' for fault in faults]
        # A picture takes as long as all measuring.
        if options.pictures and (options.all_pictures or (width, scheme) in DRAWN):
          browser.picture(os.path.join(options.pictures, f'{name}-{width}-{scheme}.png'))
  print(*wrong, sep='\n', end='\n' if wrong else '')
  return int(bool(wrong))


if __name__ == '__main__':
  sys.exit(main())
