"""The verifier of the loop IR: what it refuses, what it proves, and how much work it makes."""

from dataclasses import replace

import pytest
from tests.unit.codegen.emit import examples
from tests.unit.codegen.emit.harness import at, buffer, each, kernel, op, put

from anyshape.base.errors import VerifyError
from anyshape.ir.types import f32, f64
from anyshape.loop import Guard, Let, Literal, Local, Scalar
from anyshape.loop.verify import verify_kernel
from anyshape.sym import Dim, Less

X = buffer("x", f32, ["n0", "n1"])
OUT = buffer("out", f32, ["n0", "n1"], written=True)


@pytest.mark.parametrize("name", [name for name in examples.ALL if name not in ("take", "scatter")])
def test_kernels_of_every_kind_are_proved(name: str) -> None:
    assert verify_kernel(examples.ALL[name]) == []


def test_accesses_that_may_be_outside_are_named_once() -> None:
    wild = at(X, "t", "j + 1")
    body = each(put(OUT, ["t", "j"], op("add", wild, op("mul", wild, wild))))
    assert verify_kernel(kernel([X, OUT], body)) == [(X, wild.index)]


def test_a_guard_proves_what_is_inside_only() -> None:
    wild = at(X, "t", "j + 1")
    inside = (Less(Dim.of("j + 1"), Dim.of("n1")),)
    guarded = Guard(inside, wild, Literal.of(0, f32))
    assert verify_kernel(kernel([X, OUT], each(put(OUT, ["t", "j"], guarded)))) == []
    both = op("add", guarded, wild)
    assert verify_kernel(kernel([X, OUT], each(put(OUT, ["t", "j"], both)))) == [(X, wild.index)]


def test_shared_expressions_are_checked_once() -> None:
    """2 ** 64 paths lead to the one load."""
    value: Scalar = at(X, "t", "j")
    for _ in range(64):
        value = op("add", value, value)
    assert verify_kernel(kernel([X, OUT], each(put(OUT, ["t", "j"], value)))) == []


def test_a_local_of_another_dtype_is_checked_again() -> None:
    narrow, wide = Local("v", f32), Local("v", f64)
    use = op("neg", narrow)
    body = (
        Let(narrow, at(X, "t", "j")),
        put(OUT, ["t", "j"], use),
        Let(wide, Literal.of(0, f64)),
        put(OUT, ["t", "j"], use),
    )
    with pytest.raises(VerifyError, match="local 'v'"):
        verify_kernel(kernel([X, OUT], each(*body)))


def test_indices_have_to_be_defined() -> None:
    broken = each(put(OUT, ["t", "i"], at(X, "t", "j")))
    with pytest.raises(VerifyError, match="uses 'i', which is not defined here"):
        verify_kernel(kernel([X, OUT], broken))


def test_only_results_are_written() -> None:
    other = replace(OUT, name="other")
    with pytest.raises(VerifyError, match="buffer 'other'"):
        verify_kernel(kernel([X, OUT], each(put(other, ["t", "j"], at(X, "t", "j")))))
