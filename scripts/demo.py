#!/usr/bin/env python3
"""Runs two MPI programs natively and under `quadrille run`, interleaved, and compares them.

The programs are HPC Challenge (hpcc) and this project's fft3d. Neither knows of Quadrille. Both
must give the same results either way; the times are shown side by side. docs/demo.md explains them.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "lab"))
from programs.common import commit_of, product_of  # noqa: E402  pylint: disable=wrong-import-position
from programs.stored import store  # noqa: E402  pylint: disable=wrong-import-position

SCANS = [
    pathlib.Path("/usr/share/mricron/templates/ch2.nii.gz"),  # Debian package mricron-data
    ROOT / "examples/data/anatomical.nii.gz",
]

# hpcc times one transform a run, so it needs more runs than fft3d, which repeats inside a run.
HPCC_RUNS_PER_PAIR = 3


class Failure(Exception):
    """A run that failed or a result that differs. One line."""


def note(text):
    print(text, flush=True)


def status(text):
    """A line that the next one overwrites; on a terminal only."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print("\r" + text[:width].ljust(width), end="\r", flush=True)


# ---- Processes ----


def stop(process):
    """Ends a launcher and all it started. The launcher gets time to end its ranks itself."""
    for kill in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kill)
            process.wait(timeout=5)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def run(command, cwd=None, timeout=300):
    """Runs a command in a process group of its own and returns its (stdout, stderr)."""
    environment = dict(os.environ)
    if os.geteuid() == 0:  # Open MPI asks root to say so twice.
        environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
        environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    try:
        process = subprocess.Popen(command, cwd=cwd, env=environment, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from error
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as late:
        stop(process)
        raise Failure(f"no end after {timeout} s: {' '.join(command)}") from late
    except BaseException:
        stop(process)
        raise
    if process.returncode != 0:
        said = [line for line in (err + out).splitlines() if line.strip(" -")]
        raise Failure(f"exit status {process.returncode}: {' '.join(command)}\n    "
                      + "\n    ".join(said[:8]))
    return out, err


# ---- Builds ----


class Build:
    """A folder of one MPI's programs, and how to launch them. The tool is in the folder above."""

    def __init__(self, path, prefix):
        self.path = path
        cache = (path / "CMakeCache.txt").read_text(encoding="utf-8")
        self.mpi = re.search(r"^QUADRILLE_MPI:\w+=(.*)$", cache, re.M)[1]
        self.mpirun = re.search(r"^QUADRILLE_MPIRUN:\w+=(.*)$", cache, re.M)[1]
        self.fft3d = path / "bin/fft3d"
        self.prefix = [str(product_of(path) / "bin/quadrille"), "run"] if prefix is None else prefix
        self.needs_separator = prefix is None
        version = subprocess.run([self.mpirun, "--version"], capture_output=True, text=True,
                                 check=False).stdout
        found = re.search(r"(?:\((?:Open MPI|OpenRTE)\)|Version:)\s*([\w.]+)", version)
        self.version = found[1] if found else "?"
        self.name = {"openmpi": "Open MPI", "mpich": "MPICH"}[self.mpi] + " " + self.version

    def can_oversubscribe(self):
        """MPICH 4.0 waits without yielding: with more ranks than cores it takes milliseconds."""
        return not (self.mpi == "mpich" and self.version.startswith("4.0"))

    def launch(self, ranks, program, quadrille, explain=False):
        """The command that starts `program` on so many ranks, with or without Quadrille."""
        command = [self.mpirun, "-n", str(ranks)]
        if ranks <= len(os.sched_getaffinity(0)):
            command += ["--bind-to", "core"] if self.mpi == "openmpi" else ["-bind-to", "core"]
        elif self.mpi == "openmpi":
            command += ["--oversubscribe", "--bind-to", "none"]
        command += [str(word) for word in program]
        if not quadrille:
            return command
        prefix = list(self.prefix)
        if self.needs_separator:
            prefix += (["--explain"] if explain else []) + ["--"]
        return prefix + command


def find_builds(arguments):
    prefix = None if arguments.launcher_prefix is None else arguments.launcher_prefix.split()
    paths = [pathlib.Path(path).resolve() for path in arguments.build]
    if not paths:
        paths = [ROOT / "build/openmpi"]
        if (ROOT / "build/mpich/bin/fft3d").exists():
            paths.append(ROOT / "build/mpich")
    for path in paths:
        needed = [path / "CMakeCache.txt", path / "bin/fft3d"]
        for file in needed + ([product_of(path) / "bin/quadrille"] if prefix is None else []):
            if not file.exists():
                raise Failure(f"{file} is missing: run 'make build' first")
    return [Build(path, prefix) for path in paths]


# ---- The programs ----
#
# A case is one program at one size on one number of ranks. It knows its command, reads the figures
# (seconds) and results out of a run, and compares the results of two runs.


def bytes_text(count):
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"


class Fft3d:
    """This project's distributed FFT."""

    def __init__(self, build, ranks, decomposition, size, scan):
        self.build, self.ranks = build, ranks
        self.name = f"fft3d {size}^3 {decomposition}"
        cells = size**3
        self.runs_per_pair = 1
        self.arguments = ["--input", scan, "--decomposition", decomposition,
                          "--size", f"{size}x{size}x{size}",
                          "--repeat", max(5, min(2000, 2**24 // cells)),
                          "--warmup", 10 if cells <= 2**15 else 2, "--max-seconds", 1]
        if cells <= 2**18:
            self.arguments.append("--verify")

    def run(self, quadrille, explain=False):
        program = [self.build.fft3d] + self.arguments
        out, err = run(self.build.launch(self.ranks, program, quadrille, explain))
        lines = [line for line in out.splitlines() if line.startswith("{")]
        if len(lines) != 1:
            raise Failure(f"{self.name}: no result line in its output")
        found = json.loads(lines[0])
        blocks = "+".join(bytes_text(size) for size in found["block_bytes"] if size)
        figures = {("round trip", blocks): found["total_s"],
                   ("all-to-all in it", blocks): found["alltoall_s"]}
        results = {key: found[key] for key in ("error_max", "error_rms", "parseval", "verify_max",
                                               "verify_rms", "checksum")}
        return figures, results, err

    def compare(self, native, other):
        if native["checksum"] != other["checksum"]:
            return "the spectra differ"
        for key in ("error_max", "error_rms", "parseval", "verify_max", "verify_rms"):
            pair = (native[key], other[key])
            if None not in pair and not math.isclose(*pair, rel_tol=1e-6, abs_tol=1e-14):
                return f"{key} differs: {pair[0]} and {pair[1]}"
        return None


class Hpcc:
    """HPC Challenge. It always runs all its tests; MPIFFT and PTRANS are read out of its report."""

    def __init__(self, build, hpcc, ranks, order):
        self.build, self.hpcc, self.ranks, self.order = build, hpcc, ranks, order
        self.name = f"hpcc N={order}"
        self.runs_per_pair = HPCC_RUNS_PER_PAIR

    def input_text(self):
        rows = max(n for n in range(1, math.isqrt(self.ranks) + 1) if self.ranks % n == 0)
        lines = ["HPL.out", "8", "1", self.order, "1", 40, "0", "1", rows, self.ranks // rows,
                 "16.0", "1", 2, "1", 4, "1", 2, "1", 1, "1", 1, "1", 1, 2, 64, 0, 0, 1, 8,
                 "##### line 32 is ignored", 0, 0, 0, 0]
        return "HPC Challenge input\ngenerated\n" + "".join(f"{line}\n" for line in lines)

    def run(self, quadrille, explain=False):
        with tempfile.TemporaryDirectory(prefix="quadrille-demo-") as folder:
            place = pathlib.Path(folder)
            (place / "hpccinf.txt").write_text(self.input_text(), encoding="utf-8")
            _, err = run(self.build.launch(self.ranks, [self.hpcc], quadrille, explain), cwd=folder)
            report = place / "hpccoutf.txt"
            if not report.exists():
                raise Failure(f"{self.name}: hpcc wrote no report")
            text = report.read_text(encoding="utf-8")
        summary = dict(re.findall(r"^(\w+)=(\S+)$", text, re.M))
        if summary.get("Success") != "1":
            raise Failure(f"{self.name}: hpcc reports that a test failed")
        try:
            return self.figures(summary), self.results(summary), err
        except (KeyError, ValueError) as error:
            raise Failure(f"{self.name}: hpcc's report has no usable {error}") from error

    def figures(self, summary):
        # hpcc stamps the stages of the forward transform; 1, 3 and 5 are its three all-to-alls,
        # with the packing around them.
        stages = [float(summary[f"MPIFFT_time{stage}"]) for stage in range(7)]
        if sum(stages) <= 0:
            raise ValueError("MPIFFT time")
        # MPIFFT takes as many of the ranks as make a power of two.
        block = bytes_text(16 * int(summary["MPIFFT_N"]) // int(summary["MPIFFT_Procs"])**2)
        return {("MPIFFT", block): sum(stages),
                ("MPIFFT transposes", block): stages[1] + stages[3] + stages[5],
                ("PTRANS", "none"): float(summary["PTRANS_time"])}

    def results(self, summary):
        return {key: float(summary[key]) for key in ("MPIFFT_maxErr", "PTRANS_residual",
                                                     "MPIFFT_N", "PTRANS_n")}

    def compare(self, native, other):
        for key, value in native.items():
            if not math.isclose(value, other[key], rel_tol=1e-6):
                return f"{key} differs: {value} and {other[key]}"
        return None


def make_cases(builds, arguments, scan, hpcc):
    """Small blocks first: there the all-to-all is the larger part of the time."""
    cases = []
    for build in builds:
        for ranks in arguments.ranks:
            crowded = ranks > len(os.sched_getaffinity(0))
            if crowded and not build.can_oversubscribe():
                note(f"{build.name}: {ranks} ranks are more than this machine's cores; left out")
                continue
            shapes = [("slab", 8), ("slab", 16), ("slab", 32), ("slab", 128)]
            if ranks > 3:
                shapes += [("pencil", 16), ("pencil", 128)]
            if arguments.quick:
                shapes = [("slab", 16), ("slab", 64)] + ([("pencil", 16)] if ranks > 3 else [])
            if build.mpi == "openmpi" and hpcc:
                # With more ranks than cores hpcc's other tests make a larger matrix slow.
                orders = [100] if arguments.quick else [100, 200 if crowded else 400]
                cases += [Hpcc(build, hpcc, ranks, order) for order in orders]
            cases += [Fft3d(build, ranks, *shape, scan) for shape in shapes]
    return cases


# ---- Measuring ----


def measure(case, pairs, progress):
    """Runs a case both ways in turn. Returns {figure: ([native], [quadrille])}, in seconds."""
    times, reference = {}, None
    count = pairs * case.runs_per_pair
    for pair in range(count):
        status(f"{progress} {case.name}, {case.ranks} ranks: pair {pair + 1} of {count}")
        # The order changes from pair to pair, so a machine that drifts favours neither.
        for quadrille in (False, True) if pair % 2 == 0 else (True, False):
            figures, results, _ = case.run(quadrille)
            if reference is None:
                reference = results
            trouble = case.compare(reference, results)
            if trouble:
                way = "under Quadrille" if quadrille else "natively"
                raise Failure(f"{case.name}, {case.ranks} ranks, {way}: {trouble}")
            for figure, seconds in figures.items():
                times.setdefault(figure, ([], []))[quadrille].append(seconds)
    return times


def make_rows(case, times):
    rows = []
    for (figure, block), (native, quadrille) in times.items():
        ratios = [after / before for before, after in zip(native, quadrille)]
        rows.append({
            "program": case.name, "mpi": case.build.name, "ranks": case.ranks, "figure": figure,
            "block": block, "native_s": native, "quadrille_s": quadrille,
            "native_median_s": statistics.median(native),
            "quadrille_median_s": statistics.median(quadrille),
            "ratio": statistics.median(quadrille) / statistics.median(native),
            "ratio_min": min(ratios), "ratio_max": max(ratios)})
    return rows


def explain(case):
    """One untimed run that says which calls Quadrille served and which it left to the MPI."""
    _, _, err = case.run(True, explain=True)
    for line in err.splitlines():
        if line.startswith("quadrille"):
            note("    " + line)


# ---- Output ----

HEADINGS = ["program", "ranks", "figure", "block", "native", "Quadrille", "ratio (pairs)"]


def time_text(seconds):
    return f"{seconds * 1e6:.2f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def cells(row):
    return [row["program"], str(row["ranks"]), row["figure"], row["block"],
            time_text(row["native_median_s"]), time_text(row["quadrille_median_s"]),
            f"{row['ratio']:.2f} ({row['ratio_min']:.2f}..{row['ratio_max']:.2f})"]


def tables(rows):
    """The rows as (MPI, lines of cells), one table for each MPI."""
    for mpi in dict.fromkeys(row["mpi"] for row in rows):
        yield mpi, [cells(row) for row in rows if row["mpi"] == mpi]


def print_tables(rows):
    for mpi, lines in tables(rows):
        widths = [max(len(line[i]) for line in lines + [HEADINGS]) for i in range(len(HEADINGS))]
        note(f"\n{mpi}: medians; ratio below 1: Quadrille is faster")
        for line in [HEADINGS, ["-" * width for width in widths]] + lines:
            note("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def machine():
    try:
        info = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
        model = re.search(r"^model name\s*:\s*(.*)$", info, re.M)
    except OSError:
        model = None
    return {"cpu": model[1] if model else platform.machine(),
            "cores": len(os.sched_getaffinity(0)), "kernel": platform.release().partition("-")[0]}


def command_line():
    """As it was given, without where results go."""
    words = list(sys.argv[1:])
    for option in ("--json", "--markdown"):
        if option in words:
            at = words.index(option)
            del words[at:at + 2]
    return shlex.join(["scripts/demo.py", *words])


SPINS = """
With more ranks than cores MPICH spins while it waits: its native times are then mostly waits for time slices
(docs/demo.md)."""


def page_of(result):
    """The tables, as a page."""
    here = result["machine"]
    commit = f"Quadrille at {result['commit']}" if result["commit"] else "Quadrille of unknown commit"
    lines = ["# Results of the demo", "",
             f"Written by `scripts/demo.py` from what `{result['command']}` measured on {result['date']} with {commit}: "
             f"{here['cpu']}, {here['cores']} cores, Linux {here['kernel']}, {result['pairs']} pairs, "
             f"scan `{result['scan']}`. docs/demo.md says what is measured.", "",
             "Medians of the runs. Ratio: Quadrille's median divided by the native one, with the",
             "smallest and largest ratio of a pair of runs. Below 1 Quadrille is faster."]
    lines += [f"\n{text}" for text in result["notes"] + result["failures"]]
    for mpi, body in tables(result["rows"]):
        lines += ["", f"## {mpi}", *(SPINS.split("\n") if mpi.startswith("MPICH") else []), "",
                  "| " + " | ".join(HEADINGS) + " |", "|" + " --- |" * len(HEADINGS)]
        lines += ["| " + " | ".join(line) + " |" for line in body]
    return "\n".join(lines) + "\n"


KEPT = ["program", "mpi", "ranks", "figure", "block", "native_s", "quadrille_s"]


def keep(result, path):
    """A row a line, with the seconds of each run."""
    rows = [{key: row[key] for key in KEPT} for row in result["rows"]]
    store(path, {key: value for key, value in result.items() if key != "rows"}, rows)


# ---- Main ----


def parse_ranks(text):
    try:
        ranks = [int(word) for word in text.split(",")]
    except ValueError:
        ranks = []
    if not ranks or min(ranks) < 2:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers from 2 on, like 2,4")
    return ranks


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", action="append", default=[], metavar="DIR",
                        help="folder of one MPI's programs; may be repeated (default: build/openmpi, and "
                             "build/mpich if fft3d is there)")
    parser.add_argument("--ranks", type=parse_ranks, default=[2, 4], metavar="N,N",
                        help="numbers of ranks (default: 2,4)")
    parser.add_argument("--pairs", type=int, default=None, metavar="N",
                        help="native and Quadrille runs of each case (default: 5; quick: 2)")
    parser.add_argument("--quick", action="store_true", help="fewer cases and runs")
    parser.add_argument("--input", type=pathlib.Path, metavar="FILE",
                        help="the scan that fft3d transforms, a NIfTI-1 file")
    parser.add_argument("--hpcc", default="hpcc", metavar="PROGRAM", help="HPC Challenge")
    parser.add_argument("--explain", action="store_true",
                        help="also say, for each case, what Quadrille did with its calls")
    parser.add_argument("--json", metavar="FILE", help="write all figures to FILE")
    parser.add_argument("--markdown", metavar="FILE", help="write the tables to FILE")
    parser.add_argument("--launcher-prefix", metavar="WORDS",
                        help="what to put before mpirun instead of 'quadrille run --'; empty: "
                             "nothing, which shows the noise of the machine")
    arguments = parser.parse_args()
    if arguments.pairs is None:
        arguments.pairs = 2 if arguments.quick else 5
    if arguments.pairs < 1:
        parser.error("--pairs must be at least 1")
    return arguments


def find_scan(given):
    for path in [given] if given else SCANS:
        if path.exists():
            return path
    raise Failure(f"{given or SCANS[-1]} is missing")


def demo(arguments):
    builds = find_builds(arguments)
    scan = find_scan(arguments.input)
    notes = []
    if not arguments.input and scan != SCANS[0]:
        notes.append("The larger scan is not installed (Debian package mricron-data); the small "
                     "one of examples/data is used.")
    hpcc = shutil.which(arguments.hpcc)
    if not hpcc:
        notes.append("HPC Challenge is not installed (Debian package hpcc); only fft3d was run.")
    for text in notes:
        note(text)
    note(f"The scan: {scan}")

    cases = make_cases(builds, arguments, scan, hpcc)
    rows, failures = [], []
    for number, case in enumerate(cases, 1):
        progress = f"[{number}/{len(cases)}]"
        headline = f"{progress} {case.build.name}, {case.ranks} ranks, {case.name}"
        try:
            times = measure(case, arguments.pairs, progress)
            found = make_rows(case, times)
            rows += found
            status("")
            note(f"{headline}: same results; "
                 + ", ".join(f"{row['figure']} {row['ratio']:.2f}" for row in found))
            if arguments.explain:
                explain(case)
        except Failure as failure:
            status("")
            failures.append(str(failure))
            note(f"{headline}: FAILED: {failure}")

    print_tables(rows)
    for text in notes:
        note(text)
    result = {"command": command_line(), "date": datetime.date.today().isoformat(),
              "commit": commit_of(builds[0].path), "machine": machine(), "pairs": arguments.pairs,
              "scan": scan.name, "notes": notes, "failures": failures, "rows": rows}
    if arguments.json:
        keep(result, arguments.json)
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text(page_of(result), encoding="utf-8")
    if failures:
        note(f"\n{len(failures)} of {len(cases)} cases failed.")
        return 1
    note(f"\nAll {len(cases)} cases gave the same results natively and under Quadrille.")
    return 0


def interrupt(number, frame):
    del number, frame
    raise KeyboardInterrupt


def main():
    signal.signal(signal.SIGTERM, interrupt)
    try:
        return demo(parse_arguments())
    except Failure as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ndemo: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
