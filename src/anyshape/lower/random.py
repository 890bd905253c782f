"""Random numbers: Philox is a function of key and index, so an element needs no other.

Each element computes the whole block that holds it and takes its word. That is four times the
arithmetic of a loop over blocks, and in return a draw is a map like any other: it is fused with
what uses it, and split over tasks and vectors without a thought.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.ir.node import Node
from anyshape.ir.types import bool_, u32, u64
from anyshape.loop import Literal, Number, Scalar
from anyshape.loop.ir import Index
from anyshape.lower.context import Conditions, Lowering, rule
from anyshape.lower.movement import linear
from anyshape.ops.random import MULTIPLIERS, ROUNDS, WEYL, BitsAttrs
from anyshape.sym import Dim

WORD = 1 << 32


@rule("random_bits")
def random_bits(low: Lowering, node: Node, index: Index, conditions: Conditions) -> Scalar:
    attrs = node.attrs_as(BitsAttrs)
    (key,) = node.operands
    words = _Words(low)
    place = words.of(low.let(Number(linear(attrs.shape, index))))
    block, lane = words.apply("floordiv", place, 4), words.apply("mod", place, 4)
    parts = words.lower(block), words.upper(block)
    counter = (*parts, words.number(attrs.stream), words.number(0))
    keys = [words.of(low.at(key, (Dim.of(i),), conditions)) for i in range(2)]
    return low.apply("cast", (words.pick(lane, words.philox(counter, keys)),), u32)


class _Words:
    """Arithmetic on words of 32 bits, each in a scalar of 64 so that products fit."""

    def __init__(self, low: Lowering) -> None:
        self._low = low

    def number(self, value: int) -> Scalar:
        return Literal.of(value, u64)

    def of(self, scalar: Scalar) -> Scalar:
        return self._low.apply("cast", (scalar,), u64)

    def apply(self, op: str, x: Scalar, y: Scalar | int) -> Scalar:
        other = self.number(y) if isinstance(y, int) else y
        return self._low.apply(op, (x, other), u64)

    def lower(self, x: Scalar) -> Scalar:
        return self.apply("bitwise_and", x, WORD - 1)

    def upper(self, x: Scalar) -> Scalar:
        return self.apply("floordiv", x, WORD)

    def philox(self, words: Sequence[Scalar], keys: Sequence[Scalar]) -> Sequence[Scalar]:
        """As `ops.random.philox`, for one counter."""
        for number in range(ROUNDS):
            left = self.apply("mul", words[0], MULTIPLIERS[0])
            right = self.apply("mul", words[2], MULTIPLIERS[1])
            if number:
                keys = [self._next_key(k, step) for k, step in zip(keys, WEYL, strict=True)]
            words = [
                self._mixed(self.upper(right), words[1], keys[0]),
                self.lower(right),
                self._mixed(self.upper(left), words[3], keys[1]),
                self.lower(left),
            ]
        return words

    def _next_key(self, key: Scalar, step: int) -> Scalar:
        return self.lower(self.apply("add", key, step))

    def _mixed(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        return self.apply("bitwise_xor", self.apply("bitwise_xor", x, y), z)

    def pick(self, lane: Scalar, words: Sequence[Scalar]) -> Scalar:
        chosen = words[0]
        for number, word in enumerate(words[1:], 1):
            here = self._low.apply("eq", (lane, self.number(number)), bool_)
            chosen = self._low.apply("select", (here, word, chosen), u64)
        return chosen
