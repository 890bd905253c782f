"""How long tests go on that could go on for ever."""

import os

IN_CI = os.environ.get("CI") == "true"


def seconds_to_test(short: float, in_ci: float | None = None) -> float:
    """What ANYSHAPE_TEST_SECONDS says; else short, but longer where nobody waits."""
    told = os.environ.get("ANYSHAPE_TEST_SECONDS")
    return float(told) if told else in_ci if IN_CI and in_ci is not None else short
