"""What turns a kernel into code, in a form that a cache key can hold, found without loading LLVM.

A kernel's text, its target and this identity determine its object code.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]
_RECIPE = ("codegen/llvm", "loop", "sym", "ir/types.py")
"""Our sources that decide what an object contains: the emitter, what it reads, what it proves."""


def _hash_of_sources() -> bytes:
    """Says more than a version number: it also changes while someone works on the sources."""
    digest = hashlib.sha256()
    for place in (_PACKAGE / name for name in _RECIPE):
        for file in sorted(place.rglob("*.py")) if place.is_dir() else (place,):
            digest.update(file.read_bytes())
    return digest.digest()


_SOURCES = _hash_of_sources()
"""Read when they are imported: what a process was started with, it goes on using."""


@cache
def toolchain_identity() -> str:
    """Changes with our own sources, with llvmlite's version and with the LLVM inside it.

    llvmlite carries LLVM as a shared library, whose version only the library itself can tell; its
    size stands for it.
    """
    digest = hashlib.sha256(_SOURCES)
    package = _llvmlite_folder()
    digest.update((package / "_version.py").read_bytes())
    libraries = sorted((package / "binding").glob("*llvmlite*.*"))
    digest.update(repr([(file.name, file.stat().st_size) for file in libraries]).encode())
    return digest.hexdigest()


def _llvmlite_folder() -> Path:
    spec = find_spec("llvmlite")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("llvmlite is not installed", name="llvmlite")
    return Path(spec.origin).parent
