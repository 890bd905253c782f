"""One file for several kinds of machines: each loads the best code that it runs."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.errors.messages import message_of

import anyshape as ash
from anyshape.base.errors import (
    CodeError,
    DamagedFileError,
    NotSavableError,
    OptionError,
    SavedMachineError,
)
from anyshape.cli.app import main
from anyshape.codegen.llvm.levels import LEVELS, level_named
from anyshape.loaded import loaded
from anyshape.runtime.machine import cpu_levels
from anyshape.saved import targets
from anyshape.saved.container import SavedFile
from anyshape.saved.targets import SavedTarget, targets_of

RANDOM = np.random.default_rng(0)
WEIGHT = RANDOM.standard_normal((64, 48)).astype(np.float32)
BYTES = RANDOM.integers(-9, 9, (32, 24), np.int8)
FIX = "fix: compile the model that is in the file: anyshape.load(..., recompile=True)"

ELF_MACHINES = {"x86-64": 62, "x86-64-v3": 62, "x86-64-v4": 62, "aarch64": 183}


@ash.jit
def layer(x: ash.f32["batch", "seq", 64]):
    h = ash.gelu(x @ WEIGHT)
    return ash.softmax(h), ash.sum(h, axis=1)


@ash.jit
def looped(x: ash.f32["n"]):
    doubled = ash.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * 2), (ash.asarray(0), x))
    return ash.take(x, ash.nonzero(x > 0)[0]), doubled[1]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "layer.ash"
    layer.executable.save(path, targets=LEVELS)
    return path


def opened(file: Path) -> tuple[SavedFile, dict[str, SavedTarget]]:
    saved = SavedFile.open(file)
    return saved, {each.name: each for each in targets_of(saved)}


def expected(x: Any) -> tuple[Any, Any]:
    """By NumPy alone."""
    h = x.astype(np.float64) @ WEIGHT
    h = h * 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(h / np.sqrt(2)))
    e = np.exp(h - h.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True), h.sum(1)


def assert_right(model: Any) -> None:
    for batch, seq in ((2, 3), (0, 5), (1, 1), (3, 0), (5, 37)):
        x = RANDOM.standard_normal((batch, seq, 64)).astype(np.float32)
        for one, other in zip(model(x), expected(x), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


# --- loading --------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_a_machine_takes_the_best_that_it_runs(
    file: Path, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if level not in cpu_levels():
        pytest.skip(f"this CPU does not run {level}: its code is compiled, not run")
    levels = cpu_levels()[cpu_levels().index(level) :]
    monkeypatch.setattr(targets, "cpu_levels", lambda: levels)
    model = ash.load(file)
    assert model.targets[0] == level
    assert sorted(model.targets) == sorted(LEVELS)
    assert_right(model)
    assert model.kernels[0].isa == LEVELS[level].isa


def test_this_very_cpu_comes_before_its_level(tmp_path: Path) -> None:
    best = cpu_levels()[0]
    layer.executable.save(tmp_path / "both.ash", targets=[best, "native"])
    assert ash.load(tmp_path / "both.ash").targets == ("native", best)
    assert_right(ash.load(tmp_path / "both.ash"))


def test_code_is_of_its_machine(file: Path) -> None:
    saved, by_name = opened(file)
    for name, target in by_name.items():
        codes = [blob for blob in map(saved.blob, target.blobs) if bytes(blob[:4]) == b"\x7fELF"]
        assert len(codes) >= 2
        machines = {int.from_bytes(code[18:20], "little") for code in codes}
        assert machines == {ELF_MACHINES[name]}


def test_equal_weights_are_there_once(file: Path) -> None:
    """Panels of AVX2 and of NEON have the same columns; those of AVX-512 have others."""
    saved, by_name = opened(file)

    def large(name: str) -> set[int]:
        return {n for n in by_name[name].blobs if len(saved.blob(n)) >= WEIGHT.nbytes}

    assert large("x86-64-v3") & large("aarch64")
    assert not large("x86-64-v3") & large("x86-64-v4")


def test_no_code_for_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "cpu_levels", lambda: ("x86-64",))
    path = tmp_path / "others.ash"
    layer.executable.save(path, targets=["x86-64-v4", "aarch64"])
    assert message_of(SavedMachineError, lambda: ash.load(path)) == (
        f"{path} has code for x86-64-v4, aarch64, which this machine does not run: it is x86-64\n"
        f"{FIX}"
    )
    assert_right(ash.load(path, recompile=True))


def test_what_others_need_may_be_damaged(file: Path) -> None:
    """A machine checks what it runs; the rest only costs it nothing."""
    saved, by_name = opened(file)
    best = by_name[cpu_levels()[0]]
    foreign = min(set(by_name["aarch64"].blobs) - set(best.blobs))
    for number, is_refused in ((foreign, False), (best.root, True)):
        content = bytearray(saved.memory)
        start = bytes(content).index(bytes(saved.blob(number)))
        content[start + 3] ^= 1
        damaged = SavedFile("damaged.ash", memoryview(bytes(content)))
        if is_refused:
            with pytest.raises(DamagedFileError):
                loaded(damaged)
        else:
            assert_right(loaded(damaged))


@pytest.mark.parametrize("table", [None, [], [[]], [["x86-64", "", "sse2", 10**9, []]], 7])
def test_tables_of_targets_that_lie(file: Path, table: object) -> None:
    saved = SavedFile.open(file)
    saved.manifest["targets"] = table
    with pytest.raises(DamagedFileError):
        loaded(saved)


# --- what is saved --------------------------------------------------------------------------------


def test_courses_and_single_shapes(tmp_path: Path) -> None:
    looped.executable.save(tmp_path / "looped.ash", targets=["x86-64", "aarch64"])
    for n in (0, 1, 9):
        x = np.linspace(-1, 1, n, dtype=np.float32)
        chosen, doubled = ash.load(tmp_path / "looped.ash", recompile="x86-64" not in cpu_levels())(
            x
        )
        np.testing.assert_array_equal(chosen, x[x > 0])
        np.testing.assert_array_equal(doubled, x * 8)

    @ash.jit
    def fixed(x: ash.f32[3, 64]):
        return x @ WEIGHT

    fixed.executable.save(tmp_path / "fixed.ash", targets=["aarch64"])
    ones = np.ones((3, 64), np.float32)
    (found,) = ash.load(tmp_path / "fixed.ash", recompile=True)(ones)
    np.testing.assert_allclose(found, ones @ WEIGHT, rtol=1e-4, atol=1e-5)


def test_weights_in_groups_are_read_back(tmp_path: Path) -> None:
    """Products of bytes have groups of rows in their panels; recompiling unpacks them."""

    @ash.jit
    def product(x: ash.i32["n", 32]):
        return x @ BYTES.astype(np.int32)

    product.executable.save(tmp_path / "bytes.ash", targets=LEVELS)
    x = RANDOM.integers(-9, 9, (5, 32), np.int32)
    (found,) = ash.load(tmp_path / "bytes.ash", recompile=True)(x)
    np.testing.assert_array_equal(found, x @ BYTES.astype(np.int32))


def test_the_executable_stays_as_it_was(file: Path) -> None:
    """Its weights were unpacked and packed otherwise meanwhile."""
    assert_right(layer.executable)


def test_code_of_a_level_is_not_called_here() -> None:
    again = layer.executable.again
    assert again is not None
    other = again(level_named("aarch64"))
    with pytest.raises(CodeError):
        other(np.ones((1, 1, 64), np.float32))
    with pytest.raises(CodeError):
        other.specialize(batch=1, seq=1)


# --- refusals -------------------------------------------------------------------------------------


def test_unknown_targets(tmp_path: Path) -> None:
    path = tmp_path / "layer.ash"
    known = "one of native, x86-64-v4, x86-64-v3, x86-64, aarch64"
    message = message_of(OptionError, lambda: layer.executable.save(path, targets=["x86-64-v9"]))
    assert message.startswith(f"targets='x86-64-v9' is not {known}\nfix: ")
    message = message_of(OptionError, lambda: layer.executable.save(path, targets="aarch64"))
    assert "a list of targets" in message
    assert not path.exists()


def test_a_loaded_one_has_what_its_file_has(file: Path, tmp_path: Path) -> None:
    layer.executable.save(tmp_path / "one.ash")
    again = ash.load(tmp_path / "one.ash")
    for thing in (again, again.executable):
        message = message_of(
            NotSavableError,
            lambda thing=thing: thing.save(tmp_path / "two.ash", targets=["aarch64"]),
        )
        assert message == (
            "'layer' cannot be saved: it has no code for aarch64, and nothing to compile\n"
            "fix: load the file with recompile=True, then save that"
        )
    ash.load(file).save(tmp_path / "same.ash", targets=["aarch64"])
    assert (tmp_path / "same.ash").read_bytes() == file.read_bytes()


# --- the command ----------------------------------------------------------------------------------


def test_the_command_names_targets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "functions_for_targets.py").write_text(
        "import anyshape as ash\n\n\n@ash.jit\ndef twice(x: ash.f32['n']):\n    return x * 2\n"
    )
    several = ["--target", "aarch64,x86-64-v3", "--target", "x86-64"]
    named = "functions_for_targets:twice"
    assert main(["compile", named, "-o", "twice.ash", *several]) == 0
    capsys.readouterr()
    assert main(["inspect", "twice.ash", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sorted(told["targets"]) == ["aarch64", "x86-64", "x86-64-v3"]
    assert main(["compile", named, "--target", "pdp11"]) == 1
    assert "'pdp11'" in capsys.readouterr().err
