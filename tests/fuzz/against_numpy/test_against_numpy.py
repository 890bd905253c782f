"""A short run of the fuzzer whose oracle is NumPy, and tests of the fuzzer itself."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.fuzz.against_numpy.check import Failure, Tally, Variant, check, random_program
from tests.fuzz.against_numpy.compare import Compared, difference
from tests.fuzz.against_numpy.generator import Move, begin, grow, new_generator
from tests.fuzz.against_numpy.inputs import LAYOUTS, arrays_of
from tests.fuzz.against_numpy.meaning import MEANINGS
from tests.fuzz.against_numpy.moves import MOVES
from tests.fuzz.against_numpy.noise import Noisy, cast, compared, exact, rounded
from tests.fuzz.against_numpy.program import Input, Instruction, Program
from tests.fuzz.against_numpy.shrink import shrunk, snippet
from tests.fuzz.against_numpy.spellings import SPELLINGS

import anyshape as ash

BLOCKS = 4
PROGRAMS = 200 // BLOCKS


@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_programs_agree_with_numpy(block: int) -> None:
    """In a process of its own: it forks for each batch, and must not have threads then."""
    seeds = ["--seed", str(400_000 + PROGRAMS * block), "--programs", str(PROGRAMS)]
    command = [sys.executable, "-m", "tests.fuzz.against_numpy", *seeds, "--longest", "2"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


# --- everything public is generated ---------------------------------------------------------------

NO_OPS = {
    "Axis", "Cancellation", "CompiledModule", "Executable", "GradientsWarning", "HostOpsWarning",
    "Hot", "Jitted", "KernelView", "ObservedSizes", "Options", "ResultCache", "Specialization",
    "Tensor", "compile", "errors", "ir", "jit", "newaxis", "AnyshapeError", "learn_buckets",
    "Ragged", "RaggedModule", "pack", "ragged", "Batch", "CallProfile", "batches", "strategies",
    "ExecutionMode", "GraphOptimizationLevel", "IOBinding", "InferenceSession", "ModelMetadata",
    "NodeArg", "OrtValue", "RunOptions", "SessionOptions", "get_available_providers", "get_device",
    "set_default_logger_severity", "LoadedExecutable", "LoadedModel", "LoadedRaggedModel",
    "load",
    "bf16", "bool", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
}  # fmt: skip
"""Public names that are no functions of tensors; the fuzzer uses most of them."""

WINDOWS = (
    "bartlett", "bartlett_window", "blackman", "blackman_window", "general_cosine_window",
    "hamming", "hamming_window", "hann_window", "hanning", "kaiser", "kaiser_window",
)  # fmt: skip

RAGGED = (
    "ragged_attention", "segment_first", "segment_ids", "segment_lengths", "segment_max",
    "segment_mean", "segment_positions", "segment_sum",
)  # fmt: skip

EXCLUDED = {
    "random": "NumPy has no generator with these streams; tests/unit/frontend has its properties",
    "conv": "against torch, at sizes that were not captured, in tests/e2e",
    "windows": "reduced, they are pools: against torch in tests/unit/frontend and tests/e2e",
    "max_pool": "as above",
    "avg_pool": "as above",
    "nms": "against onnxruntime in tests/unit/frontend",
    "worklist": "what sort, histogram and running total say together: its compliance cases",
    "ring_positions": "rings are compared with a list of positions in tests/unit/frontend",
    "ring_read": "as above",
    "ring_write": "as above",
    "fft": "against NumPy and torch, at sizes that were not captured, in tests/e2e",
    "stft": "as above, with its inverse",
    "istft": "as above",
    "grid_sample": "as above",
    "mel_weights": "a table of constants: tests/e2e compares it with triangles",
    **dict.fromkeys(
        WINDOWS, "a table of one size: against NumPy in tests/e2e, torch in tests/unit"
    ),
    "name_size": "gives a size a name: no values of its own",
    **dict.fromkeys(RAGGED, "offsets must ascend: against each sequence alone in tests/unit"),
}
EXCLUDED_METHODS = {
    "tracer": "no method: who traces",
    "value": "no method",
    "type": "no method",
    "item": "a size, no tensor; slices and shapes by it are compared in tests/unit/frontend",
}
METHODS_BY_OPERATOR = {"shape", "dtype", "ndim", "size"}


def spelled(pattern: str) -> set[str]:
    texts = " ".join(text for texts in SPELLINGS.values() for text in texts)
    return set(re.findall(pattern, texts))


def test_every_public_function_is_spelled() -> None:
    steps = {"add", "subtract", "maximum", "minimum", "multiply"}  # inside loops and branches
    used = spelled(r"\bash\.(\w+)") | steps
    missing = set(ash.__all__) - NO_OPS - set(EXCLUDED) - used
    assert not missing, f"no program has {sorted(missing)}: spell them, or say why not"


def test_every_method_is_spelled() -> None:
    public = {name for name in dir(ash.Tensor) if not name.startswith("_")}
    used = spelled(r"\{\d\}\.(\w+)") | METHODS_BY_OPERATOR
    missing = public - used - set(EXCLUDED_METHODS)
    assert not missing, f"no program has {sorted(missing)}: spell them, or say why not"


def test_what_is_spelled_has_a_meaning() -> None:
    assert set(SPELLINGS) <= set(MEANINGS)


# --- the fuzzer sees what is wrong ----------------------------------------------------------------


def program_of(*instructions: Instruction, returns: str) -> Program:
    given = Input("x0", "f32", ("a", "b"))
    return Program(1, (given,), instructions, (returns,), ({"a": 3, "b": 4},))


EXP = Instruction(("v0",), "exp", "ash.exp({0})", ("x0",))
TANH = Instruction(("v1",), "tanh", "ash.tanh({0})", ("v0",))
SUM = Instruction(("v2",), "sum", "ash.sum({0}, axis={axis})", ("v1",), (("axis", "1"),))


def test_every_move_is_made() -> None:
    """One whose meaning refuses all that it is asked would only be missed by who looks for it."""
    for move in dict.fromkeys(MOVES):
        assert any(_made_by(move, seed) for seed in range(30)), move


def _made_by(move: Move, seed: int) -> list[Instruction]:
    generator = new_generator(seed, bindings=2)
    begin(generator)
    grow(generator, [move], 1)
    return generator.instructions


def test_a_right_program_passes() -> None:
    tally = Tally()
    assert check(program_of(EXP, TANH, SUM, returns="v2"), [Variant()], tally) is None
    assert tally.compared.elements == 3


def test_a_wrong_result_is_a_failure() -> None:
    wrong = replace(TANH, spelling="ash.sin({0})")
    found = check(program_of(EXP, wrong, SUM, returns="v2"), [Variant()], Tally())
    assert found is not None
    assert found.kind == "wrong"


def test_a_refusal_is_a_failure() -> None:
    refused = replace(EXP, spelling="ash.exp({0}).reshape(7)")
    found = check(program_of(refused, TANH, SUM, returns="v2"), [Variant()], Tally())
    assert found is not None
    assert found.kind.startswith("refused")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_hold_the_same_numbers(layout: str) -> None:
    given = Input("x0", "i16", ("a", "b", "3"), "grid", layout)
    program = Program(1, (given,), (), ("x0",))
    array = arrays_of(program, {"a": 4, "b": 5})["x0"]
    np.testing.assert_array_equal(LAYOUTS[layout](array), array)


def test_the_last_bit_of_an_exact_result_counts() -> None:
    right = np.array([1.5, 2.0], np.float32)
    assert difference(right, exact(right), Compared()) is None
    off = np.nextafter(right, 3, dtype=np.float32)
    assert difference(off, exact(right), Compared()) is not None


ABORTING = """
import os
from tests.fuzz.against_numpy.isolate import Ended, each
work = lambda job: os._exit(7) if job == 2 else job
print([(item.job, item.how) if isinstance(item, Ended) else item for item in each(work, [1, 2, 3])])
"""


def test_a_crash_is_attributed_and_the_rest_goes_on() -> None:
    command = [sys.executable, "-c", ABORTING]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[1, (2, 'crash exit code 7'), 3]"


HANGING = """
import time
from tests.fuzz.against_numpy.isolate import Ended, Limits, each

