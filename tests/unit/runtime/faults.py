"""Runs with every allocation failing in turn; a process of its own: see test_memory_faults.py.

    LD_PRELOAD=failing_memory.so python -m tests.unit.runtime.faults calls

Prints how many failures there were, and how they ended.
"""

import ctypes
import faulthandler
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tests.unit.runtime.graphs import chain_program

import anyshape as ash
from anyshape.base.errors import OutOfMemoryError
from anyshape.runtime.program import Program, output_pool, trim_process

FAULTS = ctypes.PyDLL(None)  # keeps the GIL, so that nothing else happens in between
MOST = 2000
"""More allocations than any scenario has."""

RNG = np.random.default_rng(3)
WEIGHT = RNG.standard_normal((64, 96)).astype(np.float32)

Results = Sequence[Any]


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def with_every_failure(
    begin: Callable[[], object], scenario: Callable[[], Results], expected: Results
) -> Counter[str]:
    """Lets each allocation of `scenario` fail, until it has none that has not failed.

    It must end in a typed error or in the expected results; and afterwards all must be well.
    """
    ends: Counter[str] = Counter()
    for number in range(MOST):
        begin()
        FAULTS.fail_at(number)
        try:
            results = scenario()
            end = "right"
        except OutOfMemoryError:
            results = None
            end = "refused"
        finally:
            seen = FAULTS.stop_failing()
        check(expected if results is None else results, expected)
        if seen <= number:
            return ends
        ends[end] += 1
        check(scenario(), expected)
    raise AssertionError("a scenario without an end")


def check(results: Results, expected: Results) -> None:
    for result, right in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, right)


# --- scenarios ------------------------------------------------------------------------------------


@ash.jit
def model(x: ash.f32["batch", "seq", 64]):
    hidden = ash.tanh(x @ WEIGHT)
    return ash.softmax(hidden, axis=-1), hidden.sum(axis=1)


def calls() -> Counter[str]:
    """New and known bindings, small and large, inputs that are copied, arenas that move."""
    executable = ash.compile(model)
    x = random(60, 200, 64)
    inputs = [x[:1, :3], x[:1, :3], x[:7, ::-2], x, x[:2]]

    def scenario() -> Results:
        return [result for given in inputs for result in executable.run((given,))]

    expected = scenario()
    return with_every_failure(executable.trim, scenario, expected)


def reserve() -> Counter[str]:
    executable = ash.compile(model)
    x = random(40, 100, 64)

    def scenario() -> Results:
        executable.reserve(batch=40, seq=100)
        executable.specialize(batch=3, seq=3)
        return executable.run((x,))

    return with_every_failure(executable.trim, scenario, scenario())


def making() -> Counter[str]:
    """A program's own tables, and its first run."""
    description = chain_program().description
    x = random(30, 50)

    def scenario() -> Results:
        return Program(description).run([x, x])

    return with_every_failure(trim_process, scenario, scenario())


@ash.jit
def grow(past: ash.f32["p", 64], state: ash.f32["s", 64], x: ash.f32["s", 64]):
    return ash.concat([past, x * 2]), state + x


def donated() -> Counter[str]:
    """Results behind and over inputs, in given arrays, and elsewhere."""
    executable = ash.compile(grow, donate=("past", "state"))
    x = random(40, 64)

    def scenario() -> Results:
        past, state = x[:0], x.copy()
        for _ in range(4):
            past, state = executable.run((past, state, x))
        fixed = state.T.copy().T
        out = np.empty_like(state), None
        return [*executable.run((past, fixed, x)), *executable.run((x[:0], state, x), out=out)]

    return with_every_failure(executable.trim, scenario, scenario())


def threads() -> Counter[str]:
    """The team's threads cannot start: its caller does the work."""
    FAULTS.fail_threads(1)
    executable = ash.compile(model)
    x = random(64, 100, 64)
    alone = executable.run((x,))
    FAULTS.fail_threads(0)
    check(ash.compile(model, executor="stepwise").run((x,)), alone)
    assert executable.specialize(batch=64, seq=100).uses_team
    return Counter(right=1)


def team() -> Counter[str]:
    """The first run that starts the team, in a child of its own for each failure."""
    executable = ash.compile(model)
    x = random(64, 100, 64)
    right = ash.compile(model, executor="stepwise").run((x,))
    ends: Counter[str] = Counter()
    while (end := in_child(lambda: first_run(executable, x, right, ends.total()))) != "over":
        ends[end] += 1
    return ends


def first_run(executable: ash.Executable, x: np.ndarray, right: Results, number: int) -> str:
    FAULTS.fail_at(number)
    try:
        results = executable.run((x,))
        end = "right"
    except OutOfMemoryError:
        results = right
        end = "refused"
    seen = FAULTS.stop_failing()
    check(results, right)
    check(executable.run((x,)), right)
    return "over" if seen <= number else end


def in_child(answer: Callable[[], str]) -> str:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, answer().encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answered = pipe.read()
    os.waitpid(child, 0)
    assert answered, "the child failed"
    return answered


SCENARIOS = {
    function.__name__: function for function in (calls, reserve, making, donated, team, threads)
}


def main() -> None:
    faulthandler.enable()
    used = output_pool().used
    ends = SCENARIOS[sys.argv[1]]()
    assert output_pool().used == used, "blocks of the pool are lost"
    print(*(f"{count} {end}" for end, count in sorted(ends.items())), sep=", ")


if __name__ == "__main__":
    main()
