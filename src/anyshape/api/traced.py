"""One trace of a jitted function, and the Executable made of it at the first need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from anyshape.base.fork_lock import WorkLock
from anyshape.execute import Executable, Run
from anyshape.frontend.builder.function import TracedFunction
from anyshape.frontend.builder.pytree import LEAF, Branch, Structure, unflatten
from anyshape.ir.graph import Graph


class TracedProgram:
    """A traced function that is compiled once, by whichever thread comes first."""

    def __init__(self, traced: TracedFunction, make: Callable[[Graph], Executable]) -> None:
        self.traced = traced
        self.arity = len(traced.graph.inputs)
        self._make = make
        self._lock = WorkLock()
        self._executable: Executable | None = None
        self._run: Run = _not_compiled
        self._is_bare = traced.result == LEAF
        self._is_tuple = _is_tuple_of_leaves(traced.result)

    @property
    def executable(self) -> Executable:
        if self._executable is None:
            with self._lock:
                if self._executable is None:
                    made = self._make(self.traced.graph)
                    self._run = made.executor.run  # first: others look for the Executable
                    self._executable = made
        return self._executable

    def run(self, arrays: tuple[Any, ...]) -> Any:
        """A call with NumPy arrays, once there is an Executable: failures are the executor's."""
        results = self._run(arrays)
        return results[0] if self._is_bare else self._in_containers(results)

    def call(self, arrays: tuple[Any, ...]) -> Any:
        """A call with arrays of any library."""
        results = self.executable(*arrays)
        return results[0] if self._is_bare else self._in_containers(results)

    def _in_containers(self, results: tuple[Any, ...]) -> Any:
        return results if self._is_tuple else unflatten(self.traced.result, results)


def _is_tuple_of_leaves(result: Structure) -> bool:
    if not isinstance(result, Branch) or result.kind is not tuple:
        return False
    return all(child == LEAF for child in result.children)


def _not_compiled(arrays: Sequence[Any]) -> NoReturn:
    raise AssertionError("a program runs after it has been compiled")
