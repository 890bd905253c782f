"""One capture of a torch model at a time.

Meanwhile functions of torch are replaced and its settings are others, by torch itself as well; the
first capture also imports a good part of it. A child that was forked in the middle of that has such
a torch for ever, and can say no more than that.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from anyshape.base.errors import ForkedCaptureError
from anyshape.base.fork_lock import WorkLock

_CAPTURE = WorkLock()


@contextmanager
def capturing() -> Generator[None]:
    """Within, no other thread captures."""
    with _CAPTURE:
        if _CAPTURE.was_lost:
            raise ForkedCaptureError
        yield
