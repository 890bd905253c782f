"""Which elementwise ops have machine code: the others are computed by their reference on the host.

Code is made far above this layer (`codegen/llvm/emit/table.py`), by a library that a process need
not load to use compiled kernels. So the names are written here as well, and a test compares them.
"""

from __future__ import annotations

from anyshape.ir.node import Node
from anyshape.ir.opdef import Trait

_ARITHMETIC = frozenset(
    {"abs", "add", "ceil", "div", "floor", "floordiv", "maximum", "minimum", "mod", "mul", "neg"}
    | {"pow", "round", "sign", "sub"}
)
_FUNCTIONS = frozenset(
    {"cos", "erf", "exp", "expm1", "log", "log1p", "rsqrt", "sigmoid", "sin", "sqrt", "tanh"}
)
_TESTS = frozenset({"eq", "ge", "gt", "is_inf", "is_nan", "le", "lt", "ne"})
_LOGIC = frozenset(
    {"bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_not", "logical_or"}
)

NATIVE_ELEMENTWISE = frozenset({*_ARITHMETIC, *_FUNCTIONS, *_TESTS, *_LOGIC, "cast", "select"})


def has_code(node: Node) -> bool:
    """Whether a kernel can contain it, unless it is no elementwise primitive at all."""
    if not node.op.has(Trait.ELEMENTWISE) or node.op.is_compound:
        return True
    return node.op.name in NATIVE_ELEMENTWISE
