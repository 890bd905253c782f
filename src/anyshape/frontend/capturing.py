"""One capture of a torch model at a time.

A capture replaces functions of torch and changes its settings, as torch.export itself does; the
first one also imports much of torch. A child process that is forked during a capture inherits torch
in that state and cannot repair it: it refuses to capture.
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
