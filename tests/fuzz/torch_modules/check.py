"""Captures a module at its example's sizes, and compares it with eager mode at all others.

Allowed are the same result and the same writes into inputs; a typed error of a call, because a
condition of the captured program does not hold; a typed refusal of the module. Where eager mode
raises, so must we. A captured module takes its own example.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import torch
from tests.fuzz.torch_modules.program import Program, Sizes
from torch.utils import _pytree as pytree

import anyshape as ash
from anyshape.base.errors import AnyshapeError

TOLERANCE = 2e-4


@dataclass(frozen=True)
class Failure:
    """What must not be, and at which sizes it was."""

    kind: str
    text: str
    program: Program
    sizes: Sizes


@dataclass
class Tally:
    """What came of modules and calls, and which moves there were."""

    modules: Counter[str] = field(default_factory=Counter[str])
    calls: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[str] = field(default_factory=Counter[str])
    moves: Counter[str] = field(default_factory=Counter[str])

    def add(self, other: Tally) -> None:
        for name in ("modules", "calls", "refusals", "moves"):
            getattr(self, name).update(getattr(other, name))


@dataclass(frozen=True)
class Outcome:
    """What a call gave, and its arguments afterwards; or what it raised."""

    leaves: list[Any] = field(default_factory=list[Any])
    shape: Any = None
    error: Exception | None = None


def check(program: Program, tally: Tally) -> Failure | None:
    with TemporaryDirectory() as folder, warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return _check(program, program.module(folder if program.in_file else None).eval(), tally)


def _check(program: Program, module: Any, tally: Tally) -> Failure | None:
    args, kwargs = program.call(program.example)
    try:
        compiled = ash.compile(
            module, args, kwargs, axes=program.axes(), executor=program.executor, threads=1
        )
    except AnyshapeError as error:
        tally.modules["refused"] += 1
        tally.refusals[reason(error)] += 1
        return None
    except Exception as error:
        return Failure(
            f"compile raises {type(error).__name__}", str(error), program, program.example
        )
    tally.modules["captured"] += 1
    tally.moves.update(statement.move for statement in program.statements)
    for number, sizes in enumerate((program.example, *program.others)):
        problem = _compared(program, module, compiled, sizes, number, tally)
        if problem is not None:
            return Failure(*problem, program, sizes)
    return None


def _compared(
    program: Program, module: Any, compiled: Any, sizes: Sizes, number: int, tally: Tally
) -> tuple[str, str] | None:
    wanted = outcome(module, *program.call(sizes, number))
    given = outcome(compiled, *program.call(sizes, number))
    if given.error is not None and not isinstance(given.error, AnyshapeError):
        return f"call raises {type(given.error).__name__}", str(given.error)
    if wanted.error is not None:
        tally.calls["raise"] += 1
        if given.error is None and program.whole and not is_answered(wanted.error):
            return "answers where eager raises", repr(wanted.error)
        return None
    if given.error is not None:
        tally.calls["refused"] += 1
        return ("refuses its own example", str(given.error)) if number == 0 else None
    tally.calls["compared"] += 1
    problem = difference(given, wanted, Precise(program, sizes, number))
    return None if problem is None else ("wrong", problem)


ANSWERED = (
    "is ambiguous",  # a -1 in the shape of nothing: any size will do
    "single memory location",  # what is read and written overlap: all is read before
)


def is_answered(error: Exception) -> bool:
    """Whether eager mode refuses what has an answer, and 0034 says that we give it."""
    return any(text in str(error) for text in ANSWERED)


def outcome(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return Outcome(error=error)
    leaves, shape = pytree.tree_flatten((result, args, kwargs))
    return Outcome(leaves, shape)


@dataclass(frozen=True)
class Precise:
    """Eager mode in f64: what rounding makes of a result is the difference to that."""

    program: Program
    sizes: Sizes
    number: int

    def leaves(self) -> list[Any] | None:
        args, kwargs = pytree.tree_map(_as_double, self.program.call(self.sizes, self.number))
        with suppress(Exception):
            torch.set_default_dtype(torch.float64)
            try:
                return outcome(self.program.module().double().eval(), args, kwargs).leaves
            finally:
                torch.set_default_dtype(torch.float32)
        return None


def _as_double(value: Any) -> Any:
    return value.double() if value.is_floating_point() else value


def difference(given: Outcome, wanted: Outcome, precise: Precise) -> str | None:
    """In words; None if they are the same as far as rounding allows."""
    if given.shape != wanted.shape:
        return f"{given.shape} instead of {wanted.shape}"
    pairs = list(zip(given.leaves, wanted.leaves, strict=True))
    problems = [(i, _unlike(a, b, None)) for i, (a, b) in enumerate(pairs)]
    found = [(i, problem) for i, problem in problems if problem is not None]
    if not found:
        return None
    exact = precise.leaves() or []
    for i, problem in found:
        still = problem
        if len(exact) == len(pairs):
            still = _unlike(*pairs[i], exact[i])
        if still is not None:
            return f"result {i}: {still}"
    return None


def _unlike(given: Any, wanted: Any, exact: Any) -> str | None:
    if not isinstance(wanted, torch.Tensor):
        same = type(given) is type(wanted) and given == wanted
        return None if same else f"{given!r} instead of {wanted!r}"
    if not isinstance(given, torch.Tensor):
        return f"{given!r} instead of a tensor"
    if given.shape != wanted.shape or given.dtype != wanted.dtype:
        have, want = (f"{each.dtype} {tuple(each.shape)}" for each in (given, wanted))
        return f"{have} instead of {want}"
    if exact is not None and exact.shape != wanted.shape:
        return None  # rounding decides its size
    left, right = given.double(), wanted.double()
    noise = torch.zeros(()) if exact is None else (right - exact.double()).abs().nan_to_num(1e9)
    bound = TOLERANCE * (1 + right.abs()) + 50 * noise
    same = (left == right) | (left.isnan() & right.isnan()) | ((left - right).abs() <= bound)
    if exact is not None and noise.numel() and noise.max() > 0.1:
        return None  # rounding decides an element, and others may follow from it
    return None if bool(same.all()) else f"{given} instead of {wanted}"


def reason(error: AnyshapeError) -> str:
    """A refusal without its names, numbers and line."""
    text = str(error).splitlines()
    first = re.sub(r" at /.*", "", re.sub(r"`.*`", "`...`", " ".join(text[:2])))
    first = re.sub(r"'[^']*'", "'_'", re.sub(r"\S*/module_\d+.py:\d+|<string>:\d+", "_", first))
    return f"{type(error).__name__}: {re.sub(r'[0-9]+', '#', first)}"[:170]
