"""Generated kernels touch nothing outside their buffers, at any size, whatever the data say."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import thinned
from tests.fork_server import ForkServer
from tests.guard import dtypes
from tests.guard.models import FAMILIES

from anyshape.execute.target import executable_isas

ROOT = Path(__file__).parents[2]

SHORT_BUFFER = """
import sys
from dataclasses import replace
from tests.guard.run import entries_of, run
from tests.unit.codegen.emit import examples
from anyshape.sym import Dim
kernel = examples.gelu_kernel()
buffers = list(kernel.buffers)
which = int(sys.argv[1])
short = tuple(map(Dim.of, ("n0", "n1 - 1")))
buffers[which] = replace(buffers[which], shape=short)
run(replace(kernel, buffers=tuple(buffers)), entries_of([kernel])[0], [3, 67], at_end=True)
"""

SHORT_SCRATCH = """
from dataclasses import replace
from tests.guard.dtypes import product
from tests.guard.run import entries_of, kernels_of, run
from anyshape.execute.target import target_for
from anyshape.ir.types import f16
kernel, _ = next(iter(kernels_of(product(f16, "km,kn->mn"), target_for().tiling)))
kernel = replace(kernel, stack_bytes=-1)
short = tuple(replace(b, shape=(b.shape[0] - 1, b.shape[1])) for b in kernel.scratch)
assert all(b.shape[0].evaluate({s: 6 for s in kernel.sizes}) == 5 for b in short)
run(replace(kernel, scratch=short), entries_of([kernel])[0], [6, 6, 6], at_end=True)
"""


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    server = ForkServer("tests.guard.run")
    yield server
    server.close()


BEST, *LESSER = executable_isas()
ONE_OF = 3
"""Of families with a graph for every dtype, one graph in so many runs on lesser instruction sets,
on each other ones, in `make test`. All other families are whole on every set."""


def share(family: str, isa: str) -> tuple[int, int]:
    """Which graphs of a family run on an instruction set: the first, and then one in so many."""
    is_sampled = thinned.leaves_out() and isa != BEST and family in dtypes.FAMILIES
    return (LESSER.index(isa), ONE_OF) if is_sampled else (0, 1)


@pytest.mark.parametrize("isa", executable_isas())
@pytest.mark.parametrize("family", FAMILIES)
def test_no_access_outside_buffers(server: ForkServer, family: str, isa: str) -> None:
    process = server.run(family, *map(str, share(family, isa)), ANYSHAPE_ISA=isa)
    kernel = process.stdout.rpartition("kernel (")
    assert process.returncode == 0, f"kernel ({kernel[2]}\n{process.stderr}"
    runs = int(process.stdout.split()[-2])
    assert runs > 20


@pytest.mark.parametrize("which", ["0", "1"], ids=["read", "written"])
def test_an_access_outside_is_noticed(which: str) -> None:
    """The harness itself: a buffer that is three elements shorter than the kernel believes."""
    assert run_python("-c", SHORT_BUFFER, which).returncode == -signal.SIGSEGV


def test_an_access_outside_scratch_is_noticed() -> None:
    """Scratch that is one row shorter than the kernel believes, though it would be on the stack."""
    assert run_python("-c", SHORT_SCRATCH).returncode == -signal.SIGSEGV


def test_a_share_of_every_dtype_runs_on_lesser_instruction_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever names tests, and `make test-all`, runs all of them everywhere."""
    every, plain = next(iter(dtypes.FAMILIES)), "dot"
    monkeypatch.setenv(thinned.VARIABLE, thinned.SOME)
    assert [share(every, isa) for isa in LESSER] == [(n, ONE_OF) for n in range(len(LESSER))]
    assert {share(every, BEST), *(share(plain, isa) for isa in LESSER)} <= {(0, 1)}
    monkeypatch.setenv(thinned.VARIABLE, thinned.ALL)
    assert {share(every, isa) for isa in executable_isas()} == {(0, 1)}
