"""How long tests go on that could go on for ever."""

import os
import time

from tests.watchdog import HANGS_AFTER

IN_CI = os.environ.get("CI") == "true"


def seconds_to_test(short: float, in_ci: float | None = None) -> float:
    """What ANYSHAPE_TEST_SECONDS says; else short, but longer where nobody waits."""
    told = os.environ.get("ANYSHAPE_TEST_SECONDS")
    return float(told) if told else in_ci if IN_CI and in_ci is not None else short


def wait_until_idle() -> None:
    """Until this process uses no CPU for a while: a busy machine may let it work later."""
    end, used = time.monotonic() + HANGS_AFTER, 1.0
    while used >= 0.005:
        assert time.monotonic() < end, "threads never become idle"
        before = time.process_time()
        time.sleep(0.5)
        used = time.process_time() - before
