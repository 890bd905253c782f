"""What object code is kept under: equal only for equal code, and found without LLVM."""

from __future__ import annotations

import hashlib
import struct

from anyshape.codegen.cache import FORMAT_VERSION
from anyshape.codegen.llvm.compile import Tuning
from anyshape.codegen.llvm.emitting import Source, source_text
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.codegen.llvm.toolchain import toolchain_identity


def object_key(source: Source, target: LlvmTarget, tuning: Tuning) -> str:
    """Hexadecimal. Nothing is emitted for it."""
    digest = hashlib.sha256()
    kind, text = type(source).__name__, source_text(source)
    for part in (FORMAT_VERSION, toolchain_identity(), repr(target), repr(tuning), kind, text):
        encoded = str(part).encode()
        digest.update(struct.pack("<Q", len(encoded)) + encoded)
    return digest.hexdigest()