def work(job):
    while job == 2:
        pass
    time.sleep(60 * (job == 3))
    return job

limits = Limits(cpu=1, looks=3, interval={interval})
print([(i.job, i.how) if isinstance(i, Ended) else i for i in each(work, {jobs}, limits=limits)])
"""


@pytest.mark.parametrize(
    ("jobs", "interval", "wanted"),
    [([1, 2, 4], 60, [1, (2, "hang"), 4]), ([3], 0.2, [(3, "hang")])],
    ids=["busy", "waiting"],
)
def test_what_computes_for_ever_or_waits_for_ever_hangs(
    jobs: list[int], interval: float, wanted: list[object]
) -> None:
    command = [sys.executable, "-c", HANGING.format(jobs=jobs, interval=interval)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == str(wanted)


def test_numbers_that_may_be_equal_are_too_close_to_call() -> None:
    """A softmax that is 1 - 4e-12, and 1 in its own type."""
    near = Noisy("f32", np.array([1 - 4e-12, 0.5], np.longdouble), np.array([1e-7, 1e-7]))
    one = exact(np.ones(2, np.float32))
    for function in (np.equal, np.not_equal, np.less, np.greater_equal):
        assert np.isinf(compared(function, near, one).error).tolist() == [True, False]
    assert np.isinf(cast(rounded("f32", near.value - 1, near.error), "bool").error).tolist() == [
        True, False,
    ]  # fmt: skip


def test_waves_of_integers_that_floats_round_are_unknown() -> None:
    """Beyond 2**24 neighbours of f32 are whole periods apart, in the end."""
    wave = MEANINGS["sin"](exact(np.array([3, 2**24 + 1, 2**60 + 1])))
    assert np.isinf(wave.error).tolist() == [False, True, True]


def test_failures_shrink_to_what_matters() -> None:
    def fails(kind: str, program: Program, variant: Variant) -> Failure | None:
        sizes = dict(program.bindings[0])
        hit = any(i.op == "tanh" for i in program.instructions) and sizes.get("b", 4) > 1
        return Failure(kind, "text", program, variant, sizes) if hit else None

    program = replace(program_of(EXP, TANH, SUM, returns="v2"), bindings=({"a": 33, "b": 4},))
    small = shrunk(Failure("wrong", "text", program, Variant(threads=2), {"a": 33, "b": 4}), fails)
    assert [i.op for i in small.program.instructions] == ["tanh"]
    assert small.variant == Variant()
    assert "ash.tanh(" in snippet(small)


def test_a_seed_gives_one_program() -> None:
    assert random_program(7) == random_program(7)
