"""Where rules must not apply, and what they say then; and laws that need facts."""

from __future__ import annotations

import pytest

from anyshape.ir.text.parser import parse
from anyshape.ir.types import ALL_DTYPES, bf16, f16, f32, f64, i8, i16, i32, i64, u8, u32
from anyshape.passes import Canonicalize, run_passes
from anyshape.passes.rules.casts import represents


def canonical(body: str, params: str, result: str, head: str = "") -> str:
    """The text of the canonical nodes of a graph that returns its last value."""
    lines = body.strip().splitlines()
    last = lines[-1].strip().split(" ")[0].rstrip(",")
    text = f"{head}\ngraph g({params}) -> {result} {{\n{body}\nreturn {last}\n}}"
    passed = run_passes(parse(text), [Canonicalize()], verify=True)
    printed = passed.graph.as_text()
    return printed[printed.index("{\n", printed.index("graph")) + 2 : -2]


def refusals(body: str, params: str, result: str, head: str = "") -> dict[str, str]:
    lines = body.strip().splitlines()
    last = lines[-1].strip().split(" ")[0]
    text = f"{head}\ngraph g({params}) -> {result} {{\n{body}\nreturn {last}\n}}"
    (report,) = run_passes(parse(text), [Canonicalize()], verify=True).reports
    return {decision.rule: decision.why for decision in report.refused}


# --- floats ---------------------------------------------------------------------------------------


def test_adding_positive_zero_to_a_float_stays():
    body = "%0 = constant() {value=f32 0}\n%1 = add(x, %0)"
    assert "add(x, %0)" in canonical(body, "x: f32[n]", "f32[n]")
    why = refusals(body, "x: f32[n]", "f32[n]")
    assert why["add-neutral"] == "add with +0.0 turns -0.0 into +0.0"


def test_adding_zero_to_an_integer_goes():
    body = "%0 = constant() {value=i32 0}\n%1 = add(%0, x)"
    assert canonical(body, "x: i32[n]", "i32[n]") == "  return x\n"


def test_subtracting_negative_zero_stays():
    body = "%0 = constant() {value=f32 -0.0}\n%1 = sub(x, %0)"
    assert "sub(x, %0)" in canonical(body, "x: f32[n]", "f32[n]")


@pytest.mark.parametrize(("op", "number"), [("mul", 0), ("floordiv", 1), ("mod", 1)])
def test_integer_laws_are_not_for_floats(op: str, number: int):
    body = f"%0 = constant() {{value=f32 {number}}}\n%1 = {op}(x, %0)"
    assert f"{op}(x, %0)" in canonical(body, "x: f32[n]", "f32[n]")


def test_a_float_minus_itself_stays():
    assert "sub(x, x)" in canonical("%0 = sub(x, x)", "x: f32[n]", "f32[n]")
    assert "sub" not in canonical("%0 = sub(x, x)", "x: i64[n]", "i64[n]")


def test_a_float_sum_of_one_element_stays():
    body = "%0 = sum(x) {axes=[0]}"
    assert "sum" in canonical(body, "x: f32[1, n]", "f32[n]")
    assert "turns -0.0" in refusals(body, "x: f32[1, n]", "f32[n]")["sum-of-one"]
    assert "sum" not in canonical(body, "x: i32[1, n]", "i32[n]")


TRUE = "%0 = constant() {value=bool[3, 1] [true, true, true]}"
FALSE = TRUE.replace("true", "false")

# --- shapes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("%0 = constant() {value=i32[3, 1] [0, 0, 0]}\n%1 = add(x, %0)", "add-neutral"),
        ("%0 = constant() {value=i32[3, 1] [1, 1, 1]}\n%1 = mul(x, %0)", "mul-neutral"),
        ("%0 = constant() {value=i32[3, 1] [0, 0, 0]}\n%1 = sub(x, %0)", "sub-zero"),
        ("%0 = constant() {value=i32[3, 1] [1, 1, 1]}\n%1 = floordiv(x, %0)", "floordiv-one"),
        (f"{TRUE}\n%1 = select(%0, x, x)", "select-same"),
        (f"{TRUE}\n%1 = select(%0, x, x)", "select-true"),
        (f"{TRUE}\n%1 = logical_not(%0)\n%2 = select(%1, x, x)", "select-same"),
        (f"{FALSE}\n%1 = select(%0, x, x)", "select-false"),
    ],
)  # fmt: skip
def test_an_operand_that_broadcasts_stays(body: str, rule: str):
    assert refusals(body, "x: i32[n]", "i32[3, n]")[rule] == "x is i32[n], the result is i32[3, n]"


