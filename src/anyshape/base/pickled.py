"""What pickled executables are read back by.

A pickle names a function. This one stands below everything that may be pickled, and finds the layer
that loads files, which stands above.
"""

from __future__ import annotations

from importlib import import_module


def from_saved(content: bytes) -> object:
    """What was saved in these bytes, which are those of a file."""
    return import_module("anyshape.loaded").from_bytes(content)
