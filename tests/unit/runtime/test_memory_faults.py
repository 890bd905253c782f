"""Every allocation of the runtime fails once: a typed error or a right result, and all is well.

The allocations are made to fail from outside (tests/native/failing_memory.cpp), so the library
under test is the one that users have. A scenario that hangs is ended by its time limit.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.watchdog import PROCESS_HANGS_AFTER

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def failing_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("faults") / "failing_memory.so"
    source = ROOT / "tests/native/failing_memory.cpp"
    options = ["-std=c++20", "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, *options, source, "-o", library, "-ldl"], check=True)
    return library


@pytest.mark.parametrize(
    ("scenario", "least_failures"),
    [
        ("calls", 50),
        ("reserve", 30),
        ("making", 100),
        ("donated", 20),
        ("team", 5),
        ("threads", 0),
    ],
)
def test_every_allocation_may_fail(failing_memory: Path, scenario: str, least_failures: int):
    command = [sys.executable, "-m", "tests.unit.runtime.faults", scenario]
    environment = os.environ | {"LD_PRELOAD": str(failing_memory)}
    done = subprocess.run(
        command,
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PROCESS_HANGS_AFTER,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refused = re.search(r"(\d+) refused", done.stdout)
    assert int(refused.group(1) if refused else 0) >= least_failures, done.stdout
