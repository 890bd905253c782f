"""What may happen to a process that runs a program: each scenario in a process of its own.

    python -m tests.unit.runtime.scenarios <name>

A scenario ends with 0 if all that was computed was right. `test_faults.py` starts them and watches
the time.
"""

import itertools
import os
import random
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.random import Generator, default_rng  # now: a child may find its import half done
from tests.unit.frontend.onnx.models import model, node, value
from tests.unit.runtime import affinity_scenarios
from tests.unit.runtime.disk_scenarios import damaged_entries, full_disk, unreadable_folder
from tests.unit.runtime.duration import seconds_to_test, wait_until_idle
from tests.unit.runtime.fork_scenarios import (
    compile_while_children_live,
    fork_during_compiles,
    fork_during_transforms,
)
from tests.unit.runtime.graphs import chain_program, chain_reference
from tests.unit.runtime.signal_scenarios import (
    calls_in_handlers,
    forks_in_handlers,
    interrupt_of_a_long_call,
)
from tests.watchdog import HANGS_AFTER

import anyshape as ash
from anyshape.base.options import Options
from anyshape.runtime.options import prepare_team
from anyshape.runtime.program import Program

SECONDS = seconds_to_test(short=2, in_ci=10)


def call(program: Program, rng: Generator, most: int = 120) -> None:
    """One call at a random shape, with its result checked."""
    shape = rng.integers(0, most, 2)
    a, b = rng.random(shape, np.float32), rng.random(shape, np.float32)
    assert np.array_equal(program.run([a, b])[0], chain_reference(a, b))


def start_callers(program: Program, count: int = 3) -> threading.Event:
    """Daemon threads that call until the event is set; one that sees a wrong result ends all."""
    over = threading.Event()

    def body(seed: int) -> None:
        rng = default_rng(seed)
        try:
            while not over.is_set():
                call(program, rng)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(3)

    for seed in range(count):
        threading.Thread(target=body, args=(seed,), daemon=True).start()
    return over


def fork_during_runs() -> None:
    """Children use the program of their parent, whose threads were anywhere at that moment."""
    program = chain_program(cache_entries=3)  # so that specializations are made all the time
    over = start_callers(program)
    until = time.monotonic() + SECONDS
    for seed in itertools.count(100):
        child = os.fork()
        if child == 0:
            signal.alarm(HANGS_AFTER)  # a child that hangs is killed, and its parent sees that
            rng = default_rng(seed)
            for _ in range(10):
                call(program, rng)
            hammer_in_child(program)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        call(program, default_rng(seed))
        if time.monotonic() > until:
            break
    over.set()


def hammer_in_child(program: Program) -> None:
    """A child may have threads of its own again."""
    callers = [
        threading.Thread(target=call, args=(program, default_rng(seed))) for seed in range(3)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()


class InterruptedHereError(Exception):
    """What our handler of SIGINT raises."""


def report_unless_interrupted(unraisable: "sys.UnraisableHookArgs") -> None:
    """Python drops what callbacks of weak references raise: that interrupt is lost, not wrong."""
    if not isinstance(unraisable.exc_value, InterruptedHereError):
        sys.__unraisablehook__(unraisable)


def interrupts_at_random_times() -> None:
    """SIGINT while a program is called again and again: each call is right, or interrupted."""
    program = chain_program()
    rng = default_rng(0)
    shape = (700, 900)
    a, b = rng.random(shape, np.float32), rng.random(shape, np.float32)
    expected = chain_reference(a, b)

    def call() -> None:
        assert np.array_equal(program.run([a, b])[0], expected)

    interrupted_again_and_again(call)
    assert program.metrics().idle_contexts == 1  # every context came back


def interrupted_again_and_again(call: Callable[[], None]) -> None:
    """Calls for a while, each of them complete or interrupted, and some of both.

    The time between interrupts follows that of calls, which on a busy machine may be anything.
    """
    moments = random.Random(0)
    armed, interrupted, complete, pause = False, 0, 0, 0.005

    def handler(*_: object) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise InterruptedHereError

    def interrupt(over: threading.Event) -> None:
        while not over.wait(moments.uniform(0, pause)):
            os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, handler)
    sys.unraisablehook = report_unless_interrupted
    over = threading.Event()
    thread = threading.Thread(target=interrupt, args=(over,))
    thread.start()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until or not (interrupted and complete):
        try:
            armed = True
            call()
            armed = False
        except InterruptedHereError:
            interrupted += 1
            pause *= 1.1
        else:
            complete += 1
            pause /= 1.1
    over.set()
    thread.join()


@ash.jit
def divided(x: ash.f32["n"]):
    """A host node between two segments."""
    return ash.exp(x)[ash.nonzero(x > 0)].reshape(-1, 1) * np.ones(8, np.float32)


