"""Functions of one tensor of floats, and methods of the same names: `exp(x)` and `x.exp()`.

Each op that its entry calls `public` has one; nothing is written here. What type checkers read,
`functions.pyi`, is made by `python -m tools.function_stubs`, and a test compares it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from anyshape import ops as _ops
from anyshape.frontend.builder.convert import ArrayLike, as_float
from anyshape.frontend.builder.tracer import active
from anyshape.ir.opdef import AnyOp, all_ops

if TYPE_CHECKING:
    from anyshape.frontend.builder.tensor import Tensor

assert _ops, "importing it fills the registry"


def _function(op: AnyOp) -> Callable[[ArrayLike], Tensor]:
    def function(x: ArrayLike) -> Tensor:
        return active().emit(op.name, as_float(x))

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = f"`{op.name}` of each element; integers become f32."
    return function


FUNCTIONS = {op.name: _function(op) for op in all_ops() if op.public}


class Methods:
    """The functions as methods of `Tensor`."""

    __slots__ = ()


for _name, _made in FUNCTIONS.items():
    globals()[_name] = _made
    setattr(Methods, _name, _made)

__all__ = list(FUNCTIONS)  # pyright: ignore[reportUnsupportedDunderAll]
