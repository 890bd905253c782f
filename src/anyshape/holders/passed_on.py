"""What models, compiled or loaded, and loaded executables pass on to the Executable behind them.

Loading a file imports nothing that compiles, so Executables are known here by their types alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    from anyshape.execute import (
        BackgroundSpecialization,
        CallProfile,
        Capabilities,
        Executable,
        ExecutableMemory,
        KernelView,
        ObservedSizes,
        Specialization,
    )
    from anyshape.observe.explain import Explanation
    from anyshape.observe.strategies import Strategies
    from anyshape.runtime.metrics import Metrics
    from anyshape.runtime.program import Estimate
    from anyshape.sym import Axis


class PassedOn(ABC):
    """Sizes, memory and reports: each as `Executable` has it."""

    @property
    @abstractmethod
    def executable(self) -> Executable:
        """What runs the graph."""

    # --- sizes --------------------------------------------------------------------------------

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes whose sizes a call may choose."""
        return self.executable.axes

    def specialize(self, *, memory_limit: int | str | None = None, **axes: int) -> Specialization:
        """Level 2 for a binding, made now if it is new. See `Executable.specialize`."""
        return self.executable.specialize(memory_limit=memory_limit, **axes)

    @overload
    def pre_specialize(
        self, bindings: Iterable[Mapping[str, int]], *, background: Literal[False] = False
    ) -> tuple[Specialization, ...]: ...

    @overload
    def pre_specialize(
        self, bindings: Iterable[Mapping[str, int]], *, background: Literal[True]
    ) -> BackgroundSpecialization: ...

    def pre_specialize(
        self, bindings: Iterable[Mapping[str, int]], *, background: bool = False
    ) -> tuple[Specialization, ...] | BackgroundSpecialization:
        """The bindings that calls will have, ahead of time. See `Executable.pre_specialize`."""
        if background:
            return self.executable.pre_specialize(bindings, background=True)
        return self.executable.pre_specialize(bindings)

    def largest(self, axis: str, *, memory: int | str, **axes: int) -> int:
        """The largest size of an axis that fits into so much memory. See `Executable.largest`."""
        return self.executable.largest(axis, memory=memory, **axes)

    def observed(self) -> ObservedSizes:
        """The sizes that calls have had. See `Executable.observed`."""
        return self.executable.observed()

    # --- memory -------------------------------------------------------------------------------

    def reserve(self, **axes: int) -> None:
        """Takes the memory that a call at this binding needs. See `Executable.reserve`."""
        self.executable.reserve(**axes)

    def trim(self) -> None:
        """Gives back what is idle. See `Executable.trim`."""
        self.executable.trim()

    def memory(self) -> ExecutableMemory:
        """What is held between calls."""
        return self.executable.memory()

    # --- reports ------------------------------------------------------------------------------

    @property
    def capabilities(self) -> Capabilities:
        """What its executor is able to do."""
        return self.executable.capabilities

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        """Every kernel, to look at. See `Executable.kernels`."""
        return self.executable.kernels

    def metrics(self) -> Metrics:
        """Counters of calls and of the cache of specializations."""
        return self.executable.metrics()

    def profile_calls(self, *, on: bool = True) -> None:
        """Calls are counted and timed by their sizes. See `Executable.profile_calls`."""
        self.executable.profile_calls(on=on)

    def profile(self) -> CallProfile:
        """What they were. See `Executable.profile`."""
        return self.executable.profile()

    def estimate(self, **axes: int) -> Estimate:
        """What a call at a binding is expected to take. See `Executable.estimate`."""
        return self.executable.estimate(**axes)

    def strategies(self) -> Strategies:
        """How each axis varies, and what else could be done. See `anyshape.strategies`."""
        return self.executable.strategies()

    def as_text(self) -> str:
        """The graph as it is run: every `kernel` is one step."""
        return self.executable.as_text()

    def explain(self, **axes: int) -> Explanation:
        """What was done and refused, and why; at a binding, also its steps and its memory plan."""
        return self.executable.explain(**axes)

    def explain_html(
        self,
        path: str | PathLike[str],
        bindings: Iterable[Mapping[str, int]] = (),
        *,
        assembly: bool = True,
    ) -> None:
        """The same as a page for a browser. See `Executable.explain_html`."""
        self.executable.explain_html(path, bindings, assembly=assembly)
