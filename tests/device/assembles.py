#!/usr/bin/env python3
"""Does NVIDIA's assembler take the text of the library's kernel?   assembles.py PTXAS SOURCE

For each architecture that it knows of these; it must know one of them.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ARCHITECTURES = ["sm_50", "sm_70", "sm_80", "sm_90", "sm_100"]

ptxas, source = sys.argv[1:]
text = re.search(r'R"\((.*?)\)"', pathlib.Path(source).read_text(encoding="utf-8"), re.S).group(1).lstrip()
taken = []
with tempfile.TemporaryDirectory() as folder:
    kernel = pathlib.Path(folder, "kernel.ptx")
    kernel.write_text(text, encoding="utf-8")
    for architecture in ARCHITECTURES:
        run = subprocess.run([ptxas, f"-arch={architecture}", str(kernel), "-o", str(pathlib.Path(folder, "kernel"))],
                             capture_output=True, text=True, check=False)
        if run.returncode == 0:
            taken.append(architecture)
        elif "not defined for option" not in run.stderr and "is not supported" not in run.stderr:
            sys.exit(f"{architecture}: {run.stderr}")
print("assembled for", *taken)
sys.exit(0 if taken else "it knows none of the architectures")
