"""How an imported model is called: its parameters, and the containers around its tensors.

A call gives each parameter an argument, which may be a container of tensors and of constants. The
containers and the constants are part of the program: a later call must have the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anyshape.base.errors import InputError
from anyshape.frontend.builder.arrays import is_array
from anyshape.frontend.builder.pytree import StructureMismatchError, leaves_along
from anyshape.frontend.imported.example import Example, path_text


@dataclass(frozen=True)
class Parameters:
    """The names that arguments may be given under."""

    positional: tuple[str, ...]  # in order
    rest: str | None = None  # collects further positional arguments
    positional_only: frozenset[str] = frozenset()
    required: tuple[str, ...] = ()  # those without a default

    @staticmethod
    def of(function: Any) -> Parameters:
        kinds = inspect.signature(function).parameters.values()
        positional = [p for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        rest = next((p.name for p in kinds if p.kind is p.VAR_POSITIONAL), None)
        only = frozenset(p.name for p in positional if p.kind is p.POSITIONAL_ONLY)
        collects = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        plain = (p for p in kinds if p.kind not in collects)
        required = tuple(p.name for p in plain if p.default is p.empty)
        return Parameters(tuple(p.name for p in positional), rest, only, required)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name; those that fit no parameter are refused."""
        bound = dict(zip(self.positional, args, strict=False))
        further = tuple(args[len(self.positional) :])
        if further and self.rest is None:
            name = f"number {len(self.positional) + 1}"
            names = ", ".join(self.positional)
            raise InputError(name, "is one too many", f"the model takes {names}")
        for name in bound.keys() & kwargs.keys():
            raise InputError(name, "is given twice", f"pass {name} once")
        return {**bound, **({self.rest: further} if self.rest and further else {}), **kwargs}

    def check_example(self, inputs: Mapping[str, Any]) -> None:
        """Refuses an example call that leaves out what the model cannot do without."""
        for name in self.required:
            if name not in inputs:
                problem = "is missing in the example call"
                raise InputError(name, problem, f"compile(model, kwargs={{..., '{name}': ...}})")

    def split(self, inputs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The reverse of `bind`: positional arguments only where they must be."""
        if self.rest is not None and self.rest in inputs:
            taken = [name for name in self.positional if name in inputs]
            args = (*(inputs[name] for name in taken), *inputs[self.rest])
            left = inputs.keys() - {*taken, self.rest}
        else:
            args = tuple(inputs[name] for name in self.positional if name in self.positional_only)
            left = inputs.keys() - self.positional_only
        return args, {name: value for name, value in inputs.items() if name in left}


class CallSignature:
    """The arguments that a model is called with: those of the example, without its tensors."""

    def __init__(self, parameters: Parameters, example: Example) -> None:
        self.parameters = parameters
        self.names = example.names
        self.paths = tuple(map(path_text, example.paths))
        self.is_tensor = tuple(map(is_array, example.leaves))
        self.constants = tuple(None if is_array(leaf) else leaf for leaf in example.leaves)
        self.structure = example.structure
        self.containers = dict(zip(self.names, example.structure.children, strict=True))
        self._plain = all(self.is_tensor) and self.paths == self.names

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The leaves of a call, in the order of the example's; what differs is refused."""
        given = self.parameters.bind(args, kwargs)
        if given.keys() != set(self.names):
            given = self._same_names(given)
        if self._plain:
            return [given[name] for name in self.names]
        try:
            leaves = leaves_along(self.structure, given)
        except StructureMismatchError as error:
            problem = f"has {error.found}, the model was compiled with {error.expected}"
            fix = f"pass '{error.path}' in the same containers"
            raise InputError(error.path, problem, fix) from None
        self._check_constants(leaves)
        return leaves

    def _same_names(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """None for a parameter that the example leaves out says nothing."""
        said = {n: value for n, value in given.items() if value is not None or n in self.names}
        for name in (name for name in self.names if name not in said):
            if self._constant(name) is None:
                said[name] = None
                continue
            raise InputError(name, "is missing; the model was compiled with it", f"pass {name}=...")
        for name in said.keys() - set(self.names):
            problem = "was not given when the model was compiled"
            raise InputError(name, problem, f"compile(model, kwargs={{..., '{name}': ...}})")
        return said

    def _constant(self, name: str) -> object:
        """The constant that a parameter has in the example; a tensor or a container is not None."""
        if name not in self.paths:
            return ...
        number = self.paths.index(name)
        return ... if self.is_tensor[number] else self.constants[number]

    def _check_constants(self, leaves: Sequence[Any]) -> None:
        for leaf, known, tensor, path in zip(
            leaves, self.constants, self.is_tensor, self.paths, strict=True
        ):
            if tensor or leaf is known:
                continue
            if type(leaf) is not type(known) or leaf != known:
                problem = f"is {leaf!r}, the model was compiled with {known!r}"
                raise InputError(path, problem, f"pass {known!r}, or compile again for {leaf!r}")
