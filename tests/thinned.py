"""Matrices of which `make test` runs a part: `make test-all` runs every case.

A gate that takes half an hour is run too rarely to be one. What is thinned has hundreds of cases
of one shape, or few that take seconds each; what only one case covers is never left out. Which
cases run is a matter of their names, so it does not change with what is added beside them, and
every process of a run chooses the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TypeVar
from zlib import crc32

VARIABLE, SOME, ALL = "ANYSHAPE_TESTS", "some", "all"
"""What the environment says of a run: whether cases are left out."""

ONE_IN: Mapping[str, int] = {
    "tests/compliance/test_ops.py::test_text_reads_back_to_the_identical_graph": 4,
    "tests/compliance/test_ops.py::test_the_verifier_accepts": 4,
    "tests/compliance/test_traits.py": 2,
    "tests/e2e/test_architectures.py::test_the_row_is_true": 2,
    "tests/unit/codegen/test_cross_targets.py": 3,
    "tests/unit/passes/test_recognise_attention.py::test_values": 3,
}
"""By the beginning of a test's id: one case in so many, and at least one of each function."""

_T = TypeVar("_T")


def kept(
    items: Iterable[_T], name: Callable[[_T], str], table: Mapping[str, int] = ONE_IN
) -> Iterator[_T]:
    """Of items that come function by function, those that `make test` runs."""
    for function, cases in groupby(items, key=lambda item: name(item).partition("[")[0]):
        count = _one_in(function, table)
        if count == 1:
            yield from cases
        else:
            yield from _thinned([(crc32(name(case).encode()), case) for case in cases], count)


def _one_in(function: str, table: Mapping[str, int]) -> int:
    return max((count for start, count in table.items() if function.startswith(start)), default=1)


def _thinned(numbered: list[tuple[int, _T]], count: int) -> Iterator[_T]:
    least = min(number for number, _ in numbered)
    for number, case in numbered:
        if number % count == 0 or number == least:
            yield case
