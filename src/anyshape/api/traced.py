"""One trace of a jitted function, and the Executable made of it at the first need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, NoReturn

from anyshape.base.options import Options
from anyshape.execute import Executable, ExecutorName, Run, compile_graph
from anyshape.frontend.builder.function import TracedFunction
from anyshape.frontend.builder.pytree import LEAF, Branch, Structure, unflatten


@dataclass(frozen=True, slots=True)
class CompileChoices:
    """How a jitted function is compiled; see `compile`."""

    executor: ExecutorName = "native"
    threads: int = 0
    strict: bool = False
    options: Options | None = None


class TracedProgram:
    """A traced function that is compiled once, by whichever thread comes first."""

    def __init__(self, traced: TracedFunction, choices: CompileChoices) -> None:
        self.traced = traced
        self.arity = len(traced.graph.inputs)
        self._choices = choices
        self._lock = Lock()
        self._executable: Executable | None = None
        self._run: Run = _not_compiled
        self._is_bare = traced.result == LEAF
        self._is_tuple = _is_tuple_of_leaves(traced.result)

    @property
    def executable(self) -> Executable:
        if self._executable is None:
            with self._lock:
                if self._executable is None:
                    made = self._compiled()
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

    def _compiled(self) -> Executable:
        chosen = self._choices
        return compile_graph(
            self.traced.graph,
            chosen.options,
            executor=chosen.executor,
            threads=chosen.threads,
            strict=chosen.strict,
        )


def _is_tuple_of_leaves(result: Structure) -> bool:
    if not isinstance(result, Branch) or result.kind is not tuple:
        return False
    return all(child == LEAF for child in result.children)


def _not_compiled(arrays: Sequence[Any]) -> NoReturn:
    raise AssertionError("a program runs after it has been compiled")
