"""Saved and loaded: the same results, reports and errors, from a file alone."""

import copy
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.harness.answers import answer_of
from tests.errors.messages import message_of
from tests.watchdog import HANGS_AFTER

import anyshape as ash
from anyshape.base.errors import (
    AnyshapeError,
    AxisConflictError,
    CapabilityError,
    DTypeError,
    ForeignFileError,
    NotSavableError,
    OptionError,
    SavedFileError,
    SavedMachineError,
    SavedVersionError,
)
from anyshape.loaded import loaded
from anyshape.runtime.machine import cpu_levels
from anyshape.saved.container import SavedFile

WEIGHT = np.random.default_rng(0).standard_normal((64, 48)).astype(np.float32)


@ash.jit(axes=[ash.Axis("seq", max=40)])
def scores(x: ash.f32["batch", "seq", 64], y: ash.i64["batch"]):
    return ash.softmax(x @ WEIGHT), y + 1, x @ WEIGHT


@ash.jit
def controlled(x: ash.f32["n"]):
    places = ash.nonzero(x > 0)[0]
    _, doubled = ash.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, s * 2), (ash.asarray(0), x)
    )
    either = ash.cond(ash.sum(x) > 0, lambda a: a + 1, lambda a: a - 1, x)
    return ash.take(x, places) * 2, doubled, either


def inputs(batch: int, seq: int) -> tuple[Any, Any]:
    random_ = np.random.default_rng(batch)
    x = random_.standard_normal((batch, seq, 64)).astype(np.float32)
    return x, np.arange(batch)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "scores.ash"
    scores.executable.save(path)
    return path


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "course.ash"
    controlled.executable.save(path)
    return path


def assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


