"""Python's collector of garbage while much is made.

A full collection looks at every object of the process: torch alone has a million. Capturing and
compiling a model make so many objects that several full collections become due, each of which
finds what the first one found. Within `young_garbage` what was there before is not looked at; all
of it is afterwards, as before.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def young_garbage() -> Generator[None]:
    """Within, collections look at what is made within. What was frozen before stays so, and whoever
    comes second, in another thread or inside, leaves thawing to the first."""
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
