"""docs/reference is what the code says, and the table of knobs has them all."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from tools.reference import FOLDER, pages

import anyshape as ash
from anyshape.base import options
from anyshape.base.knobs import KNOBS


@pytest.mark.parametrize("name", sorted(pages()))
def test_pages_are_current(name: str) -> None:
    assert (FOLDER / name).read_text() == pages()[name], "run make reference"


def test_every_option_is_a_knob() -> None:
    fields = [field.name for field in dataclasses.fields(ash.Options)]
    assert sorted(knob.option for knob in KNOBS) == sorted(fields)
    read = set(re.findall(r"ANYSHAPE_\w+", Path(options.__file__).read_text()))
    assert {knob.variable for knob in KNOBS} == read


def test_every_keyword_of_compile_is_there() -> None:
    text = (FOLDER / "knobs.md").read_text()
    for name in ("executor", "threads", "strict", "memory_limit", "result_cache", "likely"):
        assert f"| `{name}` |" in text


def test_variables_and_fields_are_the_same() -> None:
    environment = {"ANYSHAPE_SPECIALIZATIONS": "3", "ANYSHAPE_SPECIALIZATION_BYTES": "4096"}
    found = options.options_from_environment(environment)
    assert found == ash.Options(specializations=3, specialization_bytes=4096)


def test_so_many_specializations_are_kept() -> None:
    @ash.jit
    def double(x: ash.f32["n"]):
        return x + x

    executable = ash.compile(double, options=ash.Options(specializations=2, cache_dir=None))
    for size in range(6):
        executable(np.ones(size, np.float32))
    assert len(executable.executor.bindings_seen()) == 2
