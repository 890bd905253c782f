"""What becomes of a case: run as it is, and with every size of its inputs symbolic.

As it is: a session loads the model, runs it and gives as many outputs as expected, of the expected
dtypes, shapes and values. First with `strict`, which lets no op run on the host by Python; without
it if that is refused. Symbolic: one program for all sizes, run at the case's own size and at a
second one, which onnxruntime or onnx.reference computes too.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator
from tests.conformance.cases import NodeCase

import anyshape as ash
from anyshape.base.errors import AnyshapeError

Array = Any
Status = Literal["passes", "refused", "wrong", "-"]

TOLERANCE = {"bfloat16": 2.0**-6, "float16": 2.0**-9}
"""Two units in the last place, as the suite's own runner allows for bfloat16: the expected values
are rounded after every op of a definition."""

NOISE = {"test_dft_inverse": 1e-5, "test_dft_inverse_opset19": 1e-5}
"""Where exact results are 0 and those that are expected are what rounding in 32 bits left of it."""


@dataclass(frozen=True)
class Outcome:
    """How a case ends as it is, strictly, symbolic at its own size, and at a second size; why if
    refused, the first of these."""

    plain: Status = "-"
    strict: Status = "-"
    symbolic: Status = "-"
    second: Status = "-"
    why: str = ""

    @property
    def statuses(self) -> tuple[Status, ...]:
        return self.plain, self.strict, self.symbolic, self.second

    @property
    def line(self) -> str:
        return " ".join((*self.statuses, self.why)).strip()

    @staticmethod
    def of(line: str) -> Outcome:
        plain, strict, symbolic, second, *why = line.split(" ", 4)
        return Outcome(plain, strict, symbolic, second, *why)  # pyright: ignore[reportArgumentType]


def session_of(model: Any, executor: str, *, strict: bool = False) -> Any:
    options = ash.SessionOptions()
    options.add_session_config_entry("anyshape.executor", executor)
    options.add_session_config_entry("anyshape.strict", str(int(strict)))
    return ash.InferenceSession(model, options)


def outcome_of(
    case: NodeCase, executor: str = "native", known: Outcome | None = None, *, plain: bool = False
) -> Outcome:
    """`plain` leaves the symbolic runs out; with what is `known`, these alone are made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = known or _as_it_is(case, executor)
        return found if plain or found.plain != "passes" else _symbolic(case, executor, found)


def _as_it_is(case: NodeCase, executor: str) -> Outcome:
    """One compile if the case passes strictly."""
    native = executor != "reference"
    strict, refused = _compared(case, executor, strict=True) if native else ("-", "")
    if strict in ("passes", "wrong"):
        return Outcome(strict, strict)
    plain, why = _compared(case, executor, strict=False)
    return Outcome(plain, strict if plain == "passes" else "-", why=why or refused)


def _compared(case: NodeCase, executor: str, *, strict: bool) -> tuple[Status, str]:
    try:
        session = session_of(case.model, executor, strict=strict)
        good = all(alike(session.run(None, feeds), wanted, case) for feeds, wanted in case.data)
    except (AnyshapeError, ValueError) as error:
        return "refused", reason(error)
    return "passes" if good else "wrong", ""


def alike(found: list[Array], wanted: list[Array], case: NodeCase) -> bool:
    """Whether outputs are as expected: their number, dtypes, shapes and values."""
    if len(found) != len(wanted):
        return False
    return all(_alike(*pair, case) for pair in zip(found, wanted, strict=True))


def _alike(found: Array, wanted: Array, case: NodeCase) -> bool:
    if found is None or wanted is None:
        return found is wanted
    if isinstance(found, list) or isinstance(wanted, list):
        return type(found) is type(wanted) and alike(found, wanted, case)
    wanted = np.asarray(wanted)
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return False
    rtol = max(case.rtol, TOLERANCE.get(str(found.dtype), 0.0))
    exact = found.dtype.kind in "biu"
    left, right = (each if exact else each.astype(np.float64) for each in (found, wanted))
    if exact:
        return bool(np.array_equal(left, right))
    atol = NOISE.get(case.name, case.atol)
    return bool(np.allclose(left, right, rtol, atol, equal_nan=True))


def reason(error: Exception) -> str:
    """The one line of an error that says what is missing."""
    lines = [line.strip() for line in str(error).split("\n")]
    known = [line for line in lines if line and not line.startswith("fix:")]
    known[0] = known[0].split(" : ")[-1]
    text = known[1] if len(known) > 1 and known[0].endswith("know:") else known[0]
    return text.split(" (1) at ")[0].split("): ")[-1][:110]


# --- symbolic -------------------------------------------------------------------------------------


def _symbolic(case: NodeCase, executor: str, plain: Outcome) -> Outcome:
    model = with_symbols(case.model)
    (feeds, wanted), *_ = case.data
    try:
        session = session_of(model, executor)
        found = session.run(None, feeds)
    except AnyshapeError as error:
        return replace(plain, symbolic="refused", why=plain.why or reason(error))
    if not alike(found, wanted, case):
        return replace(plain, symbolic="wrong")
    static = session._programs.static
    other = {n: x if n in static and _is_array(x) else larger(x) for n, x in feeds.items()}
    expected = _expected(model, other) if _sizes(other) != _sizes(feeds) else None
    if expected is None:
        return replace(plain, symbolic="passes")
    second, why = _at_second(session, other, expected, case)
    return replace(plain, symbolic="passes", second=second, why=plain.why or why)


def _at_second(
    session: Any, feeds: dict[str, Array], expected: list[Array], case: NodeCase
) -> tuple[Status, str]:
    try:
        found = session.run(None, feeds)
    except AnyshapeError as error:
        return "refused", reason(error)
    one_program = session._programs.made == 1
    return ("passes" if one_program and alike(found, expected, case) else "wrong"), ""


def with_symbols(model: Any) -> Any:
    """The same model with no size given for any input, and no other shapes."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.graph.value_info[:]
    for value in made.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    for value in made.graph.output:
        value.type.tensor_type.ClearField("shape")
    return made


def _sizes(feeds: dict[str, Array]) -> list[Any]:
    """Of all inputs: a case of scalars has no second size."""
    lists = (x if isinstance(x, list) else [x] for x in feeds.values())
    return [np.shape(each) for each_of in lists for each in each_of if each is not None]


def _is_array(x: Array) -> bool:
    return isinstance(x, np.ndarray)


def larger(x: Array) -> Array:
    """Sizes above 1 are larger by 1, so that those that were the same still are. Elements are
    repeated: indices stay in range."""
    if x is None or isinstance(x, list):
        return x if x is None else [larger(each) for each in x]
    shape = tuple(size + 1 if size > 1 else size for size in x.shape)
    return np.resize(x, shape) if x.size else np.zeros(shape, x.dtype)


def _expected(model: Any, feeds: dict[str, Array]) -> list[Array] | None:
    """By onnxruntime, or else by onnx.reference; None if neither has a result."""
    try:
        quiet = onnxruntime.SessionOptions()
        quiet.log_severity_level = 4
        peer = onnxruntime.InferenceSession(model.SerializeToString(), quiet)
        return peer.run(None, feeds)
    except Exception:
        pass
    try:
        return list(ReferenceEvaluator(model).run(None, feeds))
    except Exception:
        return None