# --- what it does ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(0, 3), (1, 1), (3, 0), (5, 37)])
def test_the_same_results(file: Path, sizes: tuple[int, int]) -> None:
    x, y = inputs(*sizes)
    again = ash.load(file)
    assert_same(again(x, y), scores.executable(x, y))
    apart = np.repeat(x, 2, axis=1)[:, ::2]
    assert_same(again(apart, y), scores.executable(x, y))
    np.testing.assert_allclose(again(x, y)[2], x @ WEIGHT, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n", [0, 1, 7, 100])
def test_branches_loops_and_late_sizes(course: Path, n: int) -> None:
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    assert_same(ash.load(course)(x), controlled.executable(x))
    np.testing.assert_array_equal(ash.load(course)(x)[0], x[x > 0] * 2)


def test_reports_are_those_of_the_executable(file: Path) -> None:
    executable, again = scores.executable, ash.load(file, threads=1)
    assert again.as_text() == executable.as_text()
    assert again.axes == executable.axes
    assert [k.as_text() for k in again.kernels] == [k.as_text() for k in executable.kernels]
    explained, expected = again.explain(batch=2, seq=3), executable.explain(batch=2, seq=3)
    assert explained.specialization == expected.specialization
    assert (explained.applied, explained.refused) == (expected.applied, expected.refused)
    assert [str(report) for report in explained.passes] == list(map(str, expected.passes))
    fits = again.largest("batch", memory="1 MiB", seq=3)
    assert fits == executable.largest("batch", memory="1 MiB", seq=3)
    assert again.executable.source == executable.source
    assert again.executable.graph == executable.graph
    steps = zip(again.steps(*inputs(2, 3)), executable.steps(*inputs(2, 3)), strict=True)
    for one, other in steps:
        assert one.name == other.name
        assert_same(one.values, other.values)


WRONG: list[tuple[type[AnyshapeError], Callable[[], tuple[Any, ...]]]] = [
    (AxisConflictError, lambda: (inputs(2, 3)[0], inputs(3, 3)[1])),
    (DTypeError, lambda: (inputs(2, 3)[0].astype(np.float64), inputs(2, 3)[1])),
    (AnyshapeError, lambda: inputs(2, 41)),
    (AnyshapeError, lambda: inputs(2, 3)[:1]),
    (AnyshapeError, lambda: ([1, 2], 3)),
]


@pytest.mark.parametrize(("error", "arrays"), WRONG)
def test_errors_are_in_the_words_of_the_model(
    file: Path, error: type[AnyshapeError], arrays: Callable[[], tuple[Any, ...]]
) -> None:
    with pytest.raises(error) as expected:
        scores.executable(*arrays())
    with pytest.raises(error) as found:
        ash.load(file)(*arrays())
    assert str(found.value) == str(expected.value)


def test_compiled_anew(file: Path, course: Path) -> None:
    again = ash.load(file, recompile=True)
    assert isinstance(again, ash.Executable)
    assert_same(again(*inputs(3, 5)), scores.executable(*inputs(3, 5)))
    x = np.linspace(-1, 1, 9, dtype=np.float32)
    plain = ash.load(course, recompile=True, executor="reference")
    assert_same(plain(x), controlled.executable(x))


def test_pickled_and_copied(file: Path) -> None:
    for thing in (scores.executable, ash.load(file)):
        again = pickle.loads(pickle.dumps(thing))
        assert_same(again(*inputs(2, 3)), scores.executable(*inputs(2, 3)))
        assert copy.copy(thing) is copy.deepcopy(thing) is thing


def test_saved_again_it_is_the_same_file(file: Path, tmp_path: Path) -> None:
    ash.load(file).save(tmp_path / "again.ash")
    assert (tmp_path / "again.ash").read_bytes() == file.read_bytes()


# --- in a process of its own ----------------------------------------------------------------------

ALONE = """
import sys
import numpy as np
import anyshape as ash
again = ash.load(sys.argv[1])
print([result.shape for result in again(np.ones((2, 3, 64), np.float32), np.arange(2))])
print([name for name in ("torch", "onnx", "llvmlite", "anyshape.passes") if name in sys.modules])
"""


def test_nothing_that_compiles_is_loaded(file: Path) -> None:
    command = [sys.executable, "-c", ALONE, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    *_, shapes, modules = done.stdout.splitlines()
    assert shapes == "[(2, 3, 48), (2,), (2, 3, 48)]"
    assert modules == "[]"


SHARED = """
import sys
import numpy as np
import anyshape as ash
again = ash.load(sys.argv[1])
again(np.ones((1, 2048), np.float32))
print("loaded", flush=True)
sys.stdin.readline()
"""


def pages_of(process: subprocess.Popen[str], file: str) -> dict[str, int]:
    """KiB of a file in a process, by kind: PSS counts a page for each of those who have it."""
    text = Path(f"/proc/{process.pid}/smaps").read_text()
    part = text[text.index(file) :]
    kinds = ("Rss", "Pss", "Private_Dirty")
    found = {kind: re.search(rf"{kind}: +([0-9]+) kB", part) for kind in kinds}
    return {kind: int(match[1]) for kind, match in found.items() if match}


def test_processes_share_the_weights(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).standard_normal((2048, 1024)).astype(np.float32)

    @ash.jit
    def product(x: ash.f32["n", 2048]):
        return x @ weight

    path = tmp_path / "large.ash"
    product.executable.save(path)
    command, pipe = [sys.executable, "-c", SHARED, str(path)], subprocess.PIPE
    both = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(2)]
    try:
        for process in both:
            assert answer_of(process, HANGS_AFTER) == "loaded\n"
        shared = pages_of(both[0], path.name)
        both[1].communicate("\n", timeout=HANGS_AFTER)
        alone = pages_of(both[0], path.name)
    finally:
        for process in both:
            process.kill()
            process.communicate()
    kib = weight.nbytes // 1024
    assert shared["Rss"] >= kib
    assert shared["Private_Dirty"] == 0
    assert shared["Pss"] <= 0.51 * shared["Rss"], "half of what both have is counted for each"
    assert alone["Pss"] >= shared["Pss"] + 0.45 * kib, "what is not shared is counted whole"


# --- refusals -------------------------------------------------------------------------------------


def changed(file: Path, **manifest: object) -> SavedFile:
    opened = SavedFile.open(file)
    opened.manifest.update(manifest)
    return opened


def test_other_versions_and_machines(file: Path) -> None:
    fix = "fix: compile the model that is in the file: anyshape.load(..., recompile=True)"
    version = message_of(SavedVersionError, lambda: loaded(changed(file, runtime="another")))
    assert version == f"{file} was saved by another version of anyshape\n{fix}"
    other = [["native", "Z80", "z80", 0, []]]
    machine = message_of(SavedMachineError, lambda: loaded(changed(file, targets=other)))
    assert machine == (
        f"{file} has code for another CPU (z80), which this machine does not run: "
        f"it is {cpu_levels()[0]}\n{fix}"
    )


def test_no_file_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    assert message_of(ForeignFileError, lambda: ash.load(path)).startswith(f"{path} is empty\n")
    with pytest.raises(FileNotFoundError):
        ash.load(tmp_path / "missing.ash")


def test_wrong_options(file: Path) -> None:
    message = message_of(OptionError, lambda: ash.load(file, executor="native"))
    assert "left out, or given with recompile=True" in message
    with pytest.raises(OptionError):
        ash.load(file, threads=-1)


def test_damaged_files_are_refused_and_nothing_crashes(file: Path) -> None:
    """Of the file as it is, and of files whose hashes are right: there only the graph is read."""
    content, chance = file.read_bytes(), random.Random(19)
    for _ in range(60):
        damaged = bytearray(content)
        for _ in range(chance.choice((1, 1, 4, 64))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        memory = memoryview(bytes(damaged[: chance.choice((None, chance.randrange(len(content))))]))
        if bytes(memory) == content:
            continue
        try:
            again = loaded(SavedFile("damaged.ash", memory))
        except SavedFileError:
            continue
        assert_same(again(*inputs(2, 3)), scores.executable(*inputs(2, 3)))  # padding was changed


@pytest.mark.parametrize(
    ("keywords", "what", "fix"),
    [
        ({"executor": "stepwise"}, "the stepwise executor", 'compile it with executor="native"'),
        ({"executor": "reference"}, "the reference executor", 'compile it with executor="native"'),
        ({"result_cache": 1000}, "a cache of results", "compile it without result_cache"),
        (
            {"options": ash.Options(target="interpreter")},
            "kernels that are no machine code",
            "compile it for the native target",
        ),
    ],
)
def test_what_cannot_be_saved(tmp_path: Path, keywords: Any, what: str, fix: str) -> None:
    @ash.jit
    def plus(x: ash.f32["n"]):
        return x + 1

    executable = ash.compile(plus, **keywords)
    path = tmp_path / "plus.ash"
    assert message_of(NotSavableError, lambda: executable.save(path)) == (
        f"'plus' cannot be saved: it has {what}\nfix: {fix}"
    )
    assert not path.exists()


def test_steps_of_a_loaded_course(course: Path) -> None:
    call = ash.load(course).steps(np.ones(3, np.float32))
    assert message_of(CapabilityError, lambda: next(call)) == (
        "the native executor has no steps of a loaded graph that branches, loops or has late "
        "sizes\nfix: load it with recompile=True"
    )
