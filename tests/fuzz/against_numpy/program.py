"""A random program as data, and its two readers.

A program is a list of inputs and a straight line of instructions. An instruction names an op, how
it is spelled in the public API, and its operands and parameters as text: names of values, numbers,
sizes such as `v2.shape[0] * 2`. One reader writes the Python function that a user would write; the
other looks up what the op means in NumPy. They share the text of operands and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from tests.fuzz.against_numpy.dtypes import ALL, Array, NoMeaning
from tests.fuzz.against_numpy.meaning import MEANINGS
from tests.fuzz.against_numpy.noise import Noisy, exact

NAME = re.compile(r"\b[vx]\d+\b")

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Input:
    """A parameter. `shape` has integers, expressions of axes, or `?n` for a size without a name."""

    name: str
    dtype: str
    shape: tuple[str, ...]
    fill: str = "grid"  # what its numbers are like: see `inputs`
    layout: str = "dense"  # how it lies in memory

    def annotation(self) -> str:
        items = ["None" if s[0] == "?" else s if s.isdigit() else f'"{s}"' for s in self.shape]
        return f"ash.{self.dtype}[{', '.join(items) or '()'}]"

    def concrete(self, sizes: Sizes) -> tuple[int, ...]:
        return tuple(size_of(text, sizes) for text in self.shape)


def size_of(text: str, sizes: Sizes) -> int:
    """A size expression at a binding."""
    return int(eval(text.removeprefix("?"), {}, dict(sizes)))


@dataclass(frozen=True)
class Instruction:
    """`results = spelling` with operands by position and parameters by name."""

    results: tuple[str, ...]
    op: str
    spelling: str
    operands: tuple[str, ...] = ()
    params: tuple[tuple[str, str], ...] = ()

    @property
    def uses(self) -> set[str]:
        texts = (*self.operands, *(text for _, text in self.params))
        return {name for text in texts for name in NAME.findall(text)}

    def as_text(self) -> str:
        texts = [_operand_text(text) for text in self.operands]
        call = self.spelling.format(*texts, all=", ".join(texts), **dict(self.params))
        target = ", ".join(self.results)
        return f"{target}{',' if self.op in MANY and len(self.results) == 1 else ''} = {call}"


MANY = ("split", "nonzero")
"""Ops that give a list or tuple even if it has one element."""


def _operand_text(text: str) -> str:
    """In brackets where it has operators, for it may become part of an expression."""
    plain = re.fullmatch(r"[\w.]+|[\w.]+\[[^][]*\]|np\.array\(.*\)", text)
    return text if plain else f"({text})"


@dataclass(frozen=True)
class Program:
    """What is traced once and run at all of `bindings`."""

    seed: int
    inputs: tuple[Input, ...]
    instructions: tuple[Instruction, ...]
    returns: tuple[str, ...]
    bindings: tuple[dict[str, int], ...] = field(default=())

    def source(self, name: str = "f") -> str:
        """The function as a user writes it."""
        params = ", ".join(f"{given.name}: {given.annotation()}" for given in self.inputs)
        lines = [f"def {name}({params}):"]
        lines += [f"    {instruction.as_text()}" for instruction in self.instructions]
        return "\n".join([*lines, f"    return {', '.join(self.returns)}"])

    def with_inputs(self, *inputs: Input) -> Program:
        return replace(self, inputs=inputs)


class _Item:
    """`_Item()[1:, None]` is what stands between the brackets."""

    def __getitem__(self, item: Any) -> Any:
        return item


# --- the reader in NumPy --------------------------------------------------------------------------

ASH = SimpleNamespace(**{dtype: dtype for dtype in ALL})
"""What `ash.f32` in a parameter stands for."""


def evaluated(text: str, values: Mapping[str, Noisy], sizes: Sizes) -> Any:
    """A piece of text: a value, a number, a size, or containers of those."""
    if text in values:
        return values[text]
    if text in MEANINGS:  # an op inside a loop or branch
        return text
    return _with_sizes(eval(text, {"np": np, "ash": ASH, "ITEM": _Item()}, dict(values)), sizes)


def _with_sizes(item: Any, sizes: Sizes) -> Any:
    """Sizes are written as text too: `ash.zeros("a + 1")`."""
    if isinstance(item, str) and item not in NO_SIZES and item not in ALL and "->" not in item:
        return size_of(item, sizes)
    if isinstance(item, (tuple, list)):
        return type(item)(_with_sizes(part, sizes) for part in item)
    return item


NO_SIZES = (
    "none", "tanh", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "top_left", "bottom_right",
    *MEANINGS,
)  # fmt: skip


def step(instruction: Instruction, values: dict[str, Noisy], sizes: Sizes) -> None:
    """Adds what one instruction gives."""
    operands = [evaluated(text, values, sizes) for text in instruction.operands]
    params = {
        key: evaluated(f"ITEM[{text}]" if key == "item" else text, values, sizes)
        for key, text in instruction.params
    }
    try:
        results = MEANINGS[instruction.op](*operands, **params)
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise NoMeaning(f"{instruction.as_text()}: {type(error).__name__}: {error}") from error
    given = results if isinstance(results, tuple) else (results,)
    values.update(zip(instruction.results, given, strict=True))


def meaning(program: Program, arrays: Mapping[str, Array], sizes: Sizes) -> dict[str, Noisy]:
    """All values at one binding."""
    values = {name: exact(array) for name, array in arrays.items()}
    for instruction in program.instructions:
        step(instruction, values, sizes)
    return values
