"""What comes of an architecture: compiled once and compared with eager at several sizes, or refused
by an error of ours. Anything else is raised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from tests.e2e.architectures.entry import Architecture, Inputs
from torch.utils import _pytree as pytree

import anyshape as ash
from anyshape.base.errors import AnyshapeError

CLOSE = 1e-4
"""How far results may be from eager's, as a part of the largest one."""


@dataclass(frozen=True)
class Outcome:
    """What a compiled model consists of, or the error in its place."""

    kernels: int = 0
    host: tuple[str, ...] = ()
    programs: int = 0
    refused: str = ""

    def row(self, of: Architecture) -> str:
        """As `docs/models.md` shows it."""
        begin = f"| `{of.name}` | {of.kind.title} | {of.special} |"
        if self.refused:
            return f"{begin} refused: {of.why} | | | |"
        host = ", ".join(f"`{name}`" for name in self.host)
        return f"{begin} runs | {self.kernels} | {host} | {self.programs} |"


HEADER = (
    "| architecture | kind | special | | kernels | computed by torch | programs |\n"
    "|---|---|---|---|---|---|---|"
)


def outcome_of(architecture: Architecture) -> Outcome:
    """Compiles a model and runs it at all its sizes."""
    torch.manual_seed(0)
    model = architecture.build()
    example = architecture.inputs(*architecture.all_sizes[0])
    try:
        fast = ash.compile(model, kwargs=example, axes=architecture.axes)
    except AnyshapeError as error:
        return Outcome(refused=str(error))
    for sizes in architecture.all_sizes:
        compare(model, fast, architecture.inputs(*sizes), sizes)
    host = tuple(sorted(op for op, _ in fast.explain().host_ops))
    lines = fast.as_text().splitlines()
    programs = sum(line.startswith("graph ") for line in lines)
    return Outcome(len(fast.kernels), host, programs)


def compare(model: Any, fast: Any, inputs: Inputs, sizes: tuple[int, ...]) -> None:
    """All tensors that a call returns are those of eager mode."""
    with torch.no_grad():
        wanted = model(**inputs)
    found = fast(**inputs)
    assert type(found) is type(wanted)
    pairs = zip(pytree.tree_leaves(found), pytree.tree_leaves(wanted), strict=True)
    for one, other in ((one, other) for one, other in pairs if isinstance(other, torch.Tensor)):
        assert one.shape == other.shape, sizes
        if other.numel():
            difference = (one.double() - other.double()).abs().max().item()
            assert difference <= CLOSE * other.double().abs().max().item() + 1e-6, sizes
