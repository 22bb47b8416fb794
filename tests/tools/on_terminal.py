#!/usr/bin/env python3
"""on_terminal.py COMMAND...: runs it with a terminal as its stderr, and nothing as its stdin; prints what the terminal saw, each of
the lines that overwrite each other by itself. The command's own stdout is left out. The exit status is the command's."""
import os
import pty
import subprocess
import sys

ours, theirs = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
os.close(theirs)
seen = b''
while True:
  try:
    part = os.read(ours, 4096)
  except OSError:  # nobody has the other end open any more
    break
  if not part:
    break
  seen += part
for line in seen.decode().replace('\n', '\r').split('\r'):
  if line.strip():
    print(line.removeprefix('\033[K'))
sys.exit(child.wait())
