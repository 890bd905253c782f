"""Runs the `main` of a module in processes of their own, without importing everything in each.

A server has imported the module and has no threads; for each run it forks a child, which may crash.
`ForkServer("tests.guard.run").run("dot", ANYSHAPE_ISA="avx2")` is what
`ANYSHAPE_ISA=avx2 python -m tests.guard.run dot` would be. So nothing of a module whose mains run
here may depend on arguments or environment when it is imported.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]


class ForkServer:
    """A process that waits for orders; it ends with `close`, or with this process."""

    def __init__(self, module: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fork_server", module],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` would tell it: a negative code is the signal that ended the run."""
        with tempfile.TemporaryDirectory(prefix="anyshape-fork-") as folder:
            paths = [f"{folder}/stdout", f"{folder}/stderr"]
            code = self._ask({"arguments": arguments, "environment": environment, "paths": paths})
            out, error = (Path(path).read_text(errors="replace") for path in paths)
        return subprocess.CompletedProcess(list(arguments), code, out, error)

    def _ask(self, order: dict[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(order), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def serve(main: Callable[[], object]) -> None:
    """Reads an order for each line, and answers with a child's exit code."""
    for line in sys.stdin:
        order = json.loads(line)
        assert threading.active_count() == 1, "a fork would copy locks that threads hold"
        child = os.fork()
        if child == 0:
            _run(main, order["arguments"], order["environment"], order["paths"])
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(code, flush=True)


def _run(
    main: Callable[[], object], arguments: list[str], environment: dict[str, str], paths: list[str]
) -> None:
    """What a child does; it never returns."""
    code = 1
    try:
        for descriptor, path in enumerate(paths, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), descriptor)
        os.environ.update(environment)
        sys.argv[1:] = arguments
        main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(importlib.import_module(sys.argv[1]).main)
