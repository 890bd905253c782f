"""Makes one session of a model, calls it at all sizes, and compares it with onnxruntime.

Allowed are what onnxruntime gives with its optimisations or without them; a typed refusal of the
model or of a call, which is counted with its reason.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.onnx_graphs import oracle
from tests.fuzz.onnx_graphs.compare import difference
from tests.fuzz.onnx_graphs.program import Program

import anyshape as ash
from anyshape.base.errors import AnyshapeError


@dataclass(frozen=True)
class Failure:
    """What must not be, and at which sizes it was."""

    kind: str
    text: str
    program: Program
    number: int


@dataclass
class Tally:
    """What came of models and calls, and which ops were compared."""

    models: Counter[str] = field(default_factory=Counter[str])
    calls: Counter[str] = field(default_factory=Counter[str])
    refusals: Counter[str] = field(default_factory=Counter[str])
    ops: Counter[str] = field(default_factory=Counter[str])

    def add(self, other: Tally) -> None:
        for name in ("models", "calls", "refusals", "ops"):
            getattr(self, name).update(getattr(other, name))


@dataclass(frozen=True)
class Call:
    """What a call gave, or what it raised."""

    results: list[Any] | None = None
    error: Exception | None = None


def check(program: Program, tally: Tally) -> Failure | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _check(program, tally)


def references(program: Program) -> list[Any]:
    """Sessions of onnxruntime without optimisations and with them, as far as it makes them."""
    found: list[Any] = []
    for optimized in (False, True):
        try:
            found.append(oracle.session(program.model(), optimized))
        except Exception:
            continue
    return found


def _check(program: Program, tally: Tally) -> Failure | None:
    others = references(program)
    if not others:
        tally.models["refused by onnxruntime"] += 1
        return None
    try:
        session = made(program)
    except AnyshapeError as error:
        tally.models["refused"] += 1
        tally.refusals[reason(error)] += 1
        return None
    except Exception as error:
        return Failure(f"session raises {type(error).__name__}", str(error), program, 0)
    tally.models["compiled"] += 1
    tally.ops.update(node.op for node in program.nodes)
    for number in range(len(program.sizes)):
        problem = _compared(program, session, others, number, tally)
        if problem is not None:
            return Failure(*problem, program, number)
    return None


def made(program: Program) -> Any:
    """Our session."""
    options = ash.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("anyshape.executor", program.executor)
    options.add_session_config_entry("anyshape.session_cache", "0")
    return ash.InferenceSession(program.model().SerializeToString(), options)


def _compared(
    program: Program, session: Any, others: list[Any], number: int, tally: Tally
) -> tuple[str, str] | None:
    feeds = program.feeds(number)
    ran = (oracle.ran(each, feeds) for each in others)
    wanted = [each for each in ran if each is not None]
    given = _call(session, feeds)
    if given.error is not None and not isinstance(given.error, AnyshapeError):
        return f"call raises {type(given.error).__name__}", str(given.error)
    if not wanted:
        tally.calls["raise"] += 1
        return None
    if given.results is None:
        tally.calls["refused"] += 1
        tally.refusals[f"call: {reason(given.error)}"] += 1
        return None
    tally.calls["compared"] += 1
    problem = difference(given.results, wanted, lambda: oracle.spread(program, number))
    return None if problem is None else ("wrong", problem)


def _call(session: Any, feeds: Any) -> Call:
    try:
        return Call(session.run(None, feeds))
    except Exception as error:
        return Call(error=error)


def reason(error: Exception | None) -> str:
    """A refusal without its names and numbers."""
    first = str(error).splitlines()[:1]
    text = re.sub(r"`[^`]*`|'[^']*'|%\w+", "_", " ".join(first))
    return f"{type(error).__name__}: {re.sub(r'[0-9]+', '#', text)}"[:170]
