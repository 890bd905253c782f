"""Emits and compiles many sources at once. Both hold a lock, so parallel means processes.

The calling thread compiles too; beside it, each worker process is driven by a thread of ours, and
all take sources from one line, in the order of their length. Kernels of about one length are alike,
so whoever goes on with the neighbour of what it did last has answered half of its questions about
bounds already. Workers are plain subprocesses that speak over pipes: they import nothing of the
user's program, need no `__main__` guard, and end with us.

A worker that is lost gives its source back, to be compiled here. Unless LLVM crashed on it: then
it would crash us too, and the source is an error instead.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from threading import Lock, Thread  # noqa: TID251  of a batch, whose threads no child has
from types import TracebackType
from typing import TypeAlias

from anyshape.base.errors import CompileError
from anyshape.base.fork_lock import fork_lock
from anyshape.codegen.llvm.compile import DEFAULT_TUNING, Tuning
from anyshape.codegen.llvm.emitting import Source, compile_source, source_name, source_text
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.codegen.llvm.wire import (
    decode_result,
    encode_settings,
    encode_source,
    receive,
    send,
)
from anyshape.loop import Kernel

Progress: TypeAlias = Callable[[int, int, str], None]
"""Called as progress(done, total, kernel) after each kernel: one call at a time, in any thread."""

Keep: TypeAlias = Callable[[int, bytes], None]
"""Called as keep(index, object) as soon as a kernel is compiled: one call at a time, likewise."""

SOURCES_PER_WORKER = 4
"""Starting a worker takes as long as emitting and compiling about as many kernels."""

LONGER = 200
"""How many characters of LLVM IR take as long as one of a kernel."""


def compile_many(
    sources: Sequence[Source],
    target: LlvmTarget,
    *,
    cpus: int,
    tuning: Tuning = DEFAULT_TUNING,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> list[bytes]:
    """The object code of each source, in order; after the first error nothing more is begun."""

    def compile_here(source: Source) -> bytes:
        return compile_source(source, target, tuning)

    batch = _Batch(sources, progress, keep)
    count = _worker_count(len(sources), cpus)
    starts = batch.starts(count + 1)
    threads = _started(
        Thread(target=_drive, args=(batch, start, target, tuning)) for start in starts[1:]
    )
    try:
        batch.work(compile_here, starts[0])
    except BaseException:
        batch.stop()
        raise
    finally:
        for thread in threads:
            thread.join()
    batch.work(compile_here, starts[0])  # what lost workers gave back
    return batch.results()


def _started(threads: Iterable[Thread]) -> list[Thread]:
    """As many as the system lets us have: the calling thread works in any case."""
    started: list[Thread] = []
    with suppress(RuntimeError):
        for thread in threads:
            thread.start()
            started.append(thread)
    return started


def _worker_count(sources: int, cpus: int) -> int:
    """Workers worth starting beside the calling thread. An embedded Python cannot start any."""
    return max(0, min(cpus - 1, sources // SOURCES_PER_WORKER)) if sys.executable else 0


# --- the queue ----------------------------------------------------------------------------------


class _WorkerLostError(Exception):
    """A worker went away without an answer, through no fault of the kernel."""


class _Batch:
    """Sources to compile and their results, shared by all who work on them."""

    def __init__(
        self, sources: Sequence[Source], progress: Progress | None, keep: Keep | None
    ) -> None:
        self._sources = sources
        self._progress = progress
        self._keep = keep
        self._lock = Lock()
        lengths = [_length(source) for source in sources]
        self._order = sorted(range(len(sources)), key=lambda i: -lengths[i])  # the longest first
        self._ends = list(accumulate(lengths[i] for i in self._order))
        self._waiting = list(range(len(sources)))  # places in that order, ascending
        self._results: dict[int, bytes | CompileError] = {}

    def starts(self, count: int) -> list[int]:
        """Places where so many begin, with about as much to do between them."""
        total = self._ends[-1] if self._ends else 0
        return [bisect_right(self._ends, total * n // count) for n in range(count)]

    def work(self, compile_source: Callable[[Source], bytes], place: int) -> None:
        """Compile what waits until nothing does, or until the compiler is lost: first what is at a
        place of the line, then always what is nearest to the last."""
        while (taken := self._take(place)) is not None:
            place, index = taken, self._order[taken]
            try:
                result = compile_source(self._sources[index])
            except CompileError as error:
                result = error
            except _WorkerLostError:
                return self._give_back(place)
            self._finish(index, result)
        return None

    def stop(self) -> None:
        """Begin nothing more."""
        with self._lock:
            self._waiting.clear()

    def results(self) -> list[bytes]:
        """All results in order; raises the error of the first source that has one."""
        done = [result for _, result in sorted(self._results.items())]
        for result in done:
            if isinstance(result, CompileError):
                raise result
        return [result for result in done if isinstance(result, bytes)]

    def _take(self, place: int) -> int | None:
        with self._lock:
            if not self._waiting:
                return None
            behind = bisect_left(self._waiting, place)
            around = range(max(behind - 1, 0), min(behind + 1, len(self._waiting)))
            return self._waiting.pop(min(around, key=lambda at: abs(self._waiting[at] - place)))

    def _give_back(self, place: int) -> None:
        with self._lock:
            insort(self._waiting, place)

    def _finish(self, index: int, result: bytes | CompileError) -> None:
        with self._lock:
            self._results[index] = result
            if isinstance(result, CompileError):
                self._waiting.clear()
            elif self._keep is not None:
                self._keep(index, result)
            if self._progress is not None:
                name = source_name(self._sources[index])
                self._progress(len(self._results), len(self._sources), name)


def _length(source: Source) -> int:
    """How much there is to do, in characters of a kernel."""
    length = len(source_text(source))
    return length if isinstance(source, Kernel) else length // LONGER


# --- workers ------------------------------------------------------------------------------------

_CRASHES = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV})

# The worker finds modules where we do, and nowhere else. An empty module stands in for our package,
# whose own __init__ would import all of anyshape and make the worker start three times slower.
_BOOTSTRAP = """
import sys, types
sys.path[:] = sys.argv[2:]
sys.modules["anyshape"] = package = types.ModuleType("anyshape")
package.__path__ = [sys.argv[1]]
from anyshape.codegen.llvm.worker import main
main()
"""
_PACKAGE_FOLDER = str(Path(__file__).parents[2])


_STARTING = fork_lock()
"""A child that is forked while a process starts has its pipes, and whoever starts it waits for the
end of one of them: so no fork meanwhile."""


def _drive(batch: _Batch, start: int, target: LlvmTarget, tuning: Tuning) -> None:
    """Let a worker of our own work on the batch. Without one, the others do it all."""
    with suppress(OSError), _Worker(target, tuning) as worker:
        batch.work(worker.compile, start)


class _Worker:
    """A worker process, used by one thread."""

    def __init__(self, target: LlvmTarget, tuning: Tuning) -> None:
        self._settings = encode_settings(target, tuning)
        with _STARTING:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [sys.executable, "-c", _BOOTSTRAP, _PACKAGE_FOLDER, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # an interrupt is ours to handle
            )
        assert self._process.stdin
        assert self._process.stdout
        self._requests, self._answers = self._process.stdin, self._process.stdout

    def compile(self, source: Source) -> bytes:
        """Raises the source's `CompileError`, or `_WorkerLostError`."""
        try:
            if self._settings:
                send(self._requests, self._settings)
                self._settings = b""
            send(self._requests, encode_source(source))
            answer = receive(self._answers)
        except (OSError, EOFError):
            raise self._failure(source) from None
        return decode_result(answer)

    def _failure(self, source: Source) -> Exception:
        code = self._process.wait()
        if -code in _CRASHES:
            return CompileError(source_name(source), f"LLVM crashed: {signal.Signals(-code).name}")
        return _WorkerLostError()

    def __enter__(self) -> _Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()  # it has nothing to do, and a child of ours may keep its input open
        with suppress(BrokenPipeError):
            self._requests.close()
        self._answers.close()
        self._process.wait()
