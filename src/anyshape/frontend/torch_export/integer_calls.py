"""`int(size)` is the size: it leaves no number in the program.

In eager mode a size is an `int`, of which `int` gives the same number. While torch traces it is a
`SymInt`, of which `int` takes the example's number out. So functions that the model may call have,
while it is traced, another function where they call `int`: the size for a size, `int` for all else.
Only calls are replaced, by their bytecode: `isinstance(n, int)` and `dtype=int` mean the class.
CPython's `LOAD_GLOBAL` tells, from version 3.11 on, that a call follows; where it does not, numbers
are taken as before, and such captures have conditions or are refused.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

import torch

_NAME = "__anyshape_int__"
"""What replaced calls look up."""


def _integer(*args: Any, **kwargs: Any) -> Any:
    """`int`, but for a size, which is one."""
    if len(args) == 1 and type(args[0]) is torch.SymInt and not kwargs:
        return args[0]
    return int(*args, **kwargs)


setattr(builtins, _NAME, _integer)
"""For good: another thread may be inside of a function when its calls are what they were again."""


@contextmanager
def integer_calls(functions: Iterable[FunctionType]) -> Generator[None]:
    """Within, these functions call the one above for `int`."""
    codes = [(each, each.__code__) for each in functions if "int" not in each.__globals__]
    changed = [(each, code, _calling(code)) for each, code in codes]
    used = [entry for entry in changed if entry[2] is not entry[1]]
    try:
        for function, _, code in used:
            function.__code__ = code
        yield
    finally:
        for function, code, _ in used:
            function.__code__ = code


def _calling(code: CodeType) -> CodeType:
    """The code with its calls of `int` replaced, also in functions inside of it."""
    inner = [_calling(each) if isinstance(each, CodeType) else each for each in code.co_consts]
    if any(one is not other for one, other in zip(inner, code.co_consts, strict=True)):
        code = code.replace(co_consts=tuple(inner))
    number = 2 * len(code.co_names) + 1  # the last bit says that a call follows
    calls = [each.offset for each in dis.get_instructions(code) if _is_call(each)]
    if not calls or number > 255:  # a larger one takes more than a byte
        return code
    text = bytearray(code.co_code)
    for offset in calls:
        text[offset + 1] = number
    return code.replace(co_code=bytes(text), co_names=(*code.co_names, _NAME))


def _is_call(instruction: dis.Instruction) -> bool:
    named = instruction.opname == "LOAD_GLOBAL" and instruction.argval == "int"
    return named and instruction.argrepr.startswith("NULL") and (instruction.arg or 0) <= 255
