"""The guards of a program that was saved and loaded.

torch saves them as text, without the lines that asked: `L['x'].size()[0] % 8 == 0`. All of them
count: the program itself would refuse a call that breaks one. The text is parsed, never evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy  # pyright: ignore[reportMissingTypeStubs]  torch brings it
from torch.utils._sympy.functions import FloorDiv, PythonMod

from anyshape.base.errors import UnsupportedModelError
from anyshape.frontend.torch_export.guards import Guard

Sizes = Mapping[str, Sequence[Any]]
"""torch's sizes of the inputs, by path: `x`, `pair[0]`."""


def saved_guards(program: Any, sizes: Sizes) -> list[Guard]:
    """The guards that a loaded program has as text."""
    reader = _Reader(sizes)
    texts: Sequence[str] = getattr(program, "_guards_code", None) or ()
    return [Guard(reader.condition(text), None, text) for text in texts]


class _Reader:
    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def condition(self, text: str) -> Any:
        try:
            return self._read(ast.parse(text, mode="eval").body)
        except (KeyError, IndexError, TypeError, SyntaxError, ValueError):
            fix = "compile the module instead, or the program before it was saved"
            parts = {f"the condition {text}": [""]}
            raise UnsupportedModelError("the exported program", parts, fix) from None

    def _read(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int(value)):
                return sympy.Integer(value)
            case ast.BoolOp(op=op, values=values):
                return _JOINED[type(op)](*map(self._read, values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return sympy.Not(self._read(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return _ARITHMETIC[type(op)](self._read(left), self._read(right))
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = list(map(self._read, (left, *others)))
                pairs = zip(ops, sides, sides[1:], strict=False)
                return sympy.And(*(_COMPARED[type(op)](x, y) for op, x, y in pairs))
            case ast.Subscript(
                value=ast.Call(func=ast.Attribute(value=source, attr="size"), args=[]),
                slice=ast.Constant(value=int(axis)),
            ):
                size = self.sizes[_path(source)][axis]
                return size.node.expr if hasattr(size, "node") else sympy.Integer(size)
            case _:
                raise ValueError(ast.dump(node))


def _path(source: ast.expr) -> str:
    """`pair[0]` for `L['pair'][0]`."""
    match source:
        case ast.Subscript(value=ast.Name(id="L"), slice=ast.Constant(value=str(name))):
            return name
        case ast.Subscript(value=inner, slice=ast.Constant(value=key)):
            return f"{_path(inner)}[{key!r}]"
        case _:
            raise ValueError(ast.dump(source))


_JOINED: dict[type, Callable[..., Any]] = {ast.And: sympy.And, ast.Or: sympy.Or}
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda x, y: x + y, ast.Sub: lambda x, y: x - y, ast.Mult: lambda x, y: x * y,
    ast.FloorDiv: FloorDiv, ast.Mod: PythonMod,
}  # fmt: skip
_COMPARED: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: sympy.Eq, ast.NotEq: sympy.Ne, ast.Lt: sympy.Lt, ast.LtE: sympy.Le,
    ast.Gt: sympy.Gt, ast.GtE: sympy.Ge,
}  # fmt: skip
