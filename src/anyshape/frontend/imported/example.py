"""An example call of a model, taken apart: its leaves, where each stands, and what is around them.

A leaf is a tensor or a constant. Its path is what Python would write to get it from the arguments:
`past_key_values[0][1]`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from anyshape.frontend.builder.pytree import Branch, unflatten


@dataclass(frozen=True, slots=True)
class PathStep:
    """From a container to one of its children: a key, an index or the name of an attribute."""

    key: Hashable
    text: str  # `['a']`, `[0]`, `.name`


Path = tuple[PathStep, ...]
"""The first step is the name of an argument."""


def path_text(path: Path) -> str:
    """`past_key_values[0][1]`."""
    return f"{path[0].key}{''.join(step.text for step in path[1:])}"


@dataclass(frozen=True, slots=True)
class Example:
    """The arguments of an example call; `structure` is a dict of all of them by name."""

    leaves: tuple[Any, ...]
    paths: tuple[Path, ...]
    structure: Branch

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in self.structure.keys)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments by name, in their containers."""
        return cast(dict[str, Any], unflatten(self.structure, self.leaves))

    def with_leaves(self, leaves: Sequence[Any]) -> Example:
        """The same containers around other leaves."""
        return replace(self, leaves=tuple(leaves))
