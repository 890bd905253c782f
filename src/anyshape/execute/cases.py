"""Which of several cases a call is: predicates on the sizes of inputs, evaluated by level 2.

A case is facts that hold together; each has a program, or a reason why there is none. The native
selector is a program of the runtime without steps: its `bind` solves the symbols, its only word is
the number of the case, and both are remembered for each binding like any level 2. The selector of
the interpreter evaluates the predicates one by one, which is the definition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from anyshape.base.errors import BindingNamesError
from anyshape.base.location import Location
from anyshape.codegen.target import BIND, SHAPE, Code, Generator, Target
from anyshape.execute.tensors import shape_of
from anyshape.level2 import shape_program
from anyshape.level2.cases import number_of_case
from anyshape.level2.words import Words
from anyshape.program import Input, ProgramDescription
from anyshape.runtime.guarded import program_of
from anyshape.runtime.options import RunOptions
from anyshape.runtime.program import Program
from anyshape.sym import BindingPlan, Fact, Symbol


@dataclass(frozen=True, slots=True)
class Case:
    """Facts that hold together. One without a program says what the model says of it."""

    facts: tuple[Fact, ...]
    problem: str = ""
    location: Location | None = None

    def __str__(self) -> str:
        texts = (f"{fact} ({fact.where})" if fact.where else str(fact) for fact in self.facts)
        return " and ".join(texts) or "any sizes"

    def contains(self, sizes: Mapping[Symbol, int]) -> bool:
        return all(fact.holds(sizes) for fact in self.facts)


@dataclass(frozen=True, slots=True)
class Cases:
    """The cases of a model, and how the sizes of its inputs give the symbols."""

    bindings: BindingPlan
    all: tuple[Case, ...]

    def number_at(self, sizes: Mapping[Symbol, int]) -> int:
        """The first case that these sizes are of; how many there are if they are of none."""
        numbers = (number for number, case in enumerate(self.all) if case.contains(sizes))
        return next(numbers, len(self.all))

    def number_of(self, arrays: Sequence[Any]) -> int:
        """The same for arrays; what they contradict is an error that names it."""
        return self.number_at(self.bindings.solve([shape_of(array) for array in arrays]))

    def binding(self, sizes: Mapping[str, int]) -> dict[Symbol, int]:
        """The symbols of sizes that are given by name."""
        names = {axis.name: axis.symbol for axis in self.bindings.axes}
        missing, unknown = sorted(names.keys() - sizes), sorted(sizes.keys() - names)
        if missing or unknown:
            raise BindingNamesError(missing, unknown, tuple(names))
        binding = {names[name]: size for name, size in sizes.items()}
        self.bindings.check(binding)
        return binding


class Selector(Protocol):
    """Gives the number of the case of a call's arrays, or raises what is wrong with them."""

    def __call__(self, arrays: Sequence[Any], /) -> int: ...


class NativeSelector(NamedTuple):
    """The selector as a program: its `first_word` is the number."""

    program: Program
    code: Code


def native_selector(
    cases: Cases, inputs: Sequence[Input], target: Target, generator: Generator
) -> NativeSelector:
    """The selector as code of the target."""
    words = Words()
    words.word(number_of_case([[fact.predicate for fact in case.facts] for case in cases.all]))
    program = shape_program(cases.bindings, words)
    (code,) = generator.code([program]).codes
    count = len(cases.bindings.steps), program.words.count
    addresses = code.address(BIND), code.address(SHAPE)
    description = ProgramDescription(*addresses, *count, (), (), tuple(inputs), (), (), ())
    return NativeSelector(program_of(description, (code,), RunOptions(1), target.guard), code)
