"""Builders: fresh symbols adopt names, requirements become facts, strictness refuses them."""

import numpy as np
import pytest

import anyshape.ops  # noqa: F401  fills the registry
from anyshape.base.errors import (
    AttributeValueError,
    AxisNameConflictError,
    DTypeError,
    OperandError,
    RequirementError,
    UnknownOpError,
    UnprovableError,
)
from anyshape.base.location import Location
from anyshape.ir import Builder, Graph, Value, build
from anyshape.ir.build import decomposition
from anyshape.ir.types import TOKEN, bool_, f32, i64
from anyshape.sym import Axis, Dim, Equal, Facts, FactScope, Symbol


def facts_of(graph: Graph) -> list[str]:
    return [str(fact.predicate) for fact in graph.facts.facts]


def test_parameters_are_numbered() -> None:
    b = Builder.at_entry()
    x, y = b.param(f32["batch"]), b.param(f32["batch"])
    assert x != y
    assert b.params == [x, y]
    assert b.graph("g", ["x", "y"], [x]).body.params == (f32["batch"], f32["batch"])


def test_unnamed_dims_are_different_unknowns() -> None:
    b = Builder.at_entry()
    x, y = b.param(f32[None, None]), b.param(f32[None])
    symbols = [*x.tensor.shape, *y.tensor.shape]
    assert len(set(symbols)) == 3
    assert all(dim.symbol is not None and dim.symbol.is_fresh for dim in symbols)


def test_a_fresh_dim_adopts_the_name_it_meets() -> None:
    b = Builder.at_entry()
    x, y = b.param(f32[None, 4]), b.param(f32["batch", 3])
    result = b.emit("dot", x, y, contract=((0,), (0,)))
    graph = b.graph("g", ["x", "y"], [result])
    assert "x: f32[batch, 4], y: f32[batch, 3]" in graph.as_text()
    assert "?" not in graph.as_text()
    assert facts_of(graph) == []


def test_a_fresh_dim_adopts_a_number() -> None:
    b = Builder.at_entry()
    x, y = b.param(f32["batch", None]), b.param(f32[8, 3])
    graph = b.graph("g", ["x", "y"], [b.emit("dot", x, y, contract=((1,), (0,)))])
    assert "x: f32[batch, 8]" in graph.as_text()


def test_adoption_reaches_what_was_built_before() -> None:
    b = Builder.at_entry()
    x = b.param(f32[None])
    doubled = b.emit("concat", x, x, axis=0)
    y = b.param(f32["batch"])
    joined = b.emit("dot", x, y, contract=((0,), (0,)))
    graph = b.graph("g", ["x", "y"], [doubled, joined])
    assert [str(value.type) for value in graph.results] == ["f32[2*batch]", "f32[]"]


def test_adoption_chains() -> None:
    b = Builder.at_entry()
    x, y, z = b.param(f32[None]), b.param(f32[None]), b.param(f32["batch"])
    pairs = ((0,), (0,))
    results = [b.emit("dot", x, y, contract=pairs), b.emit("dot", y, z, contract=pairs)]
    graph = b.graph("g", ["x", "y", "z"], results)
    assert graph.body.params == (f32["batch"],) * 3


def test_unproven_requirements_are_recorded_with_their_reason() -> None:
    b = Builder.at_entry()
    b.location = Location("model.py", 7)
    x = b.param(f32["seq"])
    result = b.emit("slice", x, starts=(2,), stops=("seq",), steps=(1,))
    graph = b.graph("g", ["x"], [result])
    assert facts_of(graph) == ["2 <= seq"]
    (fact,) = graph.facts.facts
    assert "slice" in fact.source
    assert "model.py:7" in fact.source


def test_requirements_are_recorded_once() -> None:
    b = Builder.at_entry()
    x = b.param(f32["seq"])
    attrs = {"starts": (2,), "stops": ("seq",), "steps": (1,)}
    results = [b.emit("slice", b.emit(op, x), **attrs) for op in ("exp", "log")]
    assert facts_of(b.graph("g", ["x"], results)) == ["2 <= seq"]


def test_declared_facts_prove_requirements() -> None:
    b = Builder.at_entry(Facts(axes=(Axis("seq", min=2, max=64),)))
    x = b.param(f32["seq"])
    result = b.emit("slice", x, starts=(2,), stops=("seq",), steps=(1,))
    assert facts_of(b.graph("g", ["x"], [result])) == []


def test_a_requirement_that_never_holds() -> None:
    b = Builder.at_entry()
    x = b.param(f32[3])
    with pytest.raises(RequirementError, match="which never holds"):
        b.emit("slice", x, starts=(0,), stops=(4,), steps=(1,))


def test_strict_refuses_what_cannot_be_proved() -> None:
    b = Builder.at_entry(strict=True)
    x = b.param(f32["seq"])
    with pytest.raises(UnprovableError, match="cannot prove 2 <= seq"):
        b.emit("slice", x, starts=(2,), stops=("seq",), steps=(1,))


def test_strict_allows_what_is_declared() -> None:
    b = Builder.at_entry(Facts(axes=(Axis("seq", min=2),)), strict=True)
    x = b.param(f32["seq"])
    b.emit("slice", x, starts=(2,), stops=("seq",), steps=(1,))


def test_strict_holds_inside_regions() -> None:
    b = Builder.at_entry(strict=True)
    inner = b.nested()
    x = inner.param(f32["seq"])
    with pytest.raises(UnprovableError):
        inner.emit("slice", x, starts=(2,), stops=("seq",), steps=(1,))


