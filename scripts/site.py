#!/usr/bin/env python3
"""Builds the documentation as a site of its own, from the same pages.

  site.py FOLDER [--tool TOOL] [--pictures PICTURES]
                                 writes it to FOLDER, with mkdocs; it needs no network to be read. With the command line tool
                                 at hand also the page on which its schedules move (quadrille show --html); with the folder of
                                 pictures (lab/pictures.py) each page of results has them where it names their data
  site.py --check                only puts the pages together, and checks their links and the menu, without mkdocs

The front page is README.md. A link to a file that is no page leads to a copy of it. mkdocs fails if a link leads nowhere.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = re.compile(r"^.*\[[\w.-]+\.json\]\(([\w/-]+)\.json\)\.$", re.MULTILINE)
RESULTS = pathlib.Path("docs/results")
LINK = re.compile(r"(\[[^\]]*\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# What the menu has, in the order of a reader: title and pages. All of docs have a place; what else there is comes under "More".
MENU = [
  ("Users", ["index.md", "docs/cluster.md", "docs/python.md", "docs/gpu.md", "docs/troubleshooting.md", "docs/tuning.md",
             "docs/report.md", "docs/benchmark.md", "docs/cli.md"]),
  ("How it works", ["docs/collectives.md", "docs/neighbours.md", "docs/requests.md", "docs/inside-a-node.md",
                    "docs/between-nodes.md", "docs/algorithms.md", "docs/simulate.md", "docs/watch.md"]),
  ("Developers", ["docs/internals.md", "docs/design.md", "docs/building.md", "docs/dependencies.md", "docs/testing.md", "docs/demo.md"]),
]

# Made here, where there is a tool: a page of its own, and one of ours that leads to it.
WATCH = "docs/watch.md"
SCHEDULES = "docs/schedules.html"
WATCH_TEXT = """# Watch a schedule

[This page](schedules.html) shows what the schedules of the algorithms do, step by step: who sends to whom, and what each rank holds.
Choose a collective, an algorithm and a number of ranks there, and go through the steps by the slider, the buttons or the arrow keys.

