"""tools/smoke.py, which `make wheel` runs on a wheel, runs on the sources too."""

import subprocess
import sys
from pathlib import Path

from tests.watchdog import HANGS_AFTER

SMOKE = Path(__file__).parents[2] / "tools" / "smoke.py"


def test_what_a_wheel_must_be_able_to_do() -> None:
    command = [sys.executable, str(SMOKE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_AFTER, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("works\n")
