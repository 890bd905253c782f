"""An engine in a process of its own, stopped whenever it is not its turn.

Stopped means SIGSTOP: the worker threads of some engines go on spinning after a call, and would
take the CPU from whoever is measured next. A process sees as many CPUs as it may use threads. It
dies with its parent, stopped or not.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from benchmarks.harness.engines import Call, Engine, EngineName, build
from benchmarks.harness.model import Array, Binding, Model
from benchmarks.harness.waiting import (
    IDLE_SECONDS,
    LIMIT_SECONDS,
    HangsError,
    stop,
    wait_for_answer,
)

WARM_UP = 0.25  # of a slice, before its calls count
FEWEST_CALLS = 1
SECONDS_TO_END = 5.0
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
KEPT = 4 << 30  # bytes
ALLOCATOR = {
    "GLIBC_TUNABLES": f"glibc.malloc.mmap_threshold={KEPT}:glibc.malloc.trim_threshold={KEPT}"
}
"""Large results stay with the process: otherwise torch pays for fresh pages in every call."""


@dataclass(frozen=True)
class Outputs:
    """What a model gives at a binding."""

    model: Model
    binding: Binding


@dataclass(frozen=True)
class Slice:
    """Calls for about this long."""

    model: Model
    binding: Binding
    seconds: float


@dataclass(frozen=True)
class Timing:
    """Seconds of single calls within a slice."""

    best: float
    median: float
    calls: int


Request: TypeAlias = Outputs | Slice


class EngineError(Exception):
    """An engine could not do what it was asked."""


# --- the engine's side ----------------------------------------------------------------------------


def time_calls(call: Call, seconds: float) -> Timing:
    """Calls one by one, after some that do not count; of no time at all, one call that does."""
    clock = time.perf_counter
    end = clock() + WARM_UP * seconds
    while clock() < end:
        call()
    times: list[float] = []
    end = clock() + seconds
    while clock() < end or len(times) < FEWEST_CALLS:
        start = clock()
        call()
        times.append(clock() - start)
    return Timing(min(times), statistics.median(times), len(times))


def _serve(connection: Connection, name: EngineName, threads: int) -> None:
    _die_with_parent()
    gc.disable()
    built: dict[Model, Engine] = {}
    while (request := _received(connection)) is not None:
        try:
            connection.send(_answer(request, name, threads, built))
        except Exception as error:  # whatever a peer raises belongs in the report
            connection.send(EngineError(f"{type(error).__name__}: {error}"))


def _received(connection: Connection) -> Request | None:
    try:
        return connection.recv()
    except EOFError:  # the other end was closed
        return None


def _answer(
    request: Request, name: EngineName, threads: int, built: dict[Model, Engine]
) -> Timing | tuple[Array, ...]:
    if request.model not in built:
        built[request.model] = build(name, request.model, threads)
    engine = built[request.model]
    call = engine.call(request.model.inputs(request.binding))
    match request:
        case Outputs():
            return engine.arrays(call())
        case Slice():
            return time_calls(call, request.seconds)


def _die_with_parent() -> None:
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


# --- the parent's side ----------------------------------------------------------------------------


class EngineProcess:
    """Ask it; it runs only while it answers."""

    def __init__(
        self,
        name: EngineName,
        threads: int,
        python: str = "",
        limit: float = LIMIT_SECONDS,
        idle_limit: float = IDLE_SECONDS,
    ) -> None:
        """After `limit` seconds without an answer, or `idle_limit` in which it uses no CPU either,
        the process is ended."""
        self._limits = limit, idle_limit
        context = multiprocessing.get_context("spawn")
        context.set_executable(python or sys.executable)
        self._connection, theirs = context.Pipe()
        arguments = (theirs, name, threads)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        with _limited_to(threads, ALLOCATOR):
            self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """Of the engine."""
        assert self._process.pid is not None, "started by the constructor"
        return self._process.pid

    def outputs(self, model: Model, binding: Binding) -> tuple[Array, ...]:
        return self._ask(Outputs(model, binding))

    def time(self, model: Model, binding: Binding, seconds: float) -> Timing:
        return self._ask(Slice(model, binding, seconds))

    def close(self) -> None:
        """Peers that made files or semaphores get some time to remove them."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)
        self._connection.close()
        self._process.join(SECONDS_TO_END)
        self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.join(SECONDS_TO_END)

    def _ask(self, request: Request) -> Any:
        try:
            os.kill(self.pid, signal.SIGCONT)
            self._connection.send(request)
            wait_for_answer(self._connection, self.pid, *self._limits)
            answer = self._connection.recv()
            stop(self.pid)
        except HangsError as error:
            self._end()
            raise EngineError(f"{error}, ended") from None
        except (EOFError, OSError):
            raise EngineError(f"the process ended{self._how()}") from None
        if isinstance(answer, EngineError):
            raise answer
        return answer

    def _how(self) -> str:
        """By which signal, if it was one."""
        self._process.join(SECONDS_TO_END)
        code = self._process.exitcode
        return f" by {signal.Signals(-code).name}" if code is not None and code < 0 else ""


@contextmanager
def _limited_to(threads: int, more: Mapping[str, str] | None = None) -> Generator[None]:
    """What is started meanwhile inherits the last CPUs of ours, and an environment to match."""
    cpus = os.sched_getaffinity(0)
    environment = dict.fromkeys(THREAD_VARIABLES, str(threads)) | dict(more or {})
    before = {name: os.environ.get(name) for name in environment}
    os.sched_setaffinity(0, sorted(cpus)[-threads:])
    os.environ.update(environment)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cpus)
        for name, value in before.items():
            _restore(name, value)


def _restore(name: str, value: str | None) -> None:
    if value is None:
        del os.environ[name]
    else:
        os.environ[name] = value


def in_fresh_process(
    function: Callable[..., Any],
    *arguments: Any,
    threads: int = 2,
    limit: float = LIMIT_SECONDS,
    idle_limit: float = IDLE_SECONDS,
    python: str = "",
) -> Any:
    """The result of a function of a module, called where nothing has been warmed up.

    The C library is as users have it, because some of these functions look at its memory. After
    `limit` seconds, or `idle_limit` without any CPU, the process is ended, and TimeoutError raised;
    a process that dies is an EngineError. `python` is the interpreter of another environment, if
    not of ours.
    """
    context = multiprocessing.get_context("spawn")
    context.set_executable(python or sys.executable)
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(theirs, function, arguments), daemon=True)
    with _limited_to(threads):
        process.start()
    theirs.close()
    try:
        assert process.pid is not None, "started above"
        wait_for_answer(ours, process.pid, limit, idle_limit)
        answer, raised = ours.recv()
    except HangsError as error:
        raise TimeoutError(str(error)) from None
    except EOFError:
        process.join(SECONDS_TO_END)
        raise EngineError(f"the process ended with {process.exitcode}") from None
    finally:
        process.kill()
        process.join(SECONDS_TO_END)
    if raised is not None:
        raise raised
    return answer


def _call(connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    _die_with_parent()
    try:
        connection.send((function(*arguments), None))
    except Exception as error:
        connection.send((None, EngineError(f"{type(error).__name__}: {error}")))