`quadrille show --html FILE` writes such a page for [what you name](cli.md#quadrille-show).
"""


def pages():
  """The project's pages, as paths from its root."""
  found = [pathlib.Path("README.md"), pathlib.Path("CHANGELOG.md"), pathlib.Path("CONTRIBUTING.md"), pathlib.Path("LICENSE")]
  for pattern in ("docs/**/*.md", "python/*.md", "examples/**/*.md"):
    found += sorted(path.relative_to(ROOT) for path in ROOT.glob(pattern))
  return found


def place_of(page):
  return pathlib.Path("index.md") if page == pathlib.Path("README.md") else page


class Pages:
  """The pages in a folder, with their links as they are there."""

  def __init__(self, folder, pictures=None):
    self.folder, self.pictures = folder, pictures
    self.problems = []

  def put_all(self):
    for page in pages():
      text = (ROOT / page).read_text(encoding="utf-8")
      target = self.folder / place_of(page)
      target.parent.mkdir(parents=True, exist_ok=True)
      target.write_text(self.with_links(page, self.with_pictures(page, text)) if page.suffix == ".md" else text, encoding="utf-8")

  def with_pictures(self, page, text):
    """Behind each line that ends in the data of a picture, the picture."""
    if not self.pictures or page.parent != RESULTS:
      return text
    return DATA.sub(lambda match: match[0] + self.picture(match[1]), text)

  def picture(self, name):
    drawn, place = (self.pictures / name).with_suffix(".svg"), (RESULTS / name).with_suffix(".svg")
    if not drawn.is_file():
      return ""
    (self.folder / place).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(drawn, self.folder / place)
    return f"\n\n![{drawn.stem}]({name}.svg)"

  def with_links(self, page, text):
    parts, at = [], 0
    for fence in FENCE.finditer(text):
      parts += [self.linked(page, text[at:fence.start()]), fence.group()]
      at = fence.end()
    return "".join(parts) + self.linked(page, text[at:])

  def linked(self, page, text):
    return LINK.sub(lambda match: match[1] + self.target(page, match[2]) + match[3], text)

  def target(self, page, link):
    name, _, anchor = link.partition("#")
    if re.match(r"[a-z]+:", link) or not name:
      return link
    file = pathlib.Path(os.path.normpath(page.parent / name))
    if (ROOT / file).is_dir():
      file = self.page_of_folder(file)
    elif not (ROOT / file).exists():
      if (self.folder / file).is_file():
        return link  # drawn for the site
      self.problems.append(f"{page}: {link}")
    elif file not in pages():
      self.copy(file)
    place = os.path.relpath(place_of(file), place_of(page).parent)
    return place + ("#" + anchor if anchor else "")

  def copy(self, file):
    (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / file, self.folder / file)

  def page_of_folder(self, folder):
    """A link to a folder leads to what says what is in it."""
    if (ROOT / folder / "README.md").exists():
      return folder / "README.md"
    files = sorted(file.name for file in (ROOT / folder).iterdir() if file.is_file())
    for name in files:
      if not name.endswith(".md"):
        self.copy(folder / name)
    (self.folder / folder).mkdir(parents=True, exist_ok=True)
    (self.folder / folder / "index.md").write_text(
        f"# {folder}\n\n" + "".join(f"- [{name}]({name})\n" for name in files), encoding="utf-8")
    return folder / "index.md"


def menu(with_tool):
  """mkdocs' nav, as lines of YAML."""
  left = [str(place_of(page)) for page in pages() if page.suffix == ".md"] + [WATCH] * with_tool
  lines = ["nav:"]
  for title, names in MENU:
    lines.append(f"  - {title}:")
    for name in names:
      if name == WATCH and not with_tool:
        continue
      lines.append(f"    - {name}")
      left.remove(name)
  for title, start in (("Results", "docs/results/"), ("Examples", "examples/"), ("More", "")):
    lines.append(f"  - {title}:")
    for name in [one for one in left if one.startswith(start)]:
      lines.append(f"    - {name}")
      left.remove(name)
  return lines


def without_a_place():
  """Pages of docs that the menu would have under "More"."""
  named = {name for _, names in MENU for name in names}
  return [str(page) for page in pages() if page.parent == pathlib.Path("docs") and str(page) not in named]


def write_schedules(tool, docs):
  (docs / WATCH).write_text(WATCH_TEXT, encoding="utf-8")
  subprocess.run([tool, "show", "--html", docs / SCHEDULES], check=True)


def build(output, tool, pictures):
  with tempfile.TemporaryDirectory() as work:
    docs = pathlib.Path(work, "docs")
    made = Pages(docs, pictures)
    made.put_all()
    if tool:
      write_schedules(tool, docs)
    config = pathlib.Path(work, "mkdocs.yml")
    config.write_text("\n".join([
      "site_name: Quadrille", "site_description: fast all-to-all collectives on any MPI", f"docs_dir: {docs}",
      f"site_dir: {output}", "use_directory_urls: false", "theme:", "  name: readthedocs", "  highlightjs: false", "plugins: [search]",
      "markdown_extensions: [tables, fenced_code, toc]", "validation:", "  links:", "    not_found: warn", "    anchors: warn",
      "    unrecognized_links: ignore", *menu(bool(tool))]) + "\n", encoding="utf-8")
    run = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", str(config)], check=False)
    return run.returncode


def check():
  with tempfile.TemporaryDirectory() as work:
    made = Pages(pathlib.Path(work))
    made.put_all()
    menu(False)
    for problem in made.problems:
      print(f"site.py: no such file: {problem}")
    for page in without_a_place():
      print(f"site.py: the menu has no place for {page}; give it one in MENU")
    return 1 if made.problems or without_a_place() else 0


if __name__ == "__main__":
  words = sys.argv[1:]
  if len(words) == 1 and words[0] == "--check":
    sys.exit(check())
  options = dict(zip(words[1::2], words[2::2]))
  if len(words) % 2 == 0 or set(options) - {"--tool", "--pictures"}:
    sys.exit(__doc__)
  drawn = options.get("--pictures")
  sys.exit(build(pathlib.Path(words[0]).resolve(), options.get("--tool", ""), pathlib.Path(drawn) if drawn else None))
