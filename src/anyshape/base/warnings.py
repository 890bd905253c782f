"""What users are warned of: nothing is wrong, but they may want to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyshape.base.errors.models import counted


class HostOpsWarning(UserWarning):
    """Ops of a model that anyshape has no form of, and that torch's own kernels compute."""

    def __init__(self, ops: Mapping[str, Sequence[str]]) -> None:
        super().__init__(tuple((op, tuple(places)) for op, places in ops.items()))
        self.ops = {op: len(places) for op, places in ops.items()}
        self.places = {op: tuple(filter(None, places)) for op, places in ops.items()}

    def __str__(self) -> str:
        lines = (counted(op, places) for op, places in sorted(self.args[0]))
        head = "torch's own kernels compute what anyshape has no form of (strict=True refuses it):"
        return "\n".join((head, *lines))


class GradientsWarning(UserWarning):
    """A graph of torch.compile that needs gradients is run by torch."""


class SessionOptionsWarning(UserWarning):
    """Options of a session that change nothing here."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(tuple(names))
        self.names = tuple(names)

    def __str__(self) -> str:
        return f"these options of a session change nothing in anyshape: {', '.join(self.names)}"


class SplitAxesWarning(UserWarning):
    """A model that gives one name to several sizes, or several names to one."""

    def __init__(self, model: str, names: Sequence[str], contradiction: str) -> None:
        super().__init__(model, tuple(names), contradiction)
        self.model = model
        self.names = tuple(names)
        self.contradiction = contradiction

    def __str__(self) -> str:
        names = ", ".join(self.names)
        head = f"{self.model} contradicts the names of its sizes; each use of {names} is by itself"
        return f"{head}. With one size for each name:\n{self.contradiction}"
