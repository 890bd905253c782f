"""Runs one program in several ways and compares every result with NumPy's."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from tests.compliance.padded import padded_symbols, with_buckets, worst
from tests.fuzz.against_numpy.compare import Compared, difference
from tests.fuzz.against_numpy.dtypes import NUMPY, Array, NoMeaning
from tests.fuzz.against_numpy.generator import begin, finish, grow, new_generator
from tests.fuzz.against_numpy.inputs import arrays_of, laid_out
from tests.fuzz.against_numpy.known import allowed_refusal
from tests.fuzz.against_numpy.moves import MOVES
from tests.fuzz.against_numpy.noise import Noisy
from tests.fuzz.against_numpy.program import Program, meaning

import anyshape as ash
from anyshape.base.errors import AnyshapeError
from anyshape.execute import Executable, compile_graph
from anyshape.execute.hot_executor import HotExecutor
from anyshape.execute.padding_executor import PaddingExecutor
from anyshape.ir import Graph
from anyshape.observe.progress import ProgressLine

PLENTY = 1 << 33
NEVER = 1 << 40  # calls


@dataclass(frozen=True)
class Variant:
    """One way to compile and call a program."""

    executor: str = "native"
    threads: int = 1
    donate: tuple[str, ...] = ()
    result_cache: bool = False
    padded: bool = False  # all axes have buckets, and padding holds the worst there is
    hot: bool = False
    call: str = "plain"  # plain, out, strided_out, limits, steps, twice, hot

    def options(self) -> dict[str, Any]:
        given: dict[str, Any] = {"executor": self.executor, "threads": self.threads}
        if self.donate:
            given["donate"] = self.donate
        elif self.result_cache:
            given["result_cache"] = 1 << 24
        return given

    def as_text(self) -> str:
        return ", ".join(f"{key}={value!r}" for key, value in self.options().items())


@dataclass(frozen=True)
class Failure:
    """What went wrong; `kind` says of which sort, so that shrinking keeps to one."""

    kind: str
    text: str
    program: Program
    variant: Variant
    sizes: dict[str, int]


@dataclass
class Tally:
    """What a run saw; workers send theirs to be added up."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    ops: Counter[str] = field(default_factory=Counter)
    compared: Compared = field(default_factory=Compared)

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.refusals += other.refusals
        self.ops += other.ops
        self.compared.elements += other.compared.elements
        self.compared.unknown += other.compared.unknown


LENGTHS = (1, 2, 2, 3, 3, 4, 5, 6, 8, 11)


def random_program(seed: int, longest: int = LENGTHS[-1]) -> Program:
    generator = new_generator(seed)
    begin(generator)
    grow(generator, MOVES, min(generator.rng.choice(LENGTHS), longest))
    return finish(generator)


def variants_of(program: Program) -> list[Variant]:
    """One way or two; all are seen often over many programs."""
    rng = random.Random(program.seed + 1)
    donated = tuple(given.name for given in program.inputs if rng.random() < 0.4)
    others = [
        Variant(threads=2),
        Variant(executor="stepwise"),
        Variant(donate=donated, threads=rng.choice((1, 2))),
        Variant(result_cache=True, call="twice"),
        Variant(call="steps"),
        Variant(threads=2, call="limits"),
        Variant(padded=True),
        Variant(hot=True, call="hot"),
    ]
    first = Variant(call=rng.choice(("plain", "plain", "out", "strided_out")))
    return [first, rng.choice(others)] if rng.random() < 0.25 else [rng.choice((first, *others))]


def check(program: Program, variants: list[Variant], tally: Tally) -> Failure | None:
    """The first failure of a program."""
    tally.counts["programs"] += 1
    tally.ops.update(instruction.op for instruction in program.instructions)
    expected = [_expected(program, sizes) for sizes in program.bindings]
    for variant in variants:
        failure = _check_variant(program, variant, expected, tally)
        if failure is not None:
            return failure
    return None


Expected = tuple[dict[str, Array], dict[str, Noisy]] | None


def _expected(program: Program, sizes: dict[str, int]) -> Expected:
    try:
        arrays = arrays_of(program, sizes)
        return arrays, meaning(program, arrays, sizes)
    except NoMeaning:
        return None  # only where shrinking has cut a program


