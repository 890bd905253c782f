"""Which cases a thinned run takes."""

from pathlib import Path

import pytest
from tests.thinned import LEAST, ONE_IN, kept

CASES = [f"tests/a.py::test_values[{n}]" for n in range(200)]
TABLE = {"tests/a.py::test_values": 5}


def some(names: list[str]) -> list[str]:
    return list(kept(names, str, TABLE))


def test_one_case_in_so_many_runs_in_their_order() -> None:
    chosen = some(CASES)
    assert len(CASES) / 10 < len(chosen) < len(CASES) / 3
    assert chosen == sorted(chosen, key=CASES.index)


def test_a_case_runs_or_not_whatever_is_beside_it() -> None:
    assert len(set(some(CASES[::2])) - set(some(CASES))) <= LEAST


def test_a_function_of_few_cases_is_whole() -> None:
    assert some(CASES[:LEAST]) == CASES[:LEAST]
    assert len(some(CASES[: LEAST + 2])) >= LEAST


def test_the_order_of_cases_plays_no_part() -> None:
    """pytest mixes functions whose parameters are of a module, so that equal ones are in a row."""
    others = [name.replace("values", "shapes") for name in CASES]
    table = {**TABLE, "tests/a.py::test_shapes": 5}
    mixed = [name for pair in zip(CASES, others, strict=True) for name in pair]
    assert set(kept(mixed, str, table)) == set(kept([*CASES, *others], str, table))
    assert len(set(kept(mixed, str, table)) & set(CASES)) < len(CASES) / 3


def test_the_longest_beginning_decides() -> None:
    table = {"tests/": 50, **TABLE, "tests/a.py": 1}
    assert list(kept(CASES, str, table)) == some(CASES)
    assert list(kept(["tests/a.py::test_b[0]"], str, table)) == ["tests/a.py::test_b[0]"]


def test_what_the_table_does_not_name_is_whole() -> None:
    others = [name.replace("values", "shapes") for name in CASES]
    assert some(others) == others


@pytest.mark.parametrize("name", ONE_IN)
def test_the_table_names_tests_that_there_are(name: str) -> None:
    path, _, function = name.partition("::")
    file = Path(__file__).parents[2] / path
    assert file.exists()
    assert not function or f"def {function}" in file.read_text(encoding="utf-8")
