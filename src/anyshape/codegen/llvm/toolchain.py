"""What turns LLVM IR into code, in a form that a cache key can hold, found without loading LLVM.

A kernel's text, its target and this identity determine its object code.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_RECIPE = ("compile.py", "memory_calls.py")  # our sources that decide what the object contains


@cache
def toolchain_identity() -> str:
    """Changes with our own recipe, with llvmlite's version and with the LLVM inside it.

    llvmlite carries LLVM as a shared library, whose version only the library itself can tell; its
    size stands for it. Hashing our sources says more than a version number: it also changes while
    someone works on them.
    """
    digest = hashlib.sha256()
    for name in _RECIPE:
        digest.update((Path(__file__).parent / name).read_bytes())
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
