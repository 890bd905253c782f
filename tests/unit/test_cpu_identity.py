"""cpu_identity(): one value per machine, whichever core and process asks."""

import os
import subprocess
import sys

from anyshape.runtime import cpu_identity


def test_it_names_the_instruction_set():
    architecture = {"x86_64": "x86-64:", "aarch64": "aarch64:"}[os.uname().machine]
    assert cpu_identity().startswith(architecture)
    assert cpu_identity().isascii()


def test_every_core_and_process_gives_the_same():
    script = """
import os
from anyshape.runtime import cpu_identity
for core in sorted(os.sched_getaffinity(0)):
    os.sched_setaffinity(0, {core})
    print(cpu_identity())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) == {cpu_identity()}
