"""The shape program: `bind` solves and checks the symbols, `shape` computes every word from them.

Both answer -1, or the number of the first check that fails, or, if a number does not fit 64 bits,
how many checks there are. `bind` makes the checks of the graph's `BindingPlan` in this order: for
each symbol that it solves, that its size is whole and that it is not negative; every size of every
input; every axis; every fact. `shape` makes none.

All that could be decided in more than one way is decided here, so that whoever makes code of a
program only writes it down: in which order words are computed, which of them long sums are made of,
and which formulas are computed for many uses in one go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anyshape.level2.formulas import SharedFormulas, written
from anyshape.level2.long_sums import Numbered, numbers_in_order
from anyshape.level2.words import Cheapest, Estimate, Formula, OfCheapest, Words
from anyshape.sym import BindingPlan, Dim, Symbol
from anyshape.sym.bindings import FromInput, Step


@dataclass(frozen=True, slots=True)
class WordProgram:
    """The words in the order in which they are computed: those `alone`, each of which may be made
    of those before it, then the `shared` formulas. `meaning` is that of symbols that stand for
    sums."""

    symbols: tuple[Symbol, ...]
    alone: tuple[Numbered, ...]
    shared: tuple[SharedFormulas, ...]
    count: int
    meaning: Mapping[Symbol, Dim]

    @property
    def indices(self) -> dict[Symbol, int]:
        """Where each symbol is in memory."""
        return {symbol: index for index, symbol in enumerate(self.symbols)}


@dataclass(frozen=True, slots=True)
class ShapeProgram:
    """Level 2 of one program."""

    bindings: BindingPlan
    words: WordProgram

    def as_text(self) -> str:
        """All that its code depends on."""
        return "\n".join(_lines(self))

    def __str__(self) -> str:
        return self.as_text()


def word_program(symbols: Sequence[Symbol], words: Words) -> WordProgram:
    """Computes all words, and behind them those that long sums are made of."""
    every = Words(dict(words.numbers), words.meaning)
    indices = {symbol: index for index, symbol in enumerate(symbols)}
    numbers = written(every.numbers, indices)
    alone = tuple(numbers_in_order(numbers.alone, every))
    return WordProgram(tuple(symbols), alone, numbers.shared, len(every.numbers), every.meaning)


def shape_program(bindings: BindingPlan, words: Words) -> ShapeProgram:
    """Level 2 of a graph whose numbers are `words`."""
    symbols = [step.affine.symbol for step in bindings.steps]
    return ShapeProgram(bindings, word_program(symbols, words))


# --- text -----------------------------------------------------------------------------------------


def _lines(program: ShapeProgram) -> Iterator[str]:
    bindings, words = program.bindings, program.words
    yield f"bind ({', '.join(f'{name}: {_sizes(dims)}' for name, dims in bindings.inputs)}) {{"
    yield from (f"  {_solution(step)}" for step in bindings.steps)
    yield from (f"  require {axis}" for axis in bindings.axes)
    yield from (f"  require {fact.predicate}" for fact in bindings.facts)
    yield f"}}\nshape ({', '.join(map(str, words.symbols))}) -> {words.count} words {{"
    yield from (f"  where {symbol} = {dim}" for symbol, dim in words.meaning.items())
    yield from (f"  w{word} = {_number(number)}" for number, word in words.alone)
    for form in words.shared:
        yield from (f"  {line}" for line in _shared_lines(form))
    yield "}"


def _sizes(dims: Sequence[Dim]) -> str:
    return f"[{', '.join(map(str, dims))}]"


def _solution(step: Step) -> str:
    affine = step.affine
    given = f"size {step.position} of input {step.input}" if isinstance(step, FromInput) else "0"
    return f"{affine.symbol} = ({given} - ({affine.rest})) / {affine.coefficient}"


def _number(number: Formula) -> str:
    match number:
        case Dim():
            return str(number)
        case Estimate(dim):
            return f"estimate({dim})"
        case Cheapest(costs):
            return f"cheapest({', '.join(map(str, costs))})"
        case OfCheapest(costs, values):
            chosen = ", ".join(map(_number, values))
            return f"of_cheapest({', '.join(map(str, costs))}; {chosen})"


def _shared_lines(form: SharedFormulas) -> Iterator[str]:
    yield f"for each ({', '.join(map(str, form.sizes))}) of {form.source} {{"
    yield from (f"  {_number(formula)}" for formula in form.formulas)
    yield from (f"  at {list(use.given)} -> {list(use.words)}" for use in form.uses)
    yield "}"
