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

_users: list[object] = []  # who is within; freezing what is frozen would end with the first of them


@contextmanager
def young_garbage() -> Generator[None]:
    """Within, collections look at what is made within. What the user has frozen stays so."""
    if _users or gc.get_freeze_count():
        yield
        return
    _users.append(object())
    gc.freeze()
    try:
        yield
    finally:
        _users.pop()
        gc.unfreeze()
