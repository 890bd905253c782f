"""The table is complete, `emit` says what it does not take, and coefficients are reproducible."""

import numpy as np
import pytest
from llvmlite import ir
from tests.unit.codegen.math import reference, samples, test_special_values
from tools.fit_math import OUTPUT, file_text

from anyshape.codegen.llvm.math import FUNCTIONS, arity, emit

EXPECTED = {
    *("cos", "erf", "exp", "expm1", "log", "log1p"),
    *("pow", "rsqrt", "sigmoid", "sin", "sqrt", "tanh"),
}


def test_every_function_is_here_and_tested():
    assert set(FUNCTIONS) == EXPECTED
    assert set(reference.BOUNDS) == EXPECTED
    assert set(reference.FORMULAS) == EXPECTED
    assert set(samples.BREAKPOINTS) == EXPECTED - {"pow"}
    assert set(test_special_values.SPECIAL) == EXPECTED - {"pow"}


def test_only_pow_takes_two():
    assert [name for name in FUNCTIONS if arity(name) != 1] == ["pow"]


def builder_and_arguments(*types: ir.Type) -> tuple[ir.IRBuilder, list[ir.Argument]]:
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), types), "f")
    return ir.IRBuilder(function.append_basic_block()), list(function.args)


def test_emit_stays_in_the_callers_block():
    for name in FUNCTIONS:
        b, args = builder_and_arguments(*[ir.VectorType(ir.FloatType(), 8)] * arity(name))
        block = b.block
        result = emit(b, name, *args)
        assert (b.block, len(b.function.blocks)) == (block, 1)
        assert result.type == args[0].type


def test_emit_sets_no_fast_math_flag():
    for name in FUNCTIONS:
        b, args = builder_and_arguments(*[ir.DoubleType()] * arity(name))
        emit(b, name, *args)
        words = set(str(b.module).split())
        assert words.isdisjoint(
            {"fast", "nnan", "ninf", "nsz", "arcp", "afn", "reassoc", "contract"}
        )


def test_emit_refuses_integers():
    b, args = builder_and_arguments(ir.VectorType(ir.IntType(32), 4))
    with pytest.raises(TypeError, match=r"not for <4 x i32>"):
        emit(b, "exp", *args)


def test_emit_refuses_mixed_types_and_counts():
    b, args = builder_and_arguments(ir.FloatType(), ir.DoubleType())
    with pytest.raises(TypeError, match=r"pow takes 2 .* found \(float, double\)"):
        emit(b, "pow", *args)
    with pytest.raises(TypeError, match=r"exp takes 1 .* found \(float, float\)"):
        emit(b, "exp", args[0], args[0])


def test_coefficients_are_what_the_fit_computes():
    assert OUTPUT.read_text() == file_text()


def test_a_bound_is_promised_to_everyone():
    assert np.max(list(reference.BOUNDS.values())) <= 4
