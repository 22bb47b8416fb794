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

# Of EasyBuild's own recipes those for GCCcore 13.2.0, which gompi 2023b is made of, as of November 2026: easybuild/easyconfigs in
# easybuilders/easybuild-easyconfigs.
OF_EASYBUILD = {('CMake', '3.27.6'), ('Ninja', '1.11.1'), ('pkgconf', '2.0.3'), ('Python', '3.11.5'), ('fmt', '10.2.0'),
                ('Highway', '1.0.7'), ('nlohmann_json', '3.11.3'), ('hwloc', '2.9.2'), ('binutils', '2.40')}


def read_spack(newer):
  """The recipe's class and what it says, by directive; read by Spack 1.0 or later, or by an older one."""
  said = {}

  def directive(name):
    return lambda *words, **rest: said.setdefault(name, []).append((words, rest))

  class CMakePackage:
    def define(self, name, value):
      return f'-D{name}={";".join(value) if isinstance(value, list) else value}'

    def define_from_variant(self, name, variant):
      return f'-D{name}={self.spec.variants[variant]}'

  package = types.ModuleType('spack.package')
  names = ('license', 'version', 'variant', 'depends_on', 'generator', 'conflicts')
  package.__dict__.update({name: directive(name) for name in names})
  modules = {'spack': types.ModuleType('spack'), 'spack.package': package}
  build_system = package
  if newer:  # its build systems are in a package of recipes
    parents = ['spack_repo', 'spack_repo.builtin', 'spack_repo.builtin.build_systems']
    modules.update({name: types.ModuleType(name) for name in parents})
    build_system = modules['spack_repo.builtin.build_systems.cmake'] = types.ModuleType('cmake')
    build_system.generator = package.__dict__.pop('generator')
  build_system.CMakePackage = CMakePackage
  for name in [name for name in sys.modules if name.partition('.')[0] in ('spack', 'spack_repo')]:
    del sys.modules[name]
  sys.modules.update(modules)
  room = {}
  exec((PACKAGING / 'spack/package.py').read_text(), room)
  return room['Quadrille'], said


class Spec(dict):
  variants = {'heap': True}


class Recipes(unittest.TestCase):
  def test_spack(self):
    for newer in (False, True):
      with self.subTest(newer=newer):
        self.check_spack(*read_spack(newer))

  def check_spack(self, recipe, said):
    self.assertEqual(said['version'], [((VERSION,), {})])
    named = {words[0].partition('@')[0] for words, _ in said['depends_on']}
    self.assertLessEqual(set(NEEDS.values()) | {'mpi', 'cmake', 'ninja', 'pkgconfig', 'python'}, named)
    # Without these Spack 1.0 and later gives no compilers.
    for language in ('c', 'cxx'):
      self.assertIn(((language,), {'type': 'build'}), said['depends_on'])
    package = recipe()
    package.spec = Spec(mpi=types.SimpleNamespace(headers=types.SimpleNamespace(directories=['/x/include'])))
    arguments = package.cmake_args()
    self.assertIn('-DQUADRILLE_MPI_HEADERS=/x/include', arguments)
    self.assertLessEqual(set(re.findall(r'QUADRILLE_[A-Z_]+', ' '.join(arguments))), OPTIONS)

  def test_easybuild(self):
    recipes = {}
    for path in (PACKAGING / 'easybuild').glob('*.eb'):
      recipe = {}
      exec(path.read_text(), recipe)
      toolchain = recipe['toolchain']
      self.assertEqual(path.name, f'{recipe["name"]}-{recipe["version"]}-{toolchain["name"]}-{toolchain["version"]}.eb')
      recipes[recipe['name'], recipe['version']] = recipe
    ours = recipes.pop(('Quadrille', VERSION))
    needed = {(name, version) for name, version, *_ in ours['builddependencies'] + ours['dependencies']}
    # Each is one of EasyBuild's own, or has a recipe here, which has no other use.
    self.assertEqual(needed - OF_EASYBUILD, set(recipes))
    for recipe in recipes.values():
      self.assertEqual(recipe['toolchain'], {'name': 'GCCcore', 'version': '13.2.0'})
      self.assertTrue(all(re.fullmatch('[0-9a-f]{64}', sum) for sum in recipe['checksums']) and recipe['checksums'])
      self.assertLessEqual({(name, version) for name, version, *_ in recipe['builddependencies']}, OF_EASYBUILD)
    named = {name.lower().replace('_', '-') for name, _ in needed}
    # Of what may be missing, memkind is: then the heap must be switched off, not left to be found missing.
    self.assertEqual(set(NEEDS.values()) - named, {'memkind'})
    self.assertIn('-DQUADRILLE_HEAP=OFF', ours['configopts'])
    self.assertLessEqual(set(re.findall(r'QUADRILLE_[A-Z_]+', ours['configopts'])), OPTIONS)

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
