"""Records as JSON: read back as they were, and nothing else is read."""

import json
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from anyshape.program import Address, AliasStore, ArenaStore, Buffer, Immediate, Step, Variant, Word
from anyshape.saved.codec import RecordError, decoded, encoded
from anyshape.saved.records import ArrayRecord, ContainerRecord, PackingRecord, ReturnedRecord

STEP = Step(
    "dot+add", (Variant(3, 0, "wide", 7),), 1, (Word(4), Immediate(-5), Address(0)), (), None, 9
)
PACKED = ArrayRecord(2, np.dtype(ml_dtypes.bfloat16), (3, 4), PackingRecord((), (0,), (1,), 16, 1))
NESTED = ContainerRecord("dict", ("a", 1), (ContainerRecord("", (), ()),) * 2)
RECORDS = [
    STEP,
    PACKED,
    NESTED,
    Buffer(AliasStore(3, None, True), 5),
    Buffer(AliasStore(3, 4), 5),
    Buffer(ArenaStore(0, 2, (1, 4), True), 0),
    ReturnedRecord("FixedResult", (), (), 0.5),
]


@pytest.mark.parametrize("record", RECORDS)
def test_read_back(record: Any) -> None:
    kind = type(record)
    assert decoded(kind, json.loads(json.dumps(encoded(record, kind)))) == record


@pytest.mark.parametrize("record", RECORDS)
def test_any_other_value_in_any_place_is_refused_or_read(record: Any) -> None:
    """Nothing but a `RecordError` leaves the reader, and what it reads is of the right type."""
    kind = type(record)
    whole = encoded(record, kind)
    for path in paths(whole):
        for other in (None, True, -1, 1 << 80, "x", [], [[]], {}, "object"):
            try:
                read = decoded(kind, replaced(whole, path, other))
            except RecordError:
                continue
            assert encoded(read, kind) == replaced(whole, path, other)


def paths(value: Any) -> list[tuple[int, ...]]:
    if not isinstance(value, list):
        return [()]
    inner = ((i, *path) for i, item in enumerate(value) for path in paths(item))
    return [(), *inner]


def replaced(value: Any, path: tuple[int, ...], other: Any) -> Any:
    if not path:
        return other
    first, *rest = path
    return [replaced(v, tuple(rest), other) if i == first else v for i, v in enumerate(value)]


def test_the_text_of_a_refusal() -> None:
    with pytest.raises(RecordError, match=r"^expected int, found 'x'$"):
        decoded(Word, ["x"])
    with pytest.raises(RecordError, match=r"^expected an element type, found 'object'$"):
        decoded(ArrayRecord, [0, "object", [], None])
