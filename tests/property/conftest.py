"""Deciders are shared by all who state the same: here each test has its own, so that what one of
them was kept from proving is not known to another, and what another knows is proved again."""

from collections.abc import Iterator

import pytest

from anyshape.sym.decide.decider import shared_decider


@pytest.fixture(autouse=True)
def own_deciders() -> Iterator[None]:
    shared_decider.cache_clear()
    yield
    shared_decider.cache_clear()