def interrupts_of_executables() -> None:
    """The same for what is Python's: host nodes, and a cache of results that is always full."""
    cache = ash.ResultCache(100_000)
    executables = [ash.compile(divided), ash.compile(divided, result_cache=cache)]
    inputs = [default_rng(seed).standard_normal(2000).astype(np.float32) for seed in range(5)]
    expected = [executables[0](x)[0] for x in inputs]
    numbers = itertools.count()

    def call() -> None:
        number = next(numbers) % len(inputs)
        for executable in executables:
            assert np.array_equal(executable(inputs[number])[0], expected[number])

    interrupted_again_and_again(call)
    call()
    assert cache.bytes <= cache.max_bytes
    executables[1].trim()
    assert (cache.bytes, len(cache)) == (0, 0)


def exit_with_running_threads() -> None:
    """The interpreter ends while daemon threads are anywhere in their calls."""
    start_callers(chain_program(cache_entries=3), 4)
    time.sleep(random.Random(os.getpid()).uniform(0.05, 0.3))


@ash.jit
def with_calls_of_python(x: ash.f32["n"]):
    for _ in range(12):
        x = x + ash.random.new_key().astype(ash.f32).sum()
    return x


def exit_during_calls_of_python() -> None:
    """The interpreter ends while daemon threads compute host nodes."""
    executable = ash.compile(with_calls_of_python)

    def body() -> None:
        while True:
            executable(np.ones(5, np.float32))

    for _ in range(4):
        threading.Thread(target=body, daemon=True).start()
    time.sleep(random.Random(os.getpid()).uniform(0.05, 0.3))


def no_memory_for_a_worker() -> None:
    """A worker thread that cannot start: the caller does the work alone."""
    program = chain_program()
    a = np.ones((20, 20), np.float32)
    program.specialize([300, 300])
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    stack = resource.getrlimit(resource.RLIMIT_STACK)[0]  # of a new thread, before it needs any
    assert stack > 4 << 20
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (4 << 20), resource.RLIM_INFINITY))
    for size in (300, 20, 300):
        a = np.ones((size, size), np.float32)
        assert (program.run([a, a])[0] == 5).all()
    assert workers() == 0


def workers(expected: int = 0) -> int:
    """Threads of the team in this process, by the name that each gives itself when it starts.

    That may take a while on a busy machine: those that are expected are waited for.
    """
    time.sleep(0.1)
    end = time.monotonic() + HANGS_AFTER
    while (count := _named_workers()) < expected and time.monotonic() < end:
        time.sleep(0.05)
    return count


def _named_workers() -> int:
    names = (task / "comm" for task in Path("/proc/self/task").iterdir())
    return sum(name.read_text().startswith("anyshape-") for name in names)


def workers_start_when_needed() -> None:
    """No thread before a call needs one, never more than CPUs, and no CPU time when idle."""
    cpus = ash.runtime.machine().cpus
    a = np.ones((300, 300), np.float32)
    chain_program(threads=1).run([a, a])
    assert workers() == 0
    chain_program(threads=2).run([a, a])
    assert workers(min(2, cpus) - 1) == min(2, cpus) - 1
    for threads in (0, 1000):
        chain_program(threads=threads).run([a, a])
    assert workers(cpus - 1) == cpus - 1
    wait_until_idle()


def a_team_is_prepared_within_limits() -> None:
    """Before a run, on request: as many as the run and the process may have."""
    cpus = ash.runtime.machine().cpus
    for options, wanted in ((Options(threads=1), 0), (Options(), 1)):
        prepare_team(options, wanted)
        assert workers() == 0
    prepare_team(Options(), 0)
    assert workers(cpus - 1) == cpus - 1


def sessions_start_their_threads() -> None:
    """When they are made, unless the process or their executor has none."""
    nodes, cpus = [node("Relu", "x", "y")], ash.runtime.machine().cpus
    content = model(nodes, [value("x", ["n"])], [value("y", ["n"])]).SerializeToString()
    os.environ["ANYSHAPE_THREADS"] = "1"
    ash.InferenceSession(content)
    assert workers() == 0
    del os.environ["ANYSHAPE_THREADS"]
    interpreted = ash.SessionOptions()
    interpreted.add_session_config_entry("anyshape.executor", "reference")
    ash.InferenceSession(content, interpreted)
    assert workers() == 0
    ash.InferenceSession(content)
    assert workers(cpus - 1) == cpus - 1


def only_the_cpus_that_are_allowed() -> None:
    """With one CPU in the affinity mask there is no team."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    program = chain_program()
    a = np.ones((300, 300), np.float32)
    program.run([a, a])
    assert program.threads == 1
    assert workers() == 0


SCENARIOS: dict[str, Callable[[], None]] = {
    scenario.__name__: scenario
    for scenario in (
        a_team_is_prepared_within_limits,
        calls_in_handlers,
        compile_while_children_live,
        damaged_entries,
        exit_during_calls_of_python,
        exit_with_running_threads,
        fork_during_compiles,
        fork_during_runs,
        fork_during_transforms,
        forks_in_handlers,
        full_disk,
        interrupt_of_a_long_call,
        interrupts_at_random_times,
        interrupts_of_executables,
        no_memory_for_a_worker,
        only_the_cpus_that_are_allowed,
        sessions_start_their_threads,
        unreadable_folder,
        workers_start_when_needed,
        *affinity_scenarios.SCENARIOS,
    )
}

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in the background
    SCENARIOS[sys.argv[1]]()