def test_two_names_do_not_merge_silently() -> None:
    b = Builder.at_entry()
    x, y = b.param(f32["batch"]), b.param(f32["seq"])
    with pytest.raises(AxisNameConflictError):
        b.emit("dot", x, y, contract=((0,), (0,)))


def test_what_holds_inside_a_region_stays_there() -> None:
    b = Builder.at_entry()
    x = b.param(f32["seq"])
    inner = b.nested()
    y = inner.param(f32["seq"])
    sliced = inner.emit("slice", y, starts=(2,), stops=("seq",), steps=(1,))
    region = inner.region([sliced])
    assert [str(fact.predicate) for fact in region.facts.facts] == ["2 <= seq"]
    assert facts_of(b.graph("g", ["x"], [x])) == []


def test_what_holds_outside_is_known_inside() -> None:
    b = Builder.at_entry(Facts(axes=(Axis("seq", min=2),)))
    inner = b.nested()
    y = inner.param(f32["seq"])
    region = inner.region([inner.emit("slice", y, starts=(2,), stops=("seq",), steps=(1,))])
    assert region.facts.facts == ()


def test_late_axes_have_symbols_of_their_own() -> None:
    b = Builder.at_entry()
    x = b.param(f32["n", 3])
    one, two = b.emit("nonzero", x), b.emit("nonzero", b.emit("exp", x))
    assert one.tensor.shape[0] != two.tensor.shape[0]
    assert [str(late) for late in one.node.late] == [f"{one.tensor.shape[0]} <= 3*n"]


def test_constants_are_literals_or_weights() -> None:
    b = Builder.at_entry()
    assert b.constant(np.zeros(3, np.float32)).tensor == f32[3]
    assert len(b.weights) == 0
    b.constant(np.zeros(300, np.float32))
    assert len(b.weights) == 1


@pytest.mark.parametrize(
    ("error", "build"),
    [
        (UnknownOpError, lambda b, x: b.emit("expp", x)),
        (OperandError, lambda b, x: b.emit("exp", x, x)),
        (OperandError, lambda b, x: b.emit("exp", b.param(TOKEN))),
        (AttributeValueError, lambda b, x: b.emit("exp", x, axis=0)),
        (AttributeValueError, lambda b, x: b.emit("sum", x)),
        (AttributeValueError, lambda b, x: b.emit("sum", x, axes=(2,))),
        (AttributeValueError, lambda b, x: b.emit("sum", x, axes=(-1,))),
        (AttributeValueError, lambda b, x: b.emit("sum", x, axes=(0, 0))),
        (DTypeError, lambda b, x: b.emit("exp", b.param(i64["n"]))),
        (DTypeError, lambda b, x: b.emit("add", x, b.param(i64["n"]))),
        (DTypeError, lambda b, x: b.emit("select", x, x, x)),
        (OperandError, lambda b, x: b.emit("cond", b.param(bool_[()]))),
        (RequirementError, lambda b, x: b.emit("add", b.param(f32[3]), b.param(f32[4]))),
    ],
)
def test_refusals(error: type[Exception], build: object) -> None:
    b = Builder.at_entry()
    with pytest.raises(error):
        build(b, b.param(f32["n"]))  # type: ignore[operator]


def test_the_decomposition_of_a_compound() -> None:
    b = Builder.at_entry()
    value: Value = b.emit("softmax", b.param(f32["batch", "seq"]), axis=1)
    region = decomposition(value.node.op, [f32["batch", "seq"]], value.node.attrs, b.weights)
    assert region.result_types == (f32["batch", "seq"],)
    ops = [node.op.name for node in region.nodes()]
    assert ops == ["param", "max", "sub", "exp", "sum", "div"]
    assert Symbol("batch") in region.params[0].symbols


# --- types that are known already -----------------------------------------------------------------


def test_equal_ops_on_equal_types_are_inferred_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers are alike: their types are found once."""
    asked: list[str] = []
    own = build.infer
    noted = lambda ctx, *rest: asked.append(ctx.op.name) or own(ctx, *rest)  # noqa: E731
    monkeypatch.setattr(build, "infer", noted)
    b = Builder.at_entry()
    value = b.param(f32["n", 8])
    for _ in range(50):
        value = b.emit("tanh", b.emit("transpose", value, perm=[1, 0]))
        value = b.emit("transpose", value, perm=[1, 0])
    assert value.tensor == f32["n", 8]
    assert sorted(asked) == ["tanh", "transpose", "transpose"]


def test_what_is_learnt_in_between_changes_what_is_inferred() -> None:
    scope = FactScope(distinct_names=False)
    b = Builder(scope)
    x, y = b.param(f32["n"]), b.param(f32["m"])
    before = [b.emit("add", x, y).tensor for _ in range(3)]
    scope.assume(Equal(Dim.of("n"), Dim.of("m")))
    after = [b.emit("add", x, y).tensor for _ in range(3)]
    assert [str(type_) for type_ in before] == ["f32[bcast(m, n)]"] * 3
    assert [str(type_) for type_ in after] == ["f32[m]"] * 3


def test_a_late_axis_is_another_one_each_time() -> None:
    b = Builder.at_entry()
    x = b.param(f32["n"])
    first, second = b.emit("nonzero", x), b.emit("nonzero", x)
    assert first.tensor.shape != second.tensor.shape
