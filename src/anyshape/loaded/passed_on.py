"""What loaded executables and models pass on to the Executable behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyshape.execute import (
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


class PassedOn:
    """Sizes, memory and reports: each as `Executable` has it."""

    def __init__(self, assemble: Callable[[], Executable]) -> None:
        self._assemble = assemble
        self._whole: Executable | None = None

    @property
    def executable(self) -> Executable:
        """The same with all that an Executable can do, put together when it is first asked for."""
        if self._whole is None:
            self._whole = self._assemble()
        return self._whole

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.executable.axes

    def specialize(self, *, memory_limit: int | str | None = None, **axes: int) -> Specialization:
        return self.executable.specialize(memory_limit=memory_limit, **axes)

    def pre_specialize(
        self, bindings: Iterable[Mapping[str, int]], *, background: bool = False
    ) -> Any:
        if background:
            return self.executable.pre_specialize(bindings, background=True)
        return self.executable.pre_specialize(bindings)

    def reserve(self, **axes: int) -> None:
        self.executable.reserve(**axes)

    def largest(self, axis: str, *, memory: int | str, **axes: int) -> int:
        return self.executable.largest(axis, memory=memory, **axes)

    def trim(self) -> None:
        self.executable.trim()

    @property
    def capabilities(self) -> Capabilities:
        return self.executable.capabilities

    @property
    def kernels(self) -> tuple[KernelView, ...]:
        return self.executable.kernels

    def metrics(self) -> Metrics:
        return self.executable.metrics()

    def observed(self) -> ObservedSizes:
        return self.executable.observed()

    def profile_calls(self, *, on: bool = True) -> None:
        self.executable.profile_calls(on=on)

    def profile(self) -> CallProfile:
        return self.executable.profile()

    def estimate(self, **axes: int) -> Estimate:
        return self.executable.estimate(**axes)

    def strategies(self) -> Strategies:
        return self.executable.strategies()

    def memory(self) -> ExecutableMemory:
        return self.executable.memory()

    def trace(self, path: str | PathLike[str], *arrays: Any) -> None:
        self.executable.trace(path, *arrays)

    def as_text(self) -> str:
        return self.executable.as_text()

    def explain_html(
        self,
        path: str | PathLike[str],
        bindings: Iterable[Mapping[str, int]] = (),
        *,
        assembly: bool = True,
    ) -> None:
        self.executable.explain_html(path, bindings, assembly=assembly)

    def explain(self, **axes: int) -> Explanation:
        return self.executable.explain(**axes)
