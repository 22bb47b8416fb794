#!/usr/bin/env python3
"""The recipes of packagers (packaging/): read with stand-ins of what reads them, and held to what CMake says."""

import pathlib
import re
import sys
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / 'packaging'
VERSION = re.search(r'^project\(\w+ VERSION ([\d.]+)', (ROOT / 'CMakeLists.txt').read_text(), re.M)[1]
OPTIONS = set(re.findall(r'QUADRILLE_[A-Z_]+', (ROOT / 'CMakeLists.txt').read_text() +
                         ''.join(path.read_text() for path in (ROOT / 'cmake').glob('*.cmake'))))
# What the build needs, by Debian's names and by those of others.
NEEDS = {'libcli11-dev': 'cli11', 'libfmt-dev': 'fmt', 'libhwy-dev': 'highway', 'libhwloc-dev': 'hwloc',
         'libmemkind-dev': 'memkind', 'nlohmann-json3-dev': 'nlohmann-json'}


def read_spack():
  """The recipe's class and what it says, by directive."""
  said = {}

  def directive(name):
    return lambda *words, **rest: said.setdefault(name, []).append((words, rest))

  class CMakePackage:
    def define(self, name, value):
      return f'-D{name}={value}'

    def define_from_variant(self, name, variant):
      return f'-D{name}={self.spec.variants[variant]}'

  package = types.ModuleType('spack.package')
  names = ('license', 'version', 'variant', 'depends_on', 'generator', 'conflicts')
  package.__dict__.update({name: directive(name) for name in names}, CMakePackage=CMakePackage)
  sys.modules.update({'spack': types.ModuleType('spack'), 'spack.package': package})
  room = {}
  exec((PACKAGING / 'spack/package.py').read_text(), room)
  return room['Quadrille'], said


class Spec(dict):
  variants = {'heap': True}


class Recipes(unittest.TestCase):
  def test_spack(self):
    recipe, said = read_spack()
    self.assertEqual(said['version'], [((VERSION,), {})])
    named = {words[0].partition('@')[0] for words, _ in said['depends_on']}
    self.assertLessEqual(set(NEEDS.values()) | {'mpi', 'cmake', 'ninja', 'pkgconfig', 'python'}, named)
    for provider, abi in (('openmpi', 'openmpi'), ('mpich', 'mpich'), ('mvapich2', 'mpich'), ('intel-oneapi-mpi', 'mpich')):
      package = recipe()
      package.spec = Spec(mpi=types.SimpleNamespace(name=provider, mpicc='/x/mpicc'))
      arguments = package.cmake_args()
      self.assertIn(f'-DQUADRILLE_MPI={abi}', arguments)
      self.assertLessEqual(set(re.findall(r'QUADRILLE_[A-Z_]+', ' '.join(arguments))), OPTIONS)

  def test_easybuild(self):
    path, = (PACKAGING / 'easybuild').glob('*.eb')
    said = {}
    exec(path.read_text(), said)
    toolchain = said['toolchain']
    self.assertEqual(path.name, f'{said["name"]}-{said["version"]}-{toolchain["name"]}-{toolchain["version"]}.eb')
    self.assertEqual(said['version'], VERSION)
    named = {name.lower().replace('_', '-') for name, *_ in said['builddependencies'] + said['dependencies']}
    self.assertLessEqual(set(NEEDS.values()), named)
    self.assertLessEqual(set(re.findall(r'QUADRILLE_[A-Z_]+', said['configopts'])), OPTIONS)

  def test_debian(self):
    debian = PACKAGING / 'debian'
    self.assertTrue((debian / 'changelog').read_text().startswith(f'quadrille ({VERSION}-'))
    control = (debian / 'control').read_text()
    source, *packages = control.strip().split('\n\n')
    for package in NEEDS:
      self.assertIn(f' {package},', source)
    names = [re.search(r'^Package: (\S+)', text, re.M)[1] for text in packages]
    for name in names:
      self.assertTrue((debian / f'{name}.install').exists(), name)
    self.assertLessEqual(set(re.findall(r'QUADRILLE_[A-Z_]+', (debian / 'rules').read_text())), OPTIONS)
    # Each is one that `make setup` installs.
    pinned = set(re.findall(r'^([^#\s=]+)=', (ROOT / 'scripts/packages.txt').read_text(), re.M))
    self.assertLessEqual(set(re.findall(r'^ +([a-z0-9+.-]+),', source, re.M)), pinned)


if __name__ == '__main__':
  unittest.main()