def _check_variant(
    program: Program, variant: Variant, expected: list[Expected], tally: Tally
) -> Failure | None:
    function = None
    for sizes, at in zip(program.bindings, expected, strict=True):
        if at is None:
            tally.counts["bindings without a meaning"] += 1
            continue
        try:
            if function is None:
                function = compiled(program, variant)
            wrong = _wrong(program, variant, function, at, tally)
        except AnyshapeError as error:
            if not allowed_refusal(error):
                return Failure(
                    f"refused {type(error).__name__}", str(error), program, variant, sizes
                )
            tally.refusals[f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"] += 1
            if function is None:
                return None
            continue
        except Exception as error:
            text = traceback.format_exc(limit=-3)
            return Failure(f"foreign {type(error).__name__}", text, program, variant, sizes)
        tally.counts["runs"] += 1
        tally.counts[f"by {variant.call}"] += 1
        if wrong:
            return Failure("wrong", wrong, program, variant, sizes)
    return None


def compiled(program: Program, variant: Variant) -> Any:
    names: dict[str, Any] = {"ash": ash, "np": np}
    exec(program.source(), names)
    function = ash.jit(**variant.options())(names["f"])
    if variant.padded or variant.hot:
        return Other(function, variant, program.seed)
    assert function.executable
    return function


class Other:
    """What `jit` has no options for. `executable` is as that of a jitted function."""

    def __init__(self, function: Any, variant: Variant, seed: int) -> None:
        if variant.padded:
            self.executable: Any = _padded(function.graph, seed)
        else:
            self.executable = ash.compile(
                function, hot=ash.Hot(after=NEVER, count=64), threads=variant.threads
            )

    def __call__(self, *arrays: Array) -> Any:
        results = self.executable(*arrays)
        return results[0] if len(results) == 1 else results


def _padded(graph: Graph, seed: int) -> Executable:
    symbols = padded_symbols(graph)
    executable = compile_graph(with_buckets(graph, symbols))
    if isinstance(executable.executor, PaddingExecutor):
        executable.executor.allocate = worst(seed)
    return executable


def _wrong(
    program: Program,
    variant: Variant,
    function: Any,
    expected: tuple[dict[str, Array], dict[str, Noisy]],
    tally: Tally,
) -> str | None:
    dense, values = expected
    arrays = laid_out(program, dense)
    with np.errstate(all="ignore"):
        results = CALLS[variant.call](function, list(arrays.values()), values, program)
    for name, result in zip(program.returns, results, strict=True):
        found = difference(np.asarray(result), values[name], tally.compared)
        if found:
            return f"{name}: {found}"
    return _changed(variant, arrays, dense)


def _changed(variant: Variant, arrays: dict[str, Array], before: dict[str, Array]) -> str | None:
    """An input that is not donated keeps its numbers."""
    for name, array in arrays.items():
        kept = array.tobytes() == before[name].tobytes()
        if name not in variant.donate and not kept:
            return f"the call has changed its input {name}"
    return None


# --- ways to call ---------------------------------------------------------------------------------


def _plain(function: Any, arrays: list[Array], values: dict[str, Noisy], program: Program) -> Any:
    results = function(*arrays)
    return results if len(program.returns) > 1 else (results,)


def _twice(function: Any, arrays: list[Array], values: dict[str, Noisy], program: Program) -> Any:
    _plain(function, arrays, values, program)
    return _plain(function, arrays, values, program)


def _hot(function: Any, arrays: list[Array], values: dict[str, Noisy], program: Program) -> Any:
    """By the code for these sizes, made here and now. Where no size varies, there is none."""
    executor = function.executable.executor
    if isinstance(executor, HotExecutor):
        executor.make(tuple(array.shape for array in arrays), ProgressLine("hot", None))
        before = executor.metrics()
        assert not before.hot_failures, executor.hot_lines()
        results = _plain(function, arrays, values, program)
        assert executor.metrics().hot_runs > before.hot_runs, "it ran other code"
        return results
    return _plain(function, arrays, values, program)


def _out(function: Any, arrays: list[Array], values: dict[str, Noisy], program: Program) -> Any:
    places = [_empty(values[name], 1) for name in program.returns]
    return function.executable.run(tuple(arrays), out=places)


def _strided_out(
    function: Any, arrays: list[Array], values: dict[str, Noisy], program: Program
) -> Any:
    places = [_empty(values[name], 2) for name in program.returns]
    return function.executable.run(tuple(arrays), out=places)


def _empty(value: Noisy, step: int) -> Array:
    large = np.zeros(tuple(step * n for n in value.shape), NUMPY[value.dtype])
    return large[(..., *(slice(None, None, step) for _ in value.shape))]


def _limits(function: Any, arrays: list[Array], values: dict[str, Noisy], program: Program) -> Any:
    limits = {"deadline": 600.0, "memory_limit": PLENTY, "cancellation": ash.Cancellation()}
    return function.executable.run(tuple(arrays), **limits)


def _steps(function: Any, arrays: list[Array], values: dict[str, Noisy], program: Program) -> Any:
    for taken in function.executable.steps(*arrays):
        assert taken.name
    return _plain(function, arrays, values, program)


CALLS: dict[str, Callable[..., Any]] = {
    "plain": _plain,
    "twice": _twice,
    "hot": _hot,
    "out": _out,
    "strided_out": _strided_out,
    "limits": _limits,
    "steps": _steps,
}


def simple(failure: Failure) -> Failure:
    """The same failure as seen at its binding alone."""
    return replace(failure, program=replace(failure.program, bindings=(failure.sizes,)))
