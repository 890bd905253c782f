"""The part of llvmlite that math generation uses, behind typed functions.

llvmlite has no type annotations, and what pyright infers from its decorators is wrong; its objects
are therefore `Any` here, and this is the only file in which that matters.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from llvmlite import ir as _ir  # pyright: ignore[reportMissingTypeStubs]

from anyshape.codegen.llvm.math.format import F32, F64, Format

Builder: TypeAlias = Any  # ir.IRBuilder
Function: TypeAlias = Any  # ir.Function
Module: TypeAlias = Any  # ir.Module
Type: TypeAlias = Any  # ir.Type
Value: TypeAlias = Any  # ir.Value

ir: Any = _ir

Software: TypeAlias = Callable[[Builder, Sequence[Value]], Value]
"""Computes what an intrinsic does, where the target has no instruction for it."""


def new_module(name: str, software: Mapping[str, Software]) -> Module:
    """A module for a target without certain instructions: `software` stands in for them."""
    module = ir.Module(name)
    module.software = software
    return module


def software_of(b: Builder) -> Mapping[str, Software]:
    """What the target of the builder's module has no instruction for."""
    return getattr(b.module, "software", {})


def format_of(kind: Type) -> Format:
    """The format of a float type's elements; TypeError if there is none."""
    element = element_of(kind)
    if isinstance(element, ir.FloatType):
        return F32
    if isinstance(element, ir.DoubleType):
        return F64
    raise TypeError(f"math is generated for float, double and vectors of them, not for {kind}")


def float_type(form: Format) -> Type:
    return ir.FloatType() if form == F32 else ir.DoubleType()


def int_type(bits: int) -> Type:
    return ir.IntType(bits)


def element_of(kind: Type) -> Type:
    return kind.element if isinstance(kind, ir.VectorType) else kind


def lanes_of(kind: Type) -> int | None:
    """How many lanes a vector has; None for a scalar."""
    return kind.count if isinstance(kind, ir.VectorType) else None


def with_element(kind: Type, element: Type) -> Type:
    """The type with as many lanes and the given element."""
    lanes = lanes_of(kind)
    return element if lanes is None else ir.VectorType(element, lanes)


def constant(kind: Type, number: float) -> Value:
    """`number` in every lane."""
    scalar = ir.Constant(element_of(kind), number)
    lanes = lanes_of(kind)
    return scalar if lanes is None else ir.Constant(kind, [scalar] * lanes)


def intrinsic(b: Builder, name: str, values: Sequence[Value], result: Type = None) -> Value:
    """Call the intrinsic overloaded on the first argument's type, declaring it when first used."""
    kind = values[0].type
    software = software_of(b).get(name)
    if software is not None:
        return b.call(_software_function(b.module, name, software, values), values)
    symbol = f"{name}.{type_suffix(kind)}"
    callee = b.module.globals.get(symbol)
    if callee is None:
        signature = ir.FunctionType(result or kind, [value.type for value in values])
        callee = ir.Function(b.module, signature, symbol)
    return b.call(callee, values)


def _software_function(
    module: Module, name: str, software: Software, values: Sequence[Value]
) -> Function:
    """A function of the module for one type, made when first asked for."""
    kinds = [value.type for value in values]
    symbol = f"anyshape.{name.removeprefix('llvm.')}.{type_suffix(kinds[0])}"
    known = module.globals.get(symbol)
    if known is not None:
        return known
    function = internal_function(module, symbol, kinds[0], kinds)
    function.attributes.add("noinline")  # a polynomial would hold a dozen copies
    b = ir.IRBuilder(function.append_basic_block("entry"))
    b.ret(software(b, function.args))
    return function


def type_suffix(kind: Type) -> str:
    """How LLVM spells a type in the name of an intrinsic: v8f32, f64, i128."""
    lanes = lanes_of(kind)
    if lanes is not None:
        return f"v{lanes}{type_suffix(kind.element)}"
    return f"i{kind.width}" if isinstance(kind, ir.IntType) else format_of(kind).name


def internal_function(
    module: Module, name: str, result: Type, arguments: Sequence[Type]
) -> Function:
    """A new function that only this module sees."""
    function = ir.Function(module, ir.FunctionType(result, arguments), name)
    function.linkage = "internal"
    return function


def constant_words(module: Module, name: str, words: Sequence[int]) -> Value:
    """A read-only table of 64-bit words, made once per module."""
    known = module.globals.get(name)
    if known is not None:
        return known
    kind = ir.ArrayType(ir.IntType(64), len(words))
    table = ir.GlobalVariable(module, kind, name)
    table.linkage, table.global_constant = "internal", True
    table.initializer = ir.Constant(kind, list(words))
    return table


def load_word(b: Builder, table: Value, index: Value) -> Value:
    """The 64-bit word at an index."""
    address = b.gep(table, [ir.IntType(64)(0), index], inbounds=True)
    return b.load(address, typ=ir.IntType(64), align=8)


def constant_undefined(kind: Type) -> Value:
    """A value to insert the parts of a vector or struct into."""
    return ir.Constant(kind, ir.Undefined)


def struct_of(b: Builder, kind: Type, parts: Sequence[Value]) -> Value:
    """A struct with the given members."""
    value = constant_undefined(kind)
    for i, part in enumerate(parts):
        value = b.insert_value(value, part, i)
    return value
