"""Loop nests: what a kernel does, as data that prints, verifies, hashes and can be interpreted."""

from anyshape.loop.ir import (
    Accumulator,
    Apply,
    Bind,
    Buffer,
    For,
    Guard,
    Kernel,
    Let,
    Literal,
    Load,
    Local,
    Number,
    Scalar,
    Statement,
    Store,
    Update,
)

__all__ = [
    "Accumulator",
    "Apply",
    "Bind",
    "Buffer",
    "For",
    "Guard",
    "Kernel",
    "Let",
    "Literal",
    "Load",
    "Local",
    "Number",
    "Scalar",
    "Statement",
    "Store",
    "Update",
]
