"""What generated code looks like on its way from a kernel to instructions, as text.

Made when somebody asks, from the kernel itself: a process that found its code in the cache shows
the same as the one that compiled it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from anyshape.base.errors import NoListingError, NotGeneratedError
from anyshape.codegen.llvm.compile import assembly_text, optimized_text
from anyshape.codegen.llvm.emitting import llvm_text
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.loop import Kernel


def _as_emitted(text: str, target: LlvmTarget) -> str:
    del target
    return text


FORMS: Final[Mapping[str, Callable[[str, LlvmTarget], str]]] = MappingProxyType(
    {
        "LLVM text": _as_emitted,
        "optimized LLVM text": optimized_text,  # as LLVM's passes leave it
        "assembly": assembly_text,
    }
)
"""From LLVM IR as it is emitted."""


def listing(kernel: Kernel, target: LlvmTarget, form: str) -> str:
    """A kernel's code in one of the `FORMS`."""
    if form not in FORMS:
        raise NoListingError("native", form, tuple(FORMS))
    if kernel.native:
        raise NotGeneratedError(kernel.native, form)
    return FORMS[form](llvm_text(kernel, target), target)
