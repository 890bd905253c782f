"""What a child of this process finds."""

import os
import signal
from collections.abc import Callable

from tests.watchdog import HANGS_AFTER


def in_child(is_right: Callable[[], bool]) -> bool:
    """Forks and asks. A child that raises, or hangs, is not right."""
    child = os.fork()
    if child == 0:
        signal.alarm(HANGS_AFTER)
        try:
            os._exit(0 if is_right() else 1)
        finally:
            os._exit(2)  # it raised
    return os.waitpid(child, 0)[1] == 0
