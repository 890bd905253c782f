"""Collections while much is made look at what is made, and at everything afterwards."""

from __future__ import annotations

import gc
from collections.abc import Generator
from weakref import ref

import pytest

from anyshape.base import garbage
from anyshape.base.garbage import young_garbage


@pytest.fixture(autouse=True)
def _nothing_frozen(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    """Tests run with what was there before them frozen."""
    monkeypatch.setattr(garbage._Frozen, "by_others", False)
    gc.unfreeze()
    yield
    gc.freeze()


class Cycle:
    def __init__(self) -> None:
        self.own = self


def test_only_young_garbage_is_looked_at() -> None:
    gc.collect()
    cycle = Cycle()
    old = ref(cycle)
    del cycle
    with young_garbage():
        young = ref(Cycle())
        gc.collect()
        assert young() is None
        assert old() is not None
    gc.collect()
    assert old() is None


def test_the_outermost_ends_it_also_after_an_error() -> None:
    def fails() -> None:
        with young_garbage():
            with young_garbage():
                pass
            assert gc.get_freeze_count()
            raise ValueError("within")

    with pytest.raises(ValueError, match="within"):
        fails()
    assert not gc.get_freeze_count()


def test_what_was_made_before_an_inner_one_is_not_looked_at_in_it() -> None:
    with young_garbage():
        cycle = Cycle()
        old = ref(cycle)
        del cycle
        with young_garbage():
            gc.collect()
            assert old() is not None
    gc.collect()
    assert old() is None


def test_what_the_user_has_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        with young_garbage():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_frozen_objects_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting visits each of them, and a compile within a compile asks again."""
    counted: list[int] = []
    count = gc.get_freeze_count
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counted.append(1) or count())
    with young_garbage(), young_garbage(), young_garbage():
        assert len(counted) == 1
    gc.freeze()
    for _ in range(3):
        with young_garbage():
            pass
    assert len(counted) == 2
