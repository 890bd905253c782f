"""Runs random kernels in processes of their own: an access outside a buffer is a crash there."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
KERNELS_PER_PROCESS = 15


@pytest.mark.parametrize("batch", range(4))
def test_random_kernels(batch: int):
    command = [sys.executable, "-m", "tests.unit.codegen.emit.random_kernels"]
    command += [str(batch * KERNELS_PER_PROCESS), str(KERNELS_PER_PROCESS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
