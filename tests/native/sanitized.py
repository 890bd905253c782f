"""Runs tests of Python on a native module that was built with sanitizers: see `make sanitize`.

    python -m tests.native.sanitized thread build/sanitize-thread tests/unit/runtime/test_threads.py

The interpreter is an ordinary one, so the sanitizer's library is loaded before everything else.
Generated kernels are not instrumented. What the interpreter and other packages never free is left
out: a leak is ours if one of our sources is in its trace.
"""

import ctypes
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARIES = {
    "address": ("libasan.so", "libubsan.so", "libstdc++.so"),
    "thread": ("libtsan.so",),
}
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=1 exitcode=0 allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1 halt_on_error=1",
    "TSAN_OPTIONS": "exitcode=0 die_after_fork=0 history_size=4",
}
OURS = "csrc/"
FIXED_ADDRESSES = 0x0040000  # ADDR_NO_RANDOMIZE: the thread sanitizer's own map needs its places


def environment(kind: str, build: Path, reports: Path) -> dict[str, str]:
    (module,) = build.glob("_native*.so")
    libraries = (_compilers_file(library) for library in LIBRARIES[kind])
    options = {name: f"{value} log_path={reports}/report" for name, value in OPTIONS.items()}
    return options | {
        "LD_PRELOAD": " ".join(libraries),
        "PYTHONPATH": str(ROOT / "tests/native/sanitized_site"),
        "PYTHONMALLOC": "malloc",
        "OPENBLAS_NUM_THREADS": "1",
        "ANYSHAPE_TEST_NATIVE": str(module.resolve()),
    }


def _compilers_file(library: str) -> str:
    command = [os.environ.get("CXX", "c++"), f"-print-file-name={library}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def problems(report: str) -> list[str]:
    """The parts of a report that are about us: all but leaks of others."""
    parts = re.split(r"\n\s*\n", report)
    about_leaks = "ERROR: LeakSanitizer" in report and "ERROR: AddressSanitizer" not in report
    return [part for part in parts if OURS in part] if about_leaks else [report]


def main() -> None:
    kind, build, *tests = sys.argv[1:]
    ctypes.CDLL(None).personality(FIXED_ADDRESSES)
    with tempfile.TemporaryDirectory() as folder:
        added = environment(kind, Path(build), Path(folder))
        options = ["-q", "-p", "no:xdist", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        done = subprocess.run(command, env=os.environ | added, cwd=ROOT, check=False)
        found = [p for path in sorted(Path(folder).iterdir()) for p in problems(path.read_text())]
    print(*found, f"{kind} sanitizer: {len(found)} reports", sep="\n")
    sys.exit(done.returncode or bool(found))


if __name__ == "__main__":
    main()
