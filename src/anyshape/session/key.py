"""What a compiled model is found by: equal only where compiling again would give the same program.

That is the content of the model, what the session asks for, the options of the process that change
programs, the machine as this process sees it, our own sources, and the packages whose code takes
part. Data beside the model is compared when an entry is found (`cached`), since only the entry
knows which files there are.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from anyshape.base.options import Options
from anyshape.runtime.machine import cpu_identity, machine
from anyshape.session.model import SessionModel
from anyshape.session.options import SessionOptions

FORMAT = 1

_PACKAGE = Path(__file__).parents[1]
_PACKAGES = ("llvmlite", "ml_dtypes", "numpy", "onnx")


def entry_key(model: SessionModel, wanted: SessionOptions, options: Options) -> str:
    """Hexadecimal."""
    here = machine()
    parts = (
        FORMAT,
        model.digest,
        model.name,  # messages say it
        sorted(wanted.free_dimensions.items()),
        sorted(wanted.free_denotations.items()),
        wanted.strict_names,
        sorted(wanted.keywords().items()),
        (options.threads, options.target, options.isa, options.without, options.calibrate),
        (len(options.affinity), options.memory_limit),
        (here.cpus, here.l1d_bytes, here.l2_bytes, here.l3_bytes),
        (here.vector_isa, here.byte_products, cpu_identity()),
        sources_identity(),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@cache
def sources_identity() -> str:
    """Of what compiles, when this process first asked."""
    return _read_sources()


def sources_changed() -> bool:
    """Whether someone has changed them since."""
    return _read_sources() != sources_identity()


def _read_sources() -> str:
    """More than a version number: it also changes while someone works on them."""
    digest = hashlib.sha256(sys.version.encode())
    for path in _sources(os.fspath(_PACKAGE)):
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        digest.update(f"{path[len(os.fspath(_PACKAGE)) :]} {len(content)} ".encode() + content)
    for name in _PACKAGES:
        digest.update(repr((name, _installed(name))).encode())
    return digest.hexdigest()


def _sources(folder: str) -> Iterator[str]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _sources(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path


def _installed(name: str) -> list[str]:
    """The versions of a package that lie where it is imported from, without importing it."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return []
    beside = os.path.dirname(os.path.dirname(spec.origin))
    found = [each for each in os.listdir(beside) if each.startswith(f"{name}-")]
    return sorted(found) or [spec.origin, str(os.stat(spec.origin).st_mtime_ns)]
