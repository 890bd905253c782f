"""Which cases a thinned run takes."""

from pathlib import Path

import pytest
from tests.thinned import ONE_IN, kept

CASES = [f"tests/a.py::test_values[{n}]" for n in range(200)]
TABLE = {"tests/a.py::test_values": 5}


def some(names: list[str]) -> list[str]:
    return list(kept(names, str, TABLE))


def test_one_case_in_so_many_runs_in_their_order() -> None:
    chosen = some(CASES)
    assert len(CASES) / 10 < len(chosen) < len(CASES) / 3
    assert chosen == sorted(chosen, key=CASES.index)


def test_a_case_runs_or_not_whatever_is_beside_it() -> None:
    assert set(some(CASES[::2])) - {some(CASES[::2])[0]} <= set(some(CASES))


def test_every_function_keeps_a_case() -> None:
    assert all(some([case]) == [case] for case in CASES)


def test_what_the_table_does_not_name_is_whole() -> None:
    others = [name.replace("values", "shapes") for name in CASES]
    assert some(others) == others


@pytest.mark.parametrize("name", ONE_IN)
def test_the_table_names_tests_that_there_are(name: str) -> None:
    path, _, function = name.partition("::")
    file = Path(__file__).parents[2] / path
    assert file.exists()
    assert not function or f"def {function}" in file.read_text(encoding="utf-8")
