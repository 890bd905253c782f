"""A random module as data: inputs with axes, layers, statements, results; and its source text.

A statement is text that reads and defines local names of `forward`. An exit (`if n > 4: return v2`)
ends it where its condition holds. What is captured is the text of a whole file, as a user would
write it.
"""

from __future__ import annotations

import linecache
import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

HEADER = """\
import math
import operator

import numpy as np
import torch
import torch.nn.functional as F
"""

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Input:
    """An argument of `forward`. A dim is the name of an axis or a number."""

    name: str
    dims: tuple[str, ...]
    dtype: str = "float32"
    keyword: bool = False

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(sizes[dim] if dim in sizes else int(dim) for dim in self.dims)

    @property
    def axes(self) -> tuple[str | None, ...]:
        return tuple(None if dim.isdigit() else dim for dim in self.dims)


@dataclass(frozen=True)
class Statement:
    """Lines of `forward`. With a condition, they are its last ones where that holds."""

    text: str
    condition: str | None = None
    move: str = ""

    @property
    def source(self) -> str:
        if self.condition is None:
            return self.text
        return f"if {self.condition}:\n{textwrap.indent(self.text, '    ')}"

    def uses(self, name: str) -> bool:
        return re.search(rf"\b{name}\b", self.source) is not None

    def renamed(self, old: str, new: str) -> Statement:
        def change(text: str) -> str:
            return re.sub(rf"\b{old}\b", new, text)

        condition = None if self.condition is None else change(self.condition)
        return replace(self, text=change(self.text), condition=condition)


@dataclass(frozen=True)
class Program:
    """A module, the sizes at which it is captured, and those at which it is called."""

    seed: int
    inputs: tuple[Input, ...]
    layers: tuple[tuple[str, str], ...]  # attribute, constructor
    statements: tuple[Statement, ...]
    result: str
    example: Sizes
    others: tuple[Sizes, ...]
    executor: str = "reference"
    in_file: bool = True  # or in a string
    whole: bool = True  # its result has all tensors: none is computed for nothing

    def source(self) -> str:
        """The file."""
        layers = [f"self.{name} = {made}" for name, made in self.layers if self._uses(name)]
        setup = ["super().__init__()", *(["torch.manual_seed(0)"] if layers else []), *layers]
        body = [statement.source for statement in self.statements]
        given = [each.name for each in self.inputs if not each.keyword]
        keywords = [each.name for each in self.inputs if each.keyword]
        signature = ", ".join(["self", *given, *(["*", *keywords] if keywords else [])])
        return (
            f"{HEADER}\n\nclass Model(torch.nn.Module):\n"
            + _function("__init__", "self", setup)
            + "\n"
            + _function("forward", signature, [*body, f"return {self.result}"])
        )

    def _uses(self, layer: str) -> bool:
        return any(statement.uses(f"self.{layer}") for statement in self.statements)

    def used_inputs(self) -> tuple[Input, ...]:
        """Those that anything reads, or the first."""
        texts = [statement.source for statement in self.statements]
        read = " ".join([*texts, self.result])
        used = tuple(each for each in self.inputs if re.search(rf"\b{each.name}\b", read))
        return used or self.inputs[:1]

    def module(self, folder: str | None = None) -> Any:
        """A new instance of the class; of one in a file where there is a folder for it."""
        text, file = self.source(), "<string>"
        if folder is not None:
            file = f"{folder}/module_{self.seed}.py"
            Path(file).write_text(text)
            linecache.checkcache(file)
        names: dict[str, Any] = {"__name__": f"module_{self.seed}"}
        exec(compile(text, file, "exec"), names)
        return names["Model"]()

    def call(self, sizes: Sizes, number: int = 0) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments of these sizes."""
        random = torch.Generator().manual_seed(self.seed * 31 + number)
        values = {each.name: _value(each, sizes, random) for each in self.inputs}
        keywords = {each.name for each in self.inputs if each.keyword}
        args = tuple(value for name, value in values.items() if name not in keywords)
        return args, {name: values[name] for name in values if name in keywords}

    def axes(self) -> dict[str, tuple[str | None, ...]]:
        return {each.name: each.axes for each in self.inputs}


def _function(name: str, signature: str, lines: list[str]) -> str:
    body = "\n".join(textwrap.indent(line, "        ") for line in lines)
    return f"    def {name}({signature}):\n{body}\n"


def _value(given: Input, sizes: Sizes, random: torch.Generator) -> torch.Tensor:
    shape = given.shape(sizes)
    dtype = getattr(torch, given.dtype)
    if given.dtype == "bool":
        return torch.randint(0, 2, shape, generator=random).bool()
    if not dtype.is_floating_point:
        return torch.randint(0, 9, shape, generator=random, dtype=dtype)
    return torch.randn(shape, generator=random, dtype=dtype)