def test_a_float_operand_that_broadcasts_stays():
    body = "%0 = constant() {value=f32[2, 1] [-0.0, -0.0]}\n%1 = add(x, %0)"
    assert "add-negative-zero" in refusals(body, "x: f32[n]", "f32[2, n]")
    body = "%0 = constant() {value=f32[2, 1] [1, 1]}\n%1 = div(x, %0)\n%2 = pow(%1, %0)"
    assert {"div-one"} <= set(refusals(body, "x: f32[n]", "f32[2, n]"))
    body = "%0 = constant() {value=f32[2, 1] [1, 1]}\n%1 = pow(x, %0)"
    assert {"pow-one"} <= set(refusals(body, "x: f32[n]", "f32[2, n]"))


def test_an_undecided_broadcast_stays():
    """`m` may be 1 or n, and n may be 1: x * ones[m] is x only in one of the cases."""
    body = "%0 = constant() {value=f32 1}\n%1 = broadcast(%0) {shape=[m]}\n%2 = mul(x, %1)"
    head = "facts { broadcastable(n, m) }"
    why = refusals(body, "x: f32[n], y: f32[m]", "f32[bcast(m, n)]", head)
    assert "mul-neutral" in why


@pytest.mark.parametrize(
    ("body", "shape", "result"),
    [
        ("%0 = reshape(x) {shape=[n, 2]}", "2, n", "n, 2"),
        ("%0 = broadcast(x) {shape=[2, n]}", "n", "2, n"),
        ("%0 = transpose(x) {perm=[1, 0]}", "n, 2", "2, n"),
        ("%0 = reverse(x) {axes=[0]}", "n", "n"),
        ("%0 = concat(x, x) {axis=0}", "n", "2*n"),
        ("%0 = slice(x) {starts=[1], stops=[4], steps=[1]}", "4", "3"),
        ("%0 = slice(x) {starts=[0], stops=[4], steps=[2]}", "4", "2"),
        ("%0 = max(x) {axes=[0]}", "n, 2", "2"),
    ],
)
def test_movement_that_moves_stays(body: str, shape: str, result: str):
    op = body.split(" = ")[1].split("(", maxsplit=1)[0]
    assert op in canonical(body, f"x: f32[{shape}]", f"f32[{result}]")


def test_concats_along_other_axes_stay():
    body = "%0 = concat(x, x) {axis=0}\n%1 = concat(%0, %0) {axis=1}"
    assert canonical(body, "x: f32[n, 2]", "f32[2*n, 4]").count("concat") == 2


def test_pads_with_other_fills_stay():
    body = (
        "%0 = constant() {value=f32 1}\n%1 = constant() {value=f32 2}\n"
        "%2 = pad(x, %0) {low=[1], high=[0]}\n%3 = pad(%2, %1) {low=[0], high=[1]}"
    )
    assert canonical(body, "x: f32[n]", "f32[n + 2]").count("pad(") == 2


def test_a_slice_of_a_strided_slice_stays():
    body = (
        "%0 = slice(x) {starts=[0], stops=[9], steps=[2]}\n"
        "%1 = slice(%0) {starts=[1], stops=[5], steps=[1]}"
    )
    assert canonical(body, "x: f32[9]", "f32[4]").count("slice") == 2
    assert refusals(body, "x: f32[9]", "f32[4]")["slice-slice"] == "the inner step at axis 0 is 2"


# --- facts ----------------------------------------------------------------------------------------


def test_a_slice_up_to_the_maximum_is_everything():
    head = "axes { seq: 1..512 }"
    body = "%0 = slice(x) {starts=[0], stops=[min(seq, 512)], steps=[1]}"
    assert canonical(body, "x: f32[seq]", "f32[seq]", head) == "  return x\n"


def test_a_slice_that_may_cut_stays():
    head = "axes { seq: 1..513 }"
    body = "%0 = slice(x) {starts=[0], stops=[min(seq, 512)], steps=[1]}"
    assert "slice" in canonical(body, "x: f32[seq]", "f32[min(seq, 512)]", head)


def test_a_reshape_that_divides_and_multiplies_is_nothing():
    head = "axes { seq: 0.. multiple_of 8 }"
    body = "%0 = reshape(x) {shape=[8*(seq//8)]}"
    assert canonical(body, "x: f32[seq]", "f32[seq]", head) == "  return x\n"


def test_a_broadcast_to_an_equal_axis_is_nothing():
    head = "facts { n == m + 1 }"
    body = "%0 = broadcast(x) {shape=[m + 1]}"
    assert canonical(body, "x: f32[n], y: f32[m]", "f32[n]", head) == "  return x\n"


def test_a_pad_by_a_size_that_is_zero_is_nothing():
    head = "axes { seq: 0.. multiple_of 8 }"
    body = "%0 = constant() {value=f32 0}\n%1 = pad(x, %0) {low=[0], high=[seq % 8]}"
    assert canonical(body, "x: f32[seq]", "f32[seq]", head) == "  return x\n"


# --- sizes ----------------------------------------------------------------------------------------


def test_sizes_that_are_computed_become_dims():
    body = "%0 = dim_of(x) {axis=0}\n%1 = constant() {value=i64 2}\n%2 = mul(%1, %0)"
    assert "dim_value() {value=2*n}" in canonical(body, "x: f32[n]", "i64[]")


