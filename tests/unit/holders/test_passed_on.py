"""What stands around an Executable says of sizes, memory and reports what the Executable says."""

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import anyshape as ash
from anyshape.holders.passed_on import PassedOn

PASSED_ON = [name for name in vars(PassedOn) if name[0] != "_" and name != "executable"]


class Pooled(torch.nn.Module):
    """Each sequence's mean; a padded model that is ragged, too."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(9, 4)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        weights = attention_mask.unsqueeze(-1).float()
        return (self.words(input_ids) * weights).sum(1) / weights.sum(1).clamp(min=1)


def compiled(**keywords: Any) -> Any:
    ids = torch.ones(2, 3, dtype=torch.long)
    names = ("batch", "seq")
    axes = {"input_ids": names, "attention_mask": names}
    return ash.compile(Pooled(), (ids, ids), axes=axes, **keywords)


@pytest.fixture(scope="module")
def holders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PassedOn]:
    folder: Path = tmp_path_factory.mktemp("saved")
    made = {"model": compiled(), "ragged": compiled(ragged="seq"), "graph": compiled().executable}
    for name, each in made.items():
        each.save(folder / name)
    loaded = {f"loaded {name}": ash.load(folder / name) for name in made}
    return {"model": made["model"], "ragged": made["ragged"], **loaded}


EVERY = ["model", "ragged", "loaded model", "loaded ragged", "loaded graph"]


def test_every_class_of_the_public_ones_shares_it() -> None:
    classes = [each for name in ash.__all__ if inspect.isclass(each := getattr(ash, name))]
    sharing = {each.__name__ for each in classes if issubclass(each, PassedOn)}
    models, files = ["CompiledModule", "RaggedModule"], ["Executable", "Model", "RaggedModel"]
    assert sharing == {*models, *(f"Loaded{name}" for name in files)}


@pytest.mark.parametrize("name", PASSED_ON)
def test_it_is_written_as_an_executable_has_it(name: str) -> None:
    ours, its = vars(PassedOn)[name], inspect.getattr_static(ash.Executable, name)
    assert type(ours) is type(its)
    assert inspect.getdoc(ours)
    if inspect.isfunction(ours):
        assert inspect.signature(ours) == inspect.signature(its)


@pytest.mark.parametrize("name", EVERY)
def test_it_says_what_the_executable_says(holders: dict[str, PassedOn], name: str) -> None:
    holder = holders[name]
    executable = holder.executable
    assert isinstance(executable, ash.Executable)
    sizes = {axis.name: 3 for axis in holder.axes}
    assert holder.axes == executable.axes
    assert holder.specialize(**sizes).as_text() == executable.specialize(**sizes).as_text()
    assert len(holder.pre_specialize([sizes, sizes])) == 2
    assert len(holder.pre_specialize([sizes], background=True).wait(60)) == 1
    assert holder.estimate(**sizes) == executable.estimate(**sizes)
    assert holder.observed() == executable.observed()
    assert holder.capabilities == executable.capabilities
    assert [each.as_text() for each in holder.kernels] == [k.as_text() for k in executable.kernels]
    assert str(holder.strategies()) == str(executable.strategies())
    assert holder.as_text() == executable.as_text()
    assert str(holder.explain(**sizes)) == str(executable.explain(**sizes))
    assert holder.metrics() == executable.metrics()
    assert holder.memory() == executable.memory()


@pytest.mark.parametrize("name", EVERY)
def test_it_does_what_the_executable_does(
    holders: dict[str, PassedOn], name: str, tmp_path: Path
) -> None:
    holder = holders[name]
    first, *others = (axis.name for axis in holder.axes)
    sizes = dict.fromkeys(others, 3)
    largest = holder.largest(first, memory="1 MB", **sizes)
    assert largest == holder.executable.largest(first, memory="1 MB", **sizes) > 3
    holder.reserve(**{first: 64}, **sizes)
    assert holder.memory().specializations > 0
    holder.trim()
    assert holder.memory().specializations == holder.memory().idle_arenas == 0
    holder.explain_html(tmp_path / "page.html", [{first: 2, **sizes}], assembly=False)
    assert "<html" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("name", EVERY)
def test_calls_are_counted(holders: dict[str, PassedOn], name: str) -> None:
    holder: Any = holders[name]
    holder.profile_calls()
    ids = np.ones((2, 3), np.int64)
    if name.endswith("ragged"):
        holder(input_ids=[ids[0], ids[1]])
    else:
        holder(ids, ids)
    holder.profile_calls(on=False)
    assert holder.profile().calls == 1
    assert holder.profile() == holder.executable.profile()
