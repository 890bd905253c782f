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
