"""Loads the library that a module needs before the module itself is loaded.

The dynamic loader searches a module's libraries in the folders of the module's RPATH or RUNPATH. dlopen() by name does
not search there, so this module reads these folders from the module's file.
"""

import ctypes
import mmap
import os
import re
import struct

# Constants of elf.h.
_PT_LOAD, _PT_DYNAMIC = 1, 2
_MACHINE = 18  # offset of e_machine
_DT_NEEDED, _DT_STRTAB, _DT_RPATH, _DT_RUNPATH = 1, 5, 15, 29


class Dynamic:
  """The dynamic section of a file: needed libraries, RPATH and RUNPATH as written; and the machine of the file."""

  def __init__(self, entries, text, machine):
    self.machine = machine
    self.needed = [text(value) for tag, value in entries if tag == _DT_NEEDED]
    paths = {tag: text(value).split(":") for tag, value in entries if tag in (_DT_RPATH, _DT_RUNPATH)}
    self.runpath = paths.get(_DT_RUNPATH)
    # The loader ignores RPATH beside RUNPATH.
    self.rpath = None if self.runpath else paths.get(_DT_RPATH)


def _entries(data, segments):
  """(tag, value) of the dynamic section."""
  for kind, _, start, _, _, size in segments:
    if kind == _PT_DYNAMIC:
      for at in range(start, start + size, 16):
        tag, value = struct.unpack_from("<qQ", data, at)
        if tag == 0:
          return
        yield tag, value


def _parse(data):
  if data[:6] != b"\x7fELF\2\1":
    raise ValueError("not a 64-bit little-endian ELF file")
  table, = struct.unpack_from("<Q", data, 32)
  size, number = struct.unpack_from("<HH", data, 54)
  # Type, flags, offset, virtual address, physical address, bytes in the file.
  segments = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(number)]
  entries = list(_entries(data, segments))
  strings = next((value for tag, value in entries if tag == _DT_STRTAB), None)
  start = next((offset + strings - address for kind, _, offset, address, _, length in segments
                if kind == _PT_LOAD and strings is not None and address <= strings < address + length), None)
  if start is None:
    raise ValueError("no dynamic section with strings")
  machine, = struct.unpack_from("<H", data, _MACHINE)
  return Dynamic(entries, lambda at: os.fsdecode(data[start + at:data.find(b"\0", start + at)]), machine)


def read(path):
  """The dynamic section of a file; ValueError if the file has no readable one."""
  try:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
      return _parse(data)
  except (struct.error, ValueError) as error:
    raise ValueError(f"{path}: {error}") from error


def _folders(entries, path):
  """The folders of RPATH or RUNPATH, expanded. The loader does not resolve links for $ORIGIN."""
  origin = os.path.dirname(os.path.abspath(path))
  lib = ("lib64", "lib", f"lib/{os.uname().machine}-linux-gnu")
  for entry in entries or ():
    entry = re.sub(r"\$(ORIGIN\b|\{ORIGIN\})", lambda _: origin, entry) or "."
    several = re.subn(r"\$(LIB\b|\{LIB\})", "\0", entry)
    yield from [several[0].replace("\0", name) for name in lib] if several[1] else [entry]


def _library_path():
  """The folders of LD_LIBRARY_PATH at the start of the process: the loader ignores later changes."""
  try:
    with open("/proc/self/environ", "rb") as file:
      variables = file.read().split(b"\0")
  except OSError:
    return []
  value = next((text[16:] for text in variables if text.startswith(b"LD_LIBRARY_PATH=")), b"")
  return [entry or "." for entry in re.split("[:;]", os.fsdecode(value))] if value else []


def _first(folders, name, machine):
  """The first file of this name for this machine. The dynamic loader, too, skips files for other machines."""
  for folder in folders:
    path = os.path.join(folder, name)
    try:
      dynamic = read(path)
    except (OSError, ValueError):
      continue
    if dynamic.machine == machine:
      return path, dynamic
  return None


def load(name, module, inherited=(), seen=()):
  """Loads the library `name` that the module in the file `module` needs, with local symbols.

  inherited   RPATH folders of the module that needs this one
  seen        libraries whose load is in progress
  """
  try:
    # A library of this name that is in the process already is used again.
    return ctypes.CDLL(name, os.RTLD_LAZY | os.RTLD_LOCAL | os.RTLD_NOLOAD)
  except OSError:
    pass
  own = read(module)
  rpath = [*_folders(own.rpath, module), *inherited]
  folders = [*_library_path(), *_folders(own.runpath, module)] if own.runpath else rpath
  found = _first(folders, name, own.machine) if "/" not in name else None
  if found is None:
    return ctypes.CDLL(name, os.RTLD_LAZY | os.RTLD_LOCAL)
  path, dynamic = found
  # An RPATH, unlike a RUNPATH, also applies to the libraries that this library needs.
  for other in dynamic.needed if rpath else ():
    if other not in (name, *seen):
      load(other, path, rpath, (name, *seen))
  return ctypes.CDLL(path, os.RTLD_LAZY | os.RTLD_LOCAL)
