"""The debug dial: each level shows what the one before does, and more."""

import re

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import OptionError
from anyshape.base.options import Options, options_from_environment
from anyshape.execute import compile_graph


@ash.jit
def chain(x: ash.f32["n"]):
    return ash.exp(ash.tanh(x * 1))


SIGNS = {
    1: r"^\[chain\] fuse: \d+ -> \d+ nodes$",
    2: "joins exp",
    3: "^graph chain",
    4: r"^kernel \(",
}


@pytest.mark.parametrize("level", range(5))
def test_levels(level: int, capsys: pytest.CaptureFixture[str]) -> None:
    executable = compile_graph(chain.graph, Options(cache_dir=None, calibrate=False, debug=level))
    shown = capsys.readouterr().err
    for lowest, sign in SIGNS.items():
        assert bool(re.search(sign, shown, re.MULTILINE)) == (lowest <= level), sign
    executable(np.ones(3, np.float32))
    assert capsys.readouterr().err == "", "calls show nothing"


def test_the_environment_sets_it() -> None:
    assert options_from_environment({"ANYSHAPE_DEBUG": "3"}) == Options(debug=3)
    with pytest.raises(OptionError, match="ANYSHAPE_DEBUG='5' is not a number from 0 to 4"):
        options_from_environment({"ANYSHAPE_DEBUG": "5"})
