"""On which CPUs workers run; each scenario in a process of its own, see scenarios.py."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.errors.messages import message_of

import anyshape as ash
from anyshape.base.errors import OptionError
from anyshape.runtime.options import affinity


@ash.jit
def _product(x: ash.f32["m", "k"], y: ash.f32["k", "n"]):
    return x @ y


A = np.ones((600, 600), np.float32)


def _cpus_of_workers() -> list[set[int]]:
    """By the number of the worker; the caller is none."""
    tasks = Path("/proc/self/task").iterdir()
    named = ((task, (task / "comm").read_text().strip()) for task in tasks)
    found = sorted((name, int(task.name)) for task, name in named if name.startswith("anyshape-"))
    return [os.sched_getaffinity(thread) for _, thread in found]


def _called(options: ash.Options) -> None:
    assert ash.compile(_product, options=options)(A, A)[0][0, 0] == A.shape[0]


def _in_child(check: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        check()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def workers_on_chosen_cpus() -> None:
    """Backwards, so that it is no accident; in a child too. The caller stays where it is."""
    allowed = os.sched_getaffinity(0)
    chosen = tuple(sorted(allowed, reverse=True))
    options = ash.Options(cache_dir=None, affinity=list(chosen))
    _called(options)
    wanted = [{cpu} for cpu in chosen[1:]]
    assert _cpus_of_workers() == wanted
    assert os.sched_getaffinity(0) == allowed
    assert affinity() == chosen

    def check() -> None:
        _called(options)
        assert _cpus_of_workers() == wanted

    _in_child(check)


def workers_are_moved_to_chosen_cpus() -> None:
    """Those that are there already; executables without a list go on as they were."""
    plain = ash.Options(cache_dir=None)
    _called(plain)
    allowed = os.sched_getaffinity(0)
    chosen = tuple(sorted(allowed, reverse=True))
    assert _cpus_of_workers() == [allowed for _ in chosen[1:]]
    _called(ash.Options(cache_dir=None, affinity=chosen))
    _called(plain)
    assert _cpus_of_workers() == [{cpu} for cpu in chosen[1:]]


def one_list_of_cpus_for_a_process() -> None:
    """Another one is refused, by what the threads have; so many threads as it has CPUs."""
    first = min(os.sched_getaffinity(0))
    one = ash.Options(cache_dir=None, affinity=(first,))
    executable = ash.compile(_product, options=one)
    assert executable.executor.threads == 1
    others = tuple(sorted(os.sched_getaffinity(0), reverse=True))
    if len(others) > 1:
        two = ash.Options(cache_dir=None, affinity=others)
        message = message_of(OptionError, lambda: ash.compile(_product, options=two))
        assert f"is not what the threads of this process have: {first}" in message


def cpus_of_a_variable() -> None:
    """Compiled and loaded executables alike, and what explains them."""
    chosen = sorted(os.sched_getaffinity(0), reverse=True)
    os.environ["ANYSHAPE_AFFINITY"] = ",".join(map(str, chosen))
    os.environ["ANYSHAPE_CACHE_DIR"] = "off"
    executable = ash.compile(_product)
    if len(chosen) > 1:
        listed = ", ".join(map(str, chosen))
        assert f"{len(chosen)} threads on CPUs {listed}" in str(executable.explain())
    executable(A, A)
    assert _cpus_of_workers() == [{cpu} for cpu in chosen[1:]]


SCENARIOS = (
    cpus_of_a_variable,
    one_list_of_cpus_for_a_process,
    workers_are_moved_to_chosen_cpus,
    workers_on_chosen_cpus,
)
