"""What may be chosen: one list of names, for everyone who takes them."""

from dataclasses import fields
from typing import Any, get_type_hints

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import OptionError
from anyshape.execute import CompileKeywords, CompileOptions
from anyshape.execute.caching_executor import CachingExecutor


def double(x: ash.f32["n"]):
    return x * 2


def test_keywords_and_fields_are_the_same():
    """Bytes may be given as text with a unit."""
    hints = get_type_hints(CompileOptions)
    options = {field.name: hints[field.name] for field in fields(CompileOptions)}
    texts = {name: options[name] | str for name in ("memory_limit", "result_cache")}
    assert get_type_hints(CompileKeywords) == {**options, **texts, "hot": bool | ash.Hot | None}


CHOSEN = [
    {"executor": "stepwise"},
    {"threads": 1},
    {"deterministic": True},
    {"wait_for_team": True},
    {"memory_limit": 1 << 20},
    {"result_cache": 1 << 20},
    {"strict": True, "threads": 1, "deterministic": True},
]


@pytest.mark.parametrize("chosen", CHOSEN, ids="+".join)
def test_jit_takes_what_compile_takes(chosen: Any):
    jitted = ash.jit(**chosen)(double)
    compiled = ash.compile(ash.jit(double), **chosen)
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(jitted(x), compiled(x)[0])
    for executable in (jitted.executable, compiled):
        assert executable.capabilities.executor == chosen.get("executor", "native")
        assert executable.executor.threads == chosen.get("threads", executable.executor.threads)
        assert isinstance(executable.executor, CachingExecutor) is ("result_cache" in chosen)


def test_every_choice_reaches_what_runs(monkeypatch: pytest.MonkeyPatch):
    from anyshape.execute import compile as level_1

    seen: list[Any] = []
    link = level_1.link

    def spy(made: Any, code: Any, target: Any, options: Any) -> Any:
        seen.append(options)
        return link(made, code, target, options)

    monkeypatch.setattr(level_1, "link", spy)
    jitted = ash.jit(threads=1, wait_for_team=True, memory_limit=1234)(double)
    jitted(np.ones(3, np.float32))
    (options,) = seen
    assert (options.threads, options.wait_for_team, options.memory_limit) == (1, True, 1234)


@pytest.mark.parametrize("take", [ash.jit, lambda **chosen: ash.compile(ash.jit(double), **chosen)])
def test_what_cannot_be_chosen(take: Any):
    with pytest.raises(TypeError, match="there is no option 'thread', only executor, threads, "):
        take(thread=1)
    with pytest.raises(OptionError, match="executor='fast' is not one of native, stepwise"):
        take(executor="fast")
    with pytest.raises(OptionError, match="threads='-1'"):
        take(threads=-1)
    with pytest.raises(OptionError, match="memory_limit='-1'"):
        take(memory_limit=-1)


@pytest.mark.filterwarnings("ignore")  # torch and transformers warn of their own parts
def test_torch_and_transformers_take_them_too():
    from anyshape.api.dynamo_backend import BackendOptions
    from anyshape.api.transformers_exporter import AnyshapeConfig

    chosen = {"deterministic": True, "memory_limit": 9}
    options = BackendOptions.of(None, chosen | {"fallback": True})
    assert (options.chosen, options.fallback) == (chosen, True)
    with pytest.raises(OptionError, match="threads='-1'"):
        BackendOptions.of(None, {"threads": -1})
    defaults = {f.name: f.default for f in fields(AnyshapeConfig)}
    assert {f.name: defaults.get(f.name) for f in fields(CompileOptions)} == {
        f.name: f.default for f in fields(CompileOptions)
    }
