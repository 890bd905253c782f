"""`(n > 4) is True`: identities of truths about sizes, in the model's code.

While torch traces, a comparison of sizes is an object of torch's, which is neither True nor False,
and whoever tests that asks nothing. Where the model may call a function with such a test, the
comparisons of sizes in its code give Python's own truths: they are asked at once, and the program
is one for the answer. No other model pays for it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dis import opmap, opname
from threading import get_ident
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import torch

from anyshape.frontend.torch_export.askers import is_models_own
from anyshape.frontend.torch_export.reached_functions import reached_functions

_COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__")
_LOAD_CONST, _IS_OP, _CACHE = opmap["LOAD_CONST"], opmap["IS_OP"], opmap["CACHE"]


@contextmanager
def identities(module: Any) -> Generator[None]:
    """Within, comparisons of sizes in the model's code are True or False, if it tests for that."""
    tests = any(_tests_identity(function.__code__) for function in reached_functions(module))
    with ExitStack() as stack:
        for kind in (torch.SymInt, torch.SymFloat) if tests else ():
            for name in _COMPARISONS:
                stack.enter_context(patch.object(kind, name, _asked(kind, name)))
        yield


def _tests_identity(code: CodeType) -> bool:
    """Whether something is compared with True or False by `is`, there or in code inside."""
    truths = {i for i, constant in enumerate(code.co_consts) if isinstance(constant, bool)}
    words = code.co_code
    pairs = zip(words[0::2], words[1::2], words[2::2], strict=False)
    if any(op == _LOAD_CONST and i in truths and then == _IS_OP for op, i, then in pairs):
        return True
    return any(_tests_identity(part) for part in code.co_consts if isinstance(part, CodeType))


def _asked(kind: Any, name: str) -> Any:
    own, thread = getattr(kind, name), get_ident()

    def compare(self: Any, other: Any) -> Any:
        truth = own(self, other)
        asker = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        if get_ident() != thread or truth is NotImplemented or not is_models_own(asker):
            return truth
        return truth if _chooses_next(asker) else bool(truth)

    return compare


def _chooses_next(frame: FrameType) -> bool:
    """Whether the code goes on with a jump, which asks itself."""
    words, i = frame.f_code.co_code, frame.f_lasti + 2
    while i < len(words) and words[i] == _CACHE:
        i += 2
    return i < len(words) and opname[words[i]].startswith(("POP_JUMP", "JUMP_IF", "TO_BOOL"))
