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


class _Frozen:
    """Who keeps objects from being looked at. To count them takes milliseconds, as each of them is
    visited: whoever has done so once is remembered."""

    by_us = False  # for as long as the outermost `young_garbage`
    by_others = False  # for good: nothing tells when they thaw, and leaving all to them is right


@contextmanager
def young_garbage() -> Generator[None]:
    """Within, collections look at what is made within. What was frozen before stays so, and whoever
    comes second, in another thread or inside, freezes what there is by then and leaves thawing to
    the first."""
    if _Frozen.by_us:
        gc.freeze()
        yield
        return
    if _by_others():
        yield
        return
    _Frozen.by_us = True
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        _Frozen.by_us = False


def _by_others() -> bool:
    _Frozen.by_others = _Frozen.by_others or gc.get_freeze_count() > 0
    return _Frozen.by_others
