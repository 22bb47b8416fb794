"""The manual pages and completions say what the programs and the header say. Names are found here by other means than there: the
options by the text of the help, the functions in the library.

    pages_test.py TOOL LAB LIBRARY
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOL, LAB, LIBRARY = sys.argv[1:4]
PROGRAMS = {'quadrille': TOOL, 'quadrille-lab': LAB}


def run(*words, **more):
  return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **more).stdout


def commands():
  """(program, subcommand)"""
  return [(name, command) for name, file in PROGRAMS.items()
          for command in re.findall(r'^  ([a-z]+) {5,}', run(file, '--help').split('Subcommands:')[1], re.M)]


def options_in(text):
  return set(re.findall(r'^  (?:-\w,)?(--[a-z][a-z-]*)', text, re.M))


def options_of(name, command):
  first = options_in(run(PROGRAMS[name], command, '--help'))
  return first | (options_in(run(PROGRAMS[name], command, '--help-all')) if '--help-all' in first else set())


class Pages(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.held = tempfile.TemporaryDirectory()
    cls.folder = pathlib.Path(cls.held.name)
    for script in ('man_pages.py', 'completions.py'):
      run(sys.executable, ROOT / 'scripts' / script, TOOL, LAB, cls.folder)

  @classmethod
  def tearDownClass(cls):
    cls.held.cleanup()

  def page(self, name):
    return (self.folder / f'man{name[-1]}' / name).read_text().replace('\\-', '-')

  def test_each_command_has_a_page_with_its_options(self):
    self.assertGreater(len(commands()), 5)
    for name, command in commands():
      text = self.page(f'{name}-{command}.1')
      for option in options_of(name, command):
        self.assertIn(option, text, command)
      self.assertIn(f'{name}-{command}', self.page(f'{name}.1'))

  def test_all_ways_to_write_a_command_are_in_its_synopsis(self):
    for name, command in commands():
      said = run(PROGRAMS[name], command, '--help').split('\nUsage: ')[-1].split('\n\n')[0].split('\n')
      ways = [line.strip() for line in said if line.strip().startswith(f'{name} ')]
      self.assertTrue(ways, command)
      synopsis = self.page(f'{name}-{command}.1').split('.SH SYNOPSIS')[1].split('.SH')[0]
      self.assertEqual(re.findall(r'^\\fB(.*)\\fR$', synopsis, re.M), ways, command)
    self.assertIn('quadrille report --data FILE', self.page('quadrille-report.1').split('.SH SYNOPSIS')[1].split('.SH')[0])

  def test_the_front_page_has_examples(self):
    examples = self.page('quadrille.1').split('.SH EXAMPLES')[1]
    for example in ('quadrille run ', 'quadrille doctor ', 'quadrille bench '):
      self.assertIn(example, examples)

  def test_each_function_of_the_library_has_a_page(self):
    functions = set(re.findall(r' T (Quadrille_\w+)', run('nm', '-D', LIBRARY)))
    self.assertGreater(len(functions), 40)
    self.assertEqual({path.stem for path in (self.folder / 'man3').glob('Quadrille_*.3')}, functions)
    for name in functions:
      text = self.page(f'{name}.3')
      if text.startswith('.so '):
        text = (self.folder / text.split()[1]).read_text()
      self.assertIn(f'{name}(', text)
      self.assertIn(name, self.page('quadrille.3'))

  def test_arguments_and_errors_are_there(self):
    text = self.page('Quadrille_Alltoallw.3')
    for part in ('sendtypes, recvtypes', '.SH ERRORS', 'MPI_Alltoallw'):
      self.assertIn(part, text)
    # What is said of a group is said of its functions alone.
    self.assertIn('There is no MPI_IN_PLACE', self.page('Quadrille_Neighbor_alltoallv.3'))
    self.assertNotIn('There is no MPI_IN_PLACE', self.page('Quadrille_Alloc.3'))
    self.assertNotIn('stream', self.page('Quadrille_Set_algorithm.3'))

  def test_the_help_of_a_command_has_at_most_ten_options_first(self):
    for name, command in commands():
      first = options_in(run(PROGRAMS[name], command, '--help'))
      if '--help-all' in first:
        self.assertLessEqual(len(first), 10, command)
        self.assertGreater(len(options_of(name, command)), len(first), command)
    self.assertIn('--help-all', options_of('quadrille', 'bench'))
    first = re.findall(r'^  ([a-z]+) {5,}', run(TOOL, '--help').split('Subcommands:')[1], re.M)[:4]
    self.assertEqual(first, ['run', 'doctor', 'report', 'bench'])

  def test_exit_status_and_environment(self):
    for name, command in [(name, '') for name in PROGRAMS] + commands():
      text = self.page(f'{name}-{command}.1' if command else f'{name}.1')
      status = text.split('.SH EXIT STATUS\n')[1].split('.SH')[0]
      self.assertIn('The exit status', status, command)
      self.assertNotIn('The exit status', text.replace(status, ''), command)
      self.assertIn('.SH ENVIRONMENT\n', text, command)
    self.assertIn('of the launcher', self.page('quadrille-run.1').split('.SH EXIT STATUS')[1].split('.SH')[0])
    self.assertIn('QUADRILLE_ALGORITHM', self.page('quadrille-run.1').split('.SH ENVIRONMENT')[1].split('.SH')[0])

  def test_variables_are_there(self):
    names = re.findall(r'^QUADRILLE\w*$', run(TOOL, 'list', '--settings'), re.M)
    self.assertIn('QUADRILLE_MPI_DEVICE', names)
    for program in PROGRAMS:
      self.assertEqual(re.findall(r'^\\fB(QUADRILLE\w*)\\fR', self.page(f'{program}.1'), re.M), names, program)

  def test_troff_has_no_complaint(self):
    if shutil.which('groff') is None:
      self.skipTest('there is no groff')
    for path in sorted(self.folder.glob('man?/*')):
      said = subprocess.run(['groff', '-man', '-ww', '-z', '-Tutf8', '-rLL=100n', str(path)], capture_output=True, text=True, cwd=self.folder)
      self.assertEqual((said.returncode, [l for l in said.stderr.splitlines() if 'adjust line' not in l and 'break line' not in l]),
                       (0, []), path.name)

  def complete(self, *words):
    """What bash makes of these, the last of which is not complete."""
    script = self.folder / 'bash-completion' / 'completions' / words[0]
    line = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            '$(complete -p "$1" | grep -o "_quadrille\\w*"); printf "%s\\n" "${COMPREPLY[@]}"')
    return run('bash', '-c', line, script, *words, cwd=self.folder).split()

  def test_bash_completes(self):
    offered = {(name, command) for name in PROGRAMS for command in self.complete(name, '') if not command.startswith('--')}
    self.assertEqual(offered, set(commands()))
    self.assertEqual(self.complete('quadrille', 'ben'), ['bench'])
    for name, command in commands():
      self.assertEqual(set(self.complete(name, command, '--')) - {'--'}, options_of(name, command), command)
    self.assertEqual(self.complete('quadrille', 'run', '--mpi', 'o'), ['openmpi'])
    self.assertIn('two-phase-bruck', self.complete('quadrille', 'bench', '--algorithms', 'two'))
    self.assertEqual(self.complete('quadrille', 'bench', '--datatype', ''), ['byte', 'double', 'strided'])
    self.assertIn('hint-6', self.complete('quadrille-lab', 'bench', '--figure', 'hi'))
    self.assertIn('uniform', self.complete('quadrille', 'bench', '--distribution', 'u'))
    self.assertIn('alltoallv', self.complete('quadrille', 'bench', 'allto'))
    self.assertEqual(self.complete('quadrille', 'bench', '--warmup', ''), [])
    for starter in ('run', 'doctor', 'report'):
      self.assertEqual(self.complete('quadrille', starter, '--', 'mpirun', '--m'), [])
    self.assertEqual(self.complete('quadrille', 'report', '--mpi', 'm'), ['mpich'])

  def test_bash_knows_each_program(self):
    for name in PROGRAMS:
      script = self.folder / 'bash-completion' / 'completions' / name
      self.assertIn('-F _quadrille', run('bash', '-c', 'source "$0"; complete -p "$1"', script, name))
      self.assertEqual(self.complete(name, 'ben'), ['bench'])

  def test_bash_completes_values(self):
    for words, values in ((('explain', '--model', 'a'), ['aries', 'aries-nodes']),
                          (('bench', '--device', ''), ['cuda', 'hip']), (('tune', '--device', 'c'), ['cuda']),
                          (('bench', '--memory', ''), ['heap', 'private', 'stack', 'mmap']),
                          (('bench', '--node-map', 'r'), ['round-robin', 'roundrobin:', 'ragged:']), (('show', '--nodes', 'b'), []),
                          (('explain', '--node-map', 'b'), ['blocked', 'blocked:']), (('verify', '--orders', 'r'), [])):
      self.assertEqual(self.complete('quadrille', *words), values, words)
    for words, values in ((('show', '--model', 'p'), ['paper']), (('bench', '--orders', 'square-m'), ['square-morton']),
                          (('simulate', '--network', 'slingsh'), ['slingshot'])):
      self.assertEqual(self.complete('quadrille-lab', *words), values, words)
    for command in ('bench', 'show', 'tune'):
      self.assertEqual(self.complete('quadrille', command, '--neighborhood', 'mo'), ['moore:'], command)
      self.assertEqual(len(self.complete('quadrille', command, '--neighborhood', '')), 6, command)
    # Where a file may stand, too.
    with tempfile.TemporaryDirectory() as folder:
      pathlib.Path(folder, 'table.json').touch()
      self.assertEqual(self.complete('quadrille', 'explain', '--model', f'{folder}/ta'), [f'{folder}/table.json'])

  def test_zsh_reads_it(self):
    if shutil.which('zsh') is None:
      self.skipTest('there is no zsh')
    for name in PROGRAMS:
      run('zsh', '-n', self.folder / 'zsh' / 'site-functions' / f'_{name}')

  def test_zsh_completes(self):
    """What a zsh at a terminal makes of the tab key, in one session."""
    if shutil.which('zsh') is None:
      self.skipTest('there is no zsh')
    (self.folder / 'table.json').touch()
    cases = (('quadrille ben', 'quadrille bench'), ('quadrille bench --datat', 'quadrille bench --datatype'),
             ('quadrille bench --device c', 'quadrille bench --device cuda'),
             ('quadrille bench --datatype str', 'quadrille bench --datatype strided'),
             ('quadrille bench --neighborhood von', 'quadrille bench --neighborhood von-neumann:'),
             ('quadrille show --neighborhood posi', 'quadrille show --neighborhood positive-moore:'),
             ('quadrille explain alltoall --model aries-n', 'quadrille explain alltoall --model aries-nodes'),
             ('quadrille explain alltoall --model tab', 'quadrille explain alltoall --model table.json'),
             ('quadrille explain alltoall --node-map round-', 'quadrille explain alltoall --node-map round-robin'),
             ('quadrille bench alltoall', 'quadrille bench alltoall'), ('quadrille-lab simu', 'quadrille-lab simulate'),
             ('quadrille-lab bench --datat', 'quadrille-lab bench --datatype'), ('quadrille run --mpi m', 'quadrille run --mpi mpich'))
    found = run('zsh', '-f', ROOT / 'tests' / 'docs' / 'zsh_completes.zsh', self.folder / 'zsh' / 'site-functions',
                *(typed for typed, _ in cases), cwd=self.folder, timeout=250).splitlines()
    self.assertEqual([line.strip().replace('\\:', ':') for line in found], [whole for _, whole in cases])


if __name__ == '__main__':
  unittest.main(argv=sys.argv[:1])
