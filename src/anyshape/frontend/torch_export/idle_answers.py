"""Questions whose answer makes no difference, told by the lines around them.

    is_causal = query.shape[2] > 1 and attention_mask is None and is_causal

is False whatever the size, where there is a mask. And

    if self.keys.numel() == 0:
        return 0
    return self.keys.shape[-2]

is the size itself, 0 or not. And whether

    projected.transpose(0, -2).contiguous()

copies anything depends on the size; its elements do not. Only names, attributes and constant
indices are looked at, so looking changes nothing. Whatever is written otherwise counts as making a
difference.
"""

from __future__ import annotations

import ast
import dis
import inspect
import itertools
import textwrap
from functools import cache
from linecache import getline
from types import CodeType, FrameType
from typing import Any

import torch


def is_false_anyway(frame: FrameType) -> bool:
    """Whether the question is part of an `and` that is False whatever the answer."""
    for operand in _operands_after(frame.f_code, frame.f_lasti):
        if not _is_simple(operand):
            return False
        value = _value(operand, frame)
        if value is False:
            return True
        if value is not True:
            return False
    return False


def asks_whether_to_copy(frame: FrameType) -> bool:
    """Whether a method asks, in native code, that gives the same elements either way."""
    return _called_method(frame.f_code, frame.f_lasti) in _SAME_ELEMENTS


_SAME_ELEMENTS = frozenset({"contiguous", "reshape", "flatten"})


@cache
def _called_method(code: CodeType, offset: int) -> str:
    """The name of the method that this instruction calls; empty if it does something else."""
    here = next((i for i in dis.get_instructions(code) if i.offset == offset), None)
    if here is None or here.opname != "CALL" or here.positions is None:
        return ""
    match _expression(code.co_filename, here.positions):
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name  # the latter where a chain of calls goes over several lines
        case _:
            return ""


def size_or_zero(frame: FrameType) -> Any:
    """The symbol of the size that a function returns, if it asks for no elements only to return 0
    for them; else None."""
    returned = _returned_unless_empty(frame.f_code, frame.f_lineno)
    if returned is None or not _is_simple(returned):
        return None
    size = _value(returned, frame)
    if type(size) is not torch.SymInt:
        return None
    expression: Any = getattr(size, "node").expr  # noqa: B009 - torch has no types for it
    return expression if expression.is_Symbol else None


def _value(expression: ast.expr, frame: FrameType) -> Any:
    code = compile(ast.Expression(expression), "<operand>", "eval")
    return eval(code, frame.f_globals, frame.f_locals)


def _is_simple(expression: ast.expr) -> bool:
    match expression:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=value):
            return _is_simple(value)
        case ast.Subscript(value=value, slice=ast.Constant() | ast.UnaryOp(operand=ast.Constant())):
            return _is_simple(value)
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot()], comparators=[right]):
            return _is_simple(left) and isinstance(right, ast.Constant) and right.value is None
        case _:
            return False


@cache
def _operands_after(code: CodeType, offset: int) -> tuple[ast.expr, ...]:
    """The operands of an `and` behind the one whose truth this instruction tests."""
    tests = [i for i in dis.get_instructions(code) if i.opname == "JUMP_IF_FALSE_OR_POP"]
    here = next((i for i in tests if i.offset == offset), None)
    if here is None or here.positions is None:
        return ()
    number = [i.offset for i in tests if i.positions == here.positions].index(offset)
    expression = _expression(code.co_filename, here.positions)
    if not isinstance(expression, ast.BoolOp) or not isinstance(expression.op, ast.And):
        return ()
    return tuple(expression.values[number + 1 :])


def _expression(file: str, positions: dis.Positions) -> ast.expr | None:
    """The source there, which must be an expression by itself."""
    first, last, start, end = positions
    if first is None or last is None or start is None or end is None:
        return None
    lines = [getline(file, number).encode() for number in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    try:
        return ast.parse(f"({b''.join(lines).decode()})", mode="eval").body
    except (SyntaxError, UnicodeDecodeError):
        return None


@cache
def _returned_unless_empty(code: CodeType, line: int) -> ast.expr | None:
    """What is returned after `if ... x.numel() == 0: return 0` at that line."""
    try:
        (function,) = ast.parse(textwrap.dedent(inspect.getsource(code))).body
    except (OSError, TypeError, ValueError, SyntaxError):
        return None
    statements: list[ast.stmt] = getattr(function, "body", [])
    offset = code.co_firstlineno - 1
    for statement, following in itertools.pairwise(statements):
        match statement, following:
            case ast.If(test=test, body=[ast.Return(value=ast.Constant(value=0))], orelse=[]), (
                ast.Return(value=ast.expr() as returned)
            ) if statement.lineno + offset <= line <= (test.end_lineno or 0) + offset:
                last = test.values[-1] if isinstance(test, ast.BoolOp) else test
                return returned if ast.unparse(last).endswith(".numel() == 0") else None
            case _:
                pass
    return None
