"""Matrices of which `make test` runs a part: `make test-all` runs every case.

A gate that takes half an hour is run too rarely to be one. Most of its time goes into functions
that compile a kernel or a model for each of dozens of cases of one shape. Of those, `make test`
runs some, and at least one. Which cases run is a matter of their names, so that all processes of a
run choose the same.

What is left out beside `ONE_IN`, by suites that ask `leaves_out`:

  - of guard pages, on the lesser instruction sets, two thirds of the graphs that differ in nothing
    but dtypes; each set has other ones, and the best set has all (tests/guard);
  - of random modules of torch, 13 of 25 in a row (tests/fuzz/torch_modules);
  - of random questions to the prover that must not stay open, two thirds (tests/property);
  - examples that `demo.py` consists of, by themselves (tests/e2e/test_examples.py).

Never left out: values of ops, on the best instruction set in every case, on each lesser one in the
first case of every op and an eighth of the others (`ANYSHAPE_ISA=sse2` runs all); guard pages of
every family on every set; all other random programs; texts of golden files; messages of errors.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar
from zlib import crc32

VARIABLE, SOME, ALL = "ANYSHAPE_TESTS", "some", "all"
"""What the environment says of a run: whether cases are left out."""

ONE_IN: Mapping[str, int] = {
    "tests/compliance/test_masks.py::test_padding_changes_nothing": 2,
    "tests/compliance/test_masks.py::test_padding_changes_nothing_in_native_code": 4,
    "tests/compliance/test_ops.py::test_text_reads_back_to_the_identical_graph": 4,
    "tests/compliance/test_ops.py::test_the_verifier_accepts": 4,
    "tests/compliance/test_traits.py": 8,
    "tests/e2e/": 10,
    "tests/e2e/test_docs.py": 1,
    "tests/e2e/test_dynamic_examples.py": 1,
    "tests/e2e/test_examples.py": 1,
    "tests/unit/codegen/": 6,
    "tests/unit/execute/": 4,
    "tests/unit/families/": 6,
    "tests/unit/frontend/": 4,
    "tests/unit/loaded/": 4,
    "tests/unit/lower/": 6,
    "tests/unit/passes/": 12,
    "tests/unit/passes/test_recognise_attention.py": 20,
}
"""By the beginning of a test's id: one case in so many. The longest beginning decides."""

LEAST = 1
"""Cases of a function that run in any case."""

_T = TypeVar("_T")


def leaves_out() -> bool:
    """Whether this run is of `make test`: suites with a share of their own ask."""
    return os.environ.get(VARIABLE) == SOME


def kept(
    items: Iterable[_T], name: Callable[[_T], str], table: Mapping[str, int] = ONE_IN
) -> Iterator[_T]:
    """Those that `make test` runs, in their order, which may mix the cases of functions."""
    items = list(items)
    chosen = _chosen(map(name, items), table)
    return (item for item in items if name(item) in chosen)


def _chosen(names: Iterable[str], table: Mapping[str, int]) -> set[str]:
    functions: defaultdict[str, list[str]] = defaultdict(list)
    for each in names:
        functions[each.partition("[")[0]].append(each)
    thinned = (_thinned(cases, _one_in(function, table)) for function, cases in functions.items())
    return set().union(*thinned)


def _one_in(function: str, table: Mapping[str, int]) -> int:
    return table[longest] if (longest := _longest_beginning(function, table)) else 1


def _longest_beginning(function: str, table: Mapping[str, int]) -> str:
    return max((start for start in table if function.startswith(start)), key=len, default="")


def _thinned(cases: list[str], count: int) -> set[str]:
    numbers = {case: crc32(case.encode()) for case in cases}
    least = sorted(cases, key=numbers.__getitem__)[:LEAST]
    return {case for case in cases if numbers[case] % count == 0}.union(least)
