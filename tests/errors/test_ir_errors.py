"""One test per error that the graph language raises: the whole message, word by word."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.errors.messages import message_of

import anyshape as ash
from anyshape.base import errors
from anyshape.base.errors import (
    AnyshapeError,
    AttributeValueError,
    AxisConflictError,
    AxisDeclarationError,
    AxisMultipleError,
    AxisNameConflictError,
    AxisRangeError,
    DimError,
    DimMismatchError,
    DTypeError,
    EvaluationError,
    FactConflictError,
    FactViolationError,
    LateSizeError,
    OperandError,
    RankMismatchError,
    RequirementError,
    TextError,
    UnboundAxisError,
    UnknownOpError,
    UnprovableError,
    UnsolvableSizeError,
    VerifyError,
    WeightError,
)
from anyshape.base.location import Location
from anyshape.ir import Builder, Graph, evaluate, parse, verify
from anyshape.ir.types import bool_, f32, i64
from anyshape.sym import Axis, Facts


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def graph(*types: Any, facts: Facts | None = None, op: str = "add", **attrs: object) -> Graph:
    """`op` on inputs a, b, … of these types."""
    b = Builder.at_entry(facts)
    operands = [b.param(type_) for type_ in types]
    return b.graph("g", list("abcd"[: len(types)]), [b.emit(op, *operands, **attrs)])


# --- sizes of a call ------------------------------------------------------------------------------


def test_rank_mismatch() -> None:
    pair = graph(f32["batch", 4], f32["batch", 4])
    assert message_of(RankMismatchError, lambda: evaluate(pair, ones(2, 4), ones(4))) == (
        "input 'b' has rank 1, expected rank 2\n"
        "  declared [batch, 4], got shape [4]\n"
        "fix: pass an array with 2 axes"
    )


def test_fixed_dim_mismatch() -> None:
    pair = graph(f32["batch", 4], f32["batch", 4])
    assert message_of(DimMismatchError, lambda: evaluate(pair, ones(2, 4), ones(2, 5))) == (
        "input 'b' has size 5 at axis 1, expected 4\n"
        "fix: pass size 4 there, or declare the axis dynamic"
    )


def test_an_axis_with_two_sizes() -> None:
    pair = graph(f32["batch", 4], f32["batch", 4])
    assert message_of(AxisConflictError, lambda: evaluate(pair, ones(32, 4), ones(64, 4))) == (
        "axis 'batch' has conflicting sizes: input 'a' has 32 (axis 0), input 'b' has 64 (axis 0)\n"
        "fix: make both sizes agree, or give one of them another axis name than 'batch'"
    )


def test_a_size_out_of_range() -> None:
    one = graph(f32["batch"], facts=Facts(axes=(Axis("batch", min=1, max=64),)), op="exp")
    assert message_of(AxisRangeError, lambda: evaluate(one, ones(65))) == (
        "axis 'batch' is 65, outside its range 1..64\n"
        "  input 'a' has 65 (axis 0)\n"
        "fix: pass a size within 1..64, or widen Axis('batch', ...)"
    )


def test_a_size_that_is_not_a_multiple() -> None:
    one = graph(f32["seq"], facts=Facts(axes=(Axis("seq", multiple_of=8),)), op="exp")
    assert message_of(AxisMultipleError, lambda: evaluate(one, ones(13))) == (
        "axis 'seq' is 13, not a multiple of 8\n"
        "  input 'a' has 13 (axis 0)\n"
        "fix: use 8 or 16, or drop multiple_of from Axis('seq', ...)"
    )


def test_a_requirement_broken_by_a_call() -> None:
    sliced = graph(f32["seq"], op="slice", starts=(2,), stops=("seq",), steps=(1,))
    assert message_of(FactViolationError, lambda: evaluate(sliced, ones(1))) == (
        "'2 <= seq' does not hold for seq=1\n"
        "  it comes from op: slice: start 2 must not be after stop seq at axis 0\n"
        "  input 'a' has 1 (axis 0)\n"
        "fix: pass inputs whose sizes satisfy it"
    )


def test_a_size_that_no_input_gives() -> None:
    text = "facts { n >= 3 }\ngraph g(a: f32[m]) -> f32[m] { return a }"
    assert message_of(UnboundAxisError, lambda: evaluate(parse(text), ones(1))) == (
        "axis 'n' cannot be solved from the input shapes: '3 <= n' uses it\n"
        "  axes that can: m\n"
        "fix: give an input an axis 'n', or declare where='n == ...'"
    )


def test_a_size_that_an_expression_never_has() -> None:
    one = graph(f32["2*n + 1"], op="exp")
    assert message_of(UnsolvableSizeError, lambda: evaluate(one, ones(4))) == (
        "input 'a' has size 4 at axis 0, but dim '2*n + 1' is never 4\n"
        "fix: pass a size of the form 2*n + 1"
    )


def test_an_axis_that_allows_no_size() -> None:
    text = "axes { n: 5..2 }\ngraph g(a: f32[n]) -> f32[n] { return a }"
    assert message_of(AxisDeclarationError, lambda: parse(text)) == (
        "axis 'n' has the empty range 5..2\nfix: give min <= max"
    )


def test_a_size_without_a_value() -> None:
    assert message_of(DimError, lambda: f32["n//0"]) == (
        "dim 'n//0': division by zero\nfix: divide by a number other than 0"
    )


# --- sizes while building -------------------------------------------------------------------------


def test_two_axis_names_that_must_be_one() -> None:
    def build() -> None:
        b = Builder.at_entry()
        x, y = b.param(f32["batch", "seq"]), b.param(f32["time", 3])
        b.location = Location("model.py", 12)
        b.emit("dot", x, y, contract=((1,), (0,)))

    assert message_of(AxisNameConflictError, build) == (
        "axes 'seq' and 'time' have different names but must be equal: "
        "dot: contracting axis 1 of lhs and axis 0 of rhs must be equal (model.py:12)\n"
        "fix: use one name for both, or declare where='seq == time'"
    )


def test_two_axis_names_that_would_broadcast() -> None:
    assert message_of(AxisNameConflictError, lambda: graph(f32["seq"], f32["time"])) == (
        "axes 'seq' and 'time' have different names but must be equal: "
        "add: operands must broadcast at axis 0\n"
        "fix: use one name for both, or declare where='seq == time' "
        "(or where='broadcastable(seq, time)' if one of them may be 1)"
    )


def test_a_requirement_that_never_holds() -> None:
    def build() -> None:
        graph(f32["batch", 3], op="reshape", shape=("batch", 4))

    assert message_of(RequirementError, lambda: graph(f32[3], f32[4])) == (
        "add: operands must broadcast at axis 0: requires broadcastable(3, 4), which never holds\n"
        "fix: change the shapes so that the requirement can hold"
    )


def test_unprovable_under_strict() -> None:
    def build() -> None:
        b = Builder.at_entry(strict=True)
        x = b.param(f32["seq"])
        b.emit("slice", x, starts=(2,), stops=("seq",), steps=(1,))

    assert message_of(UnprovableError, build) == (
        "slice: start 2 must not be after stop seq at axis 0: cannot prove 2 <= seq (strict)\n"
        "fix: declare where='2 <= seq', or compile without strict to check it at run time"
    )


def test_contradictory_facts() -> None:
    text = (
        "axes { seq: 1..64 }\nfacts {\n  seq == 2*n  # user: seq == 2*n @ model.py:3\n"
        "  seq == 2*n + 1  # user: seq == 2*n + 1 @ model.py:4\n}\n"
        "graph g(a: f32[seq]) -> f32[seq] { return a }"
    )
    assert message_of(FactConflictError, lambda: parse(text)) == (
        "contradictory facts: 'seq == 2*n + 1' cannot hold together with 'seq == 2*n'\n"
        "  'seq == 2*n + 1' comes from user: seq == 2*n + 1 @ model.py:4\n"
        "  'seq == 2*n' comes from user: seq == 2*n @ model.py:3\n"
        "fix: drop or correct one of them"
    )


def test_an_axis_declared_twice() -> None:
    text = "axes { n: 1..4   n: 2..8 }\ngraph g(a: f32[n]) -> f32[n] { return a }"
    assert message_of(FactConflictError, lambda: parse(text)) == (
        "contradictory facts: 'n: 2..8' cannot hold together with 'n: 1..4'\n"
        "  'n: 2..8' comes from its declaration\n"
        "  'n: 1..4' comes from its declaration\n"
        "fix: drop or correct one of them"
    )


# --- ops ------------------------------------------------------------------------------------------


def test_a_dtype_that_an_op_does_not_take() -> None:
    assert message_of(DTypeError, lambda: graph(i64["n"], op="exp")) == (
        "exp: expected one of f64, f32, f16, bf16, got i64\nfix: cast explicitly"
    )


def test_operands_of_two_dtypes() -> None:
    assert message_of(DTypeError, lambda: graph(f32["n"], i64["n"])) == (
        "add: expected operands of one dtype, got f32 and i64\nfix: cast explicitly"
    )


def test_an_input_of_another_dtype() -> None:
    one = graph(f32["n"], op="exp")
    assert message_of(DTypeError, lambda: evaluate(one, np.ones(3))) == (
        "input 'a': expected f32, got f64\nfix: pass a.astype('float32')"
    )


def test_an_unknown_op() -> None:
    assert message_of(UnknownOpError, lambda: graph(f32["n"], op="sofmax")) == (
        "unknown op 'sofmax'\nfix: did you mean softmax or log_softmax?"
    )
    assert message_of(UnknownOpError, lambda: graph(f32["n"], op="xyzzy")) == (
        "unknown op 'xyzzy'\nfix: check the name"
    )


def test_an_unknown_attribute() -> None:
    assert message_of(AttributeValueError, lambda: graph(f32["n"], op="sum", axis=0)) == (
        "sum: attribute 'axis' is unknown\nfix: attributes of sum are axes, keepdims"
    )
    assert message_of(AttributeValueError, lambda: graph(f32["n"], op="exp", axis=0)) == (
        "exp: attribute 'axis' is unknown\nfix: attributes of exp are (none)"
    )


def test_a_bad_attribute() -> None:
    assert message_of(AttributeValueError, lambda: graph(f32["n"], op="sum", axes=(1,))) == (
        "sum: attribute 'axes' has axis 1, the rank is 1\nfix: attributes of sum are axes, keepdims"
    )


def test_a_wrong_number_of_operands() -> None:
    assert message_of(OperandError, lambda: graph(f32["n"], op="add")) == (
        "add: got 1 operands, expected 2\nfix: call it as add(x, y)"
    )


def test_a_wrong_rank() -> None:
    def build() -> None:
        b = Builder.at_entry()
        b.location = Location("model.py", 4)
        b.emit("attention", *(b.param(f32["n"]) for _ in "qkv"))

    assert message_of(OperandError, build) == (
        "attention (model.py:4): q has rank 1, expected 2, 3 or 4\n"
        "fix: call it as attention(q, k, v, masks*)"
    )


def test_ranks_that_differ() -> None:
    def build() -> None:
        b = Builder.at_entry()
        q, k = b.param(f32["b", "n", 4]), b.param(f32["n", 4])
        b.emit("attention", q, k, k)

    assert message_of(OperandError, build) == (
        "attention: k has rank 2, expected 3\nfix: call it as attention(q, k, v, masks*)"
    )


def test_a_sink_that_is_not_there() -> None:
    def build() -> None:
        b = Builder.at_entry()
        b.emit("attention", *(b.param(f32["n", 4]) for _ in "qkv"), sink=True)

    assert message_of(OperandError, build) == (
        "attention: sink is true, but no operand follows v\n"
        "fix: call it as attention(q, k, v, masks*)"
    )


def test_a_sink_for_each_key() -> None:
    def build() -> None:
        b = Builder.at_entry()
        q, k = b.param(f32["n", 4]), b.param(f32[7, 4])
        b.emit("attention", q, k, k, b.param(f32[7]), sink=True)

    assert message_of(RequirementError, build) == (
        "attention: axis 0 of sink must be 1: requires 7 == 1, which never holds\n"
        "fix: change the shapes so that the requirement can hold"
    )


def test_a_sink_that_is_no_float() -> None:
    def build() -> None:
        b = Builder.at_entry()
        b.emit("attention", *(b.param(f32["n", 4]) for _ in "qkv"), b.param(bool_[1]), sink=True)

    assert message_of(DTypeError, build) == (
        "attention (sink): expected f32, got bool\nfix: cast explicitly"
    )


def test_two_last_keys() -> None:
    def build() -> None:
        b = Builder.at_entry()
        b.emit("attention", *(b.param(f32["n", 4]) for _ in "qkv"), causal="top_left", high=3)

    assert "attention: attribute 'high' is 3, but it is causal already" in message_of(
        AttributeValueError, build
    )


def test_an_index_out_of_range() -> None:
    text = (
        "graph g(a: f32[n], i: i64[m]) -> f32[m] {\n  %0 = gather(a, i) {axis=0}\n  return %0\n}\n"
    )
    gather = parse(text, file="model.ash")
    assert message_of(EvaluationError, lambda: evaluate(gather, ones(3), np.array([1, 5]))) == (
        "gather (model.ash:2): index 5 is outside 0..2\nfix: pass values that 'gather' takes"
    )


BORN = """graph g(count: i64[1], size: i64[], x: f32[n]) -> (f32[k], bool[m, 0]) {
  %0 = prefix(count, x) late [k <= n]
  %1 = late_size(size) late [m]
  return %0, %1
}
"""


@pytest.mark.parametrize("executor", ["reference", "native"])
def test_a_computed_size_that_no_axis_can_have(executor: Any) -> None:
    born = ash.compile(parse(BORN, file="model.ash"), executor=executor)
    for count in (-1, 4):
        given = np.array([count]), np.array(1), ones(3)
        assert message_of(LateSizeError, partial(born, *given)) == (
            f"prefix (model.ash:2): the computed size is {count}, expected 0 to 3\n"
            "fix: pass values for which the computed size is one, or clip it in the model"
        )
    assert message_of(LateSizeError, lambda: born(np.array([3]), np.array(-2), ones(3))) == (
        "late_size (model.ash:3): the computed size is -2, expected 0 or more\n"
        "fix: pass values for which the computed size is one, or clip it in the model"
    )
    assert [part.shape for part in born(np.array([3]), np.array(0), ones(3))] == [(3,), (0, 0)]


@pytest.mark.parametrize(
    ("types", "problem"),
    [
        ((i64[1],), "there is no value to take rows of"),
        ((i64[1], f32[()]), "a value has rank 0, and no rows"),
        ((i64[()], f32["n"]), "count has rank 0, expected 1"),
    ],
)
def test_operands_of_prefix(types: Any, problem: str) -> None:
    assert message_of(OperandError, lambda: graph(*types, op="prefix")) == (
        f"prefix: {problem}\nfix: call it as prefix(count, values*)"
    )


def test_operands_of_late_size() -> None:
    assert message_of(OperandError, lambda: graph(i64["n"], op="late_size")) == (
        "late_size: value has rank 1, expected 0\nfix: call it as late_size(value)"
    )
    assert message_of(DTypeError, lambda: graph(f32["n"], f32["n"], op="prefix")) == (
        "prefix (count): expected i64, got f32\nfix: cast explicitly"
    )


def test_an_invalid_graph() -> None:
    b = Builder.at_entry()
    token = b.emit("token")
    bad = b.graph("g", [], [token, token])
    assert message_of(VerifyError, lambda: verify(bad)) == (
        "invalid graph: token: gives a token that is used 2 times\n"
        "fix: correct what built it; if that was anyshape, report this message"
    )


def test_a_missing_weight() -> None:
    b = Builder.at_entry()
    text = b.graph("g", [], [b.constant(np.arange(100.0))]).as_text()
    found = re.search(r"sha256:(.{12})", text)
    assert found
    assert message_of(WeightError, lambda: evaluate(parse(text))) == (
        f"weight @w0: no buffer with sha256:{found[1]}…\n"
        "fix: pass the weight store that the graph was printed with"
    )


# --- text -----------------------------------------------------------------------------------------

SAMPLE = """\
axes { batch: 1..64   seq: 1..512 multiple_of 8 likely [128, 256] }
facts {
  seq % 16 == 0  # user: seq % 16 == 0 @ model.py:3
}
graph sample(p: bool[], x: f32[batch, seq, 4], w: f32[4, 4]) -> (f32[batch, seq, 4], i64[k, 1]) {
  %0 = dot(x, w) {contract=([2], [0])} : f32[batch, seq, 4]
  %1 = gelu(%0) {approximate=tanh} : f32[batch, seq, 4]
  %2 = constant() {value=f32[2, 2] [0.5, -1e-07, inf, nan]} : f32[2, 2]
  %3 = reshape(%2) {shape=[4]} : f32[4]
  %4 = cond(p, %1, %3)
    then(a0: f32[batch, seq, 4], a1: f32[4]) -> f32[batch, seq, 4] {
      %0 = add(a0, a1) : f32[batch, seq, 4]
      return %0
    }
    else(a0: f32[batch, seq, 4], a1: f32[4]) -> f32[batch, seq, 4] {
      return a0
    } : f32[batch, seq, 4]
  %5 = nonzero(%3) late [k <= 4] : i64[k, 1]
  return %4, %5
}
"""


def test_malformed_text() -> None:
    text = "graph g(x: f32[n]) -> f32[n] {\n  %0 = exp(x : f32[n]\n  return %0\n}\n"
    assert message_of(TextError, lambda: parse(text)) == (
        "line 2, column 14: expected ',', found ':'\n    %0 = exp(x : f32[n]\n               ^"
    )


def test_malformed_text_with_a_hint() -> None:
    text = "graph g(x: f32[n]) -> f32[n] {\n  %0 = exp(y)\n  return %0\n}\n"
    assert message_of(TextError, lambda: parse(text)) == (
        "line 2, column 12: 'y' is not defined\n"
        "    %0 = exp(y)\n"
        "             ^\n"
        "fix: values here are x"
    )


def test_the_sample_is_well_formed() -> None:
    sample = parse(SAMPLE)
    assert parse(sample.as_text()) == sample


def _attempt(text: str) -> None:
    """Parses, or refuses with an error of ours that has a message."""
    try:
        parse(text)
    except AnyshapeError as error:
        str(error)


TOKENS = [match.span() for match in re.finditer(r"\w+|[^\w\s]", SAMPLE)]


def test_truncated_text_at_every_token() -> None:
    for _, end in TOKENS[:-1]:
        with pytest.raises(AnyshapeError):
            parse(SAMPLE[:end])


def test_text_without_one_token() -> None:
    for start, end in TOKENS:
        _attempt(SAMPLE[:start] + SAMPLE[end:])


def test_text_with_a_token_twice() -> None:
    for start, end in TOKENS:
        _attempt(SAMPLE[:end] + " " + SAMPLE[start:])


def test_text_with_two_tokens_swapped() -> None:
    for (start, end), (next_start, next_end) in pairwise(TOKENS):
        swapped = SAMPLE[next_start:next_end] + SAMPLE[end:next_start] + SAMPLE[start:end]
        _attempt(SAMPLE[:start] + swapped + SAMPLE[next_end:])


WORDS = ["0", "-1", "99999999999999999999", "1.5", "?", "?0", "seq", "%", "f32", "{", "}", "[", "]",
         "(", ")", "//", "*", "0.5e9", '"', "`", "@w0", "nan", "none", "true", "token", "late", "#",
         "\x00", "é", "sha256:ab", "min(seq, 2)", "return"]  # fmt: skip


def test_text_with_a_token_replaced() -> None:
    rng = np.random.default_rng(0)
    for start, end in TOKENS:
        for word in rng.choice(WORDS, 6, replace=False):
            _attempt(SAMPLE[:start] + str(word) + SAMPLE[end:])


def test_text_with_random_bytes() -> None:
    rng = np.random.default_rng(1)
    for _ in range(1500):
        mutated = bytearray(SAMPLE, "utf-8")
        for _ in range(rng.integers(1, 4)):
            place = int(rng.integers(len(mutated)))
            match rng.integers(3):
                case 0:
                    mutated[place] = int(rng.integers(256))
                case 1:
                    del mutated[place]
                case _:
                    mutated.insert(place, int(rng.integers(32, 127)))
        _attempt(mutated.decode("utf-8", "replace"))


# --- completeness ---------------------------------------------------------------------------------


def concrete_errors() -> list[str]:
    found = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, AnyshapeError)
    ]
    return [error.__name__ for error in found if not error.__subclasses__()]


def test_every_error_has_a_test() -> None:
    files = Path(__file__).parent.parent.rglob("test_*.py")
    text = "\n".join(file.read_text() for file in files)
    untested = [
        name
        for name in concrete_errors()
        if not re.search(rf"(raises|message_of)\(\s*(errors\.)?{name}\b", text)
    ]
    assert untested == []