def test_a_division_by_a_size_that_may_be_zero_stays():
    body = "%0 = dim_of(x) {axis=0}\n%1 = dim_of(x) {axis=1}\n%2 = floordiv(%0, %1)"
    assert "floordiv" in canonical(body, "x: f32[n, m]", "i64[]")
    assert refusals(body, "x: f32[n, m]", "i64[]")["floordiv-of-sizes"] == "m may be 0"
    head = "axes { m: 1.. }"
    assert "value=n//m" in canonical(body, "x: f32[n, m]", "i64[]", head)


def test_a_static_shape_is_a_constant():
    assert "i64[2] [2, 3]" in canonical("%0 = shape_of(x)", "x: f32[2, 3]", "i64[2]")
    assert canonical("%0 = shape_of(x)", "x: f32[2, n]", "i64[2]").count("reshape") == 2


# --- casts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [(f32, f16, True), (f16, f32, False), (f32, bf16, True), (f16, bf16, False), (bf16, f16, False),
     (i64, i32, True), (i32, u32, False), (i64, u32, True), (u32, i32, False), (f16, i8, True),
     (bf16, u8, True), (f16, i16, False), (f32, i32, False), (f64, i32, True), (f64, i64, False),
     (i8, u8, False), (i16, u8, True), (u8, i8, False)],
)  # fmt: skip
def test_which_dtypes_hold_which(wide, narrow, expected):
    assert represents(wide, narrow) is expected


@pytest.mark.parametrize("dtype", ALL_DTYPES)
def test_a_dtype_holds_itself(dtype):
    assert represents(dtype, dtype)


def test_a_cast_that_rounds_stays():
    body = "%0 = cast(x) {to=f16}\n%1 = cast(%0) {to=f32}"
    assert canonical(body, "x: f32[n]", "f32[n]").count("cast") == 2
    assert refusals(body, "x: f32[n]", "f32[n]")["cast-cast"] == "f16 cannot hold every f32"
    body = "%0 = cast(x) {to=f64}\n%1 = cast(%0) {to=f16}"
    assert canonical(body, "x: i32[n]", "f16[n]").count("cast") == 2


# --- control --------------------------------------------------------------------------------------

COND = """
%0 = {predicate}
%1 = cond(%0, x)
  then(a0: f32[n]) -> f32[{then}] {{
    {then_body}
  }}
  else(a0: f32[n]) -> f32[n] {{
    %0 = neg(a0)
    return %0
  }}
"""


def test_an_unknown_branch_stays():
    body = COND.format(predicate="is_size(x)", then="n", then_body="return a0")
    body = body.replace("is_size(x)", "gt(y, y)")
    assert "cond" in canonical(body + "%2 = neg(%1)", "x: f32[n], y: f32[]", "f32[n]")


def test_a_known_branch_settles_a_late_size():
    then = "%0 = concat(a0, a0) {axis=0}\n    return %0"
    body = COND.format(predicate="constant() {value=bool true}", then="2*n", then_body=then)
    body = body.replace("%1 = cond(%0, x)", "%1 = cond(%0, x) late [m <= max(n, 2*n)]")
    body += "%2 = dim_value() {value=m}\n%3 = reshape(%2) {shape=[1]}\n"
    body += "%4 = cast(%3) {to=f32}\n%5 = mul(%1, %4)"
    assert canonical(body, "x: f32[n]", "f32[m]") == (
        "  %0 = concat(x, x) {axis=0} : f32[2*n]\n"
        "  %1 = dim_value() {value=2*n} : i64[]\n"
        "  %2 = reshape(%1) {shape=[1]} : i64[1]\n"
        "  %3 = cast(%2) {to=f32} : f32[1]\n"
        "  %4 = mul(%0, %3) : f32[2*n]\n"
        "  return %4\n"
    )


def test_a_branch_that_computes_its_size_stays():
    then = "%0 = nonzero(a0)\n    %1 = cast(%0) {to=f32}\n"
    then += "    %2 = sum(%1) {axes=[1]}\n    return %2"
    body = COND.format(predicate="constant() {value=bool true}", then="?", then_body=then)
    why = refusals(body + "%2 = neg(%1)", "x: f32[n]", "f32[?]")
    assert why["cond-known"] == "the branch itself computes a size of its results"


def test_a_loop_that_may_run_stays():
    body = """
%0 = while(x) {carried=1}
  condition(a0: f32[]) -> bool[] {
    %0 = gt(a0, a0)
    return %0
  }
  body(a0: f32[]) -> f32[] {
    %0 = neg(a0)
    return %0
  }
%1 = neg(%0)"""
    assert "while" in canonical(body, "x: f32[]", "f32[]")
    assert refusals(body, "x: f32[]", "f32[]")["while-never"] == "its condition is gt : bool[]"
