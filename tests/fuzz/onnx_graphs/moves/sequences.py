"""Sequences of tensors: made, changed, read, joined."""

from __future__ import annotations

from tests.fuzz.onnx_graphs.generator import DTYPES, Generator, Unfit


def _sequence(g: Generator) -> str:
    found = g.names(sequences=True)
    if found:
        return g.rng.choice(found)
    x = g.pick(DTYPES, range(1, 4))
    if g.rng.random() < 0.5:
        alike = g.names((g.dtype(x),), (g.rank(x),)) or [x]
        return g.node(
            "SequenceConstruct", x, *(g.rng.choice(alike) for _ in range(g.rng.randint(0, 2)))
        )
    return _split(g, x)


def _split(g: Generator, x: str) -> str:
    axis = g.axis(x)
    keep = g.rng.choice((None, 0, 1))
    if len(set(g.size(x, axis))) != 1:
        return g.node("SequenceConstruct", x, x)
    size = g.fixed(x, axis)
    if g.rng.random() < 0.4 or not size:
        return g.node("SplitToSequence", x, axis=axis, keepdims=keep)
    parts = g.constant(g.rng.choice((1, 2)))
    if g.rng.random() < 0.4:
        cut = g.rng.randint(0, size)
        parts = g.constant([cut, size - cut])
    return g.node("SplitToSequence", x, parts, axis=axis)


def _length(g: Generator, sequence: str) -> int:
    found = {len(value) for value in g.each(sequence)}
    if len(found) != 1:
        raise Unfit
    return found.pop()


def read(g: Generator) -> None:
    sequence = _sequence(g)
    size = _length(g, sequence)
    if not size or g.rng.random() < 0.2:
        g.node("SequenceLength", sequence)
        return
    g.node("SequenceAt", sequence, g.constant(g.rng.randrange(-size, size)))


def changed(g: Generator) -> None:
    sequence = _sequence(g)
    size = _length(g, sequence)
    if g.rng.random() < 0.4 and size:
        place = (g.constant(g.rng.randrange(-size, size)),) if g.rng.random() < 0.7 else ()
        g.node("SequenceErase", sequence, *place)
        return
    place = (g.constant(g.rng.randint(-size, size)),) if g.rng.random() < 0.7 else ()
    x = g.rng.choice(g.names((g.dtype(sequence),)) or [""])
    if not x:
        raise Unfit
    g.node("SequenceInsert", sequence, x, *place)


def joined(g: Generator) -> None:
    sequence = _sequence(g)
    if not _length(g, sequence):
        raise Unfit
    rank = g.each(sequence)[0][0].ndim
    stacked = g.rng.choice((None, 0, 1))
    low, high = (-rank - 1, rank + 1) if stacked else (-rank, rank)
    if low == high:
        raise Unfit
    g.node("ConcatFromSequence", sequence, axis=g.rng.randrange(low, high), new_axis=stacked)


def empty(g: Generator) -> None:
    made = g.node("SequenceEmpty")
    g.node("SequenceInsert", made, g.pick(("float32",)))


SEQUENCES = (read, read, changed, joined, joined, empty)
