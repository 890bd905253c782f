"""Writes the stubs of the functions that come from op entries: `python -m tools.function_stubs`."""

from __future__ import annotations

from pathlib import Path

from anyshape.ir.opdef import all_ops

HEAD = '''"""Made by `python -m tools.function_stubs` from the entries of public ops."""

from collections.abc import Callable

from anyshape.frontend.builder.convert import ArrayLike
from anyshape.frontend.builder.tensor import Tensor

FUNCTIONS: dict[str, Callable[[ArrayLike], Tensor]]
'''

STUB = Path(__file__).parents[1] / "src/anyshape/frontend/builder/functions.pyi"


def stubs() -> str:
    names = [op.name for op in all_ops() if op.public]
    methods = [f"    def {name}(self) -> Tensor: ..." for name in names]
    functions = [f"def {name}(x: ArrayLike) -> Tensor: ..." for name in names]
    listed = [f'    "{name}",' for name in names]
    lines = [HEAD, "class Methods:", "    __slots__ = ()", *methods, "", *functions, ""]
    return "\n".join([*lines, "__all__ = [", *listed, "]", ""])


if __name__ == "__main__":
    STUB.write_text(stubs())
