"""BindingPlan: from shapes to sizes, with errors that name inputs, axes and values."""

import pytest

from anyshape.base.errors import (
    AnyshapeError,
    AxisConflictError,
    AxisMultipleError,
    AxisRangeError,
    DimError,
    DimMismatchError,
    FactViolationError,
    RankMismatchError,
    UnboundAxisError,
)
from anyshape.sym import Axis, BindingPlan, Dim, Fact, Facts, Origin, Symbol, parse_predicate

Shapes = list[tuple[int, ...]]


def plan(inputs: dict[str, str], facts: Facts | None = None, late: str = "") -> BindingPlan:
    patterns = [
        (f"input '{name}'", tuple(Dim.of(dim.strip()) for dim in dims.split(",") if dim.strip()))
        for name, dims in inputs.items()
    ]
    return BindingPlan.make(patterns, facts or Facts(), frozenset(map(Symbol, late.split())))


def solved(made: BindingPlan, shapes: Shapes) -> dict[str, int]:
    return {symbol.name: size for symbol, size in made.solve(shapes).items()}


def facts(*texts: str, axes: tuple[Axis, ...] = ()) -> Facts:
    return Facts(axes, tuple(Fact(parse_predicate(t), Origin.USER, t) for t in texts))


def test_bare_axes() -> None:
    made = plan({"a": "batch, 4", "b": "batch, seq"})
    assert solved(made, [(3, 4), (3, 7)]) == {"batch": 3, "seq": 7}
    assert solved(made, [(0, 4), (0, 1)]) == {"batch": 0, "seq": 1}


def test_affine_dims() -> None:
    assert solved(plan({"a": "2*n + 1"}), [(9,)]) == {"n": 4}
    assert solved(plan({"a": "n + m", "b": "m"}), [(9,), (4,)]) == {"n": 5, "m": 4}
    assert solved(plan({"a": "m*n", "b": "m + 1, n"}), [(12,), (4, 4)]) == {"n": 4, "m": 3}


def test_symbols_from_facts() -> None:
    made = plan({"a": "seq"}, facts("out == seq - 2", "2*half == out"))
    assert solved(made, [(12,)]) == {"seq": 12, "out": 10, "half": 5}


def test_a_scalar_needs_nothing() -> None:
    assert solved(plan({"a": ""}), [()]) == {}


def test_facts_about_late_symbols_wait() -> None:
    made = plan({"a": "n"}, facts("k <= n"), late="k")
    assert solved(made, [(3,)]) == {"n": 3}
    assert made.facts == ()


CASES: list[tuple[type[AnyshapeError], dict[str, str], Facts, Shapes, str]] = [
    (
        AxisConflictError,
        {"a": "batch", "b": "batch"},
        Facts(),
        [(32,), (64,)],
        "axis 'batch' has conflicting sizes: input 'a' has 32 (axis 0), input 'b' has 64 (axis 0)\n"
        "fix: make both sizes agree, or give one of them another axis name than 'batch'",
    ),
    (
        RankMismatchError,
        {"a": "batch, 4"},
        Facts(),
        [(3,)],
        "input 'a' has rank 1, expected rank 2\n"
        "  declared [batch, 4], got shape [3]\n"
        "fix: pass an array with 2 axes",
    ),
    (
        DimMismatchError,
        {"a": "batch, 4"},
        Facts(),
        [(3, 5)],
        "input 'a' has size 5 at axis 1, expected 4\n"
        "fix: pass size 4 there, or declare the axis dynamic",
    ),
    (
        DimMismatchError,
        {"a": "n", "b": "2*n + 1"},
        Facts(),
        [(3,), (8,)],
        "input 'b' has size 8 at axis 0, expected 7 (dim '2*n + 1')\n"
        "  n=3: input 'a' has 3 (axis 0)\n"
        "fix: pass size 7 there, or declare the axis dynamic",
    ),
    (
        AxisRangeError,
        {"a": "seq"},
        Facts((Axis("seq", ranges=[(1, 1), (8, 64)]),)),
        [(4,)],
        "axis 'seq' is 4, outside its range 1..1 | 8..64\n"
        "  input 'a' has 4 (axis 0)\n"
        "fix: pass a size within 1..1 | 8..64, or widen Axis('seq', ...)",
    ),
    (
        AxisMultipleError,
        {"a": "seq"},
        Facts((Axis("seq", multiple_of=8),)),
        [(12,)],
        "axis 'seq' is 12, not a multiple of 8\n"
        "  input 'a' has 12 (axis 0)\n"
        "fix: use 8 or 16, or drop multiple_of from Axis('seq', ...)",
    ),
    (
        FactViolationError,
        {"a": "seq", "b": "out"},
        facts("out == seq - 2"),
        [(9,), (8,)],
        "'out == seq - 2' does not hold for out=8, seq=9\n"
        "  it comes from user: out == seq - 2\n"
        "  input 'b' has 8 (axis 0)\n"
        "  input 'a' has 9 (axis 0)\n"
        "fix: pass inputs whose sizes satisfy it",
    ),
]


@pytest.mark.parametrize(("error", "inputs", "known", "shapes", "message"), CASES)
def test_violations(
    error: type[AnyshapeError], inputs: dict[str, str], known: Facts, shapes: Shapes, message: str
) -> None:
    with pytest.raises(error) as raised:
        plan(inputs, known).solve(shapes)
    assert str(raised.value) == message


def test_a_size_that_no_axis_can_have_names_dim_and_value() -> None:
    with pytest.raises(AnyshapeError, match=r"2\*n \+ 1") as error:
        plan({"a": "2*n + 1"}).solve([(8,)])
    assert "8" in str(error.value)


def test_a_symbol_that_nothing_gives_a_size() -> None:
    with pytest.raises(UnboundAxisError) as error:
        plan({"a": "n*m", "b": "k"})
    assert str(error.value) == (
        "axis 'm' cannot be solved from the input shapes: input 'a' has dim 'm*n'\n"
        "  axes that can: k\n"
        "fix: give an input an axis 'm', or declare where='m == ...'"
    )


def test_a_fact_that_divides_by_zero_is_violated() -> None:
    facts = Facts((), (Fact(parse_predicate("n // m <= 4")),))
    plan = BindingPlan.make([("x", (Dim.of("n"), Dim.of("m")))], facts, frozenset())
    with pytest.raises(FactViolationError, match="'n//m <= 4' does not hold for m=0, n=3"):
        plan.solve([(3, 0)])


def test_a_dim_that_divides_by_zero_names_its_input() -> None:
    shape = (Dim.of("n"), Dim.of("m"), Dim.of("n // m"))
    plan = BindingPlan.make([("input 'x'", shape)], Facts(), frozenset())
    with pytest.raises(DimError, match=r"\(m=0, n=3; input 'x', axis 2\)"):
        plan.solve([(3, 0, 1)])
