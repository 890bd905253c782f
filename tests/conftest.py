"""What holds for all tests: nothing is measured, so that every choice is the same on every run;
whoever compiles does so alone, because the CPUs are busy with other tests, and so do torch and
NumPy, whose threads would wait for each other by spinning; and compiled kernels are kept in a
folder of this run, so that no run depends on what another one left."""

import gc
import os
import shutil
import tempfile

import pytest
from tests import thinned

os.environ["ANYSHAPE_CALIBRATE"] = "0"
os.environ["ANYSHAPE_COMPILE_JOBS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"  # before anything imports NumPy; OpenBLAS reads it too

GARBAGE = 10_000
"""Objects that are made, and not freed, before a collection; Python's own figure is 700."""

_OWN_CACHE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """The processes that share a run inherit its folder, and which part of the tests it is."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword:
        os.environ.setdefault(thinned.VARIABLE, thinned.SOME)
    if "ANYSHAPE_CACHE_DIR" not in os.environ:
        config.stash[_OWN_CACHE] = tempfile.mkdtemp(prefix="anyshape-tests-")
        os.environ["ANYSHAPE_CACHE_DIR"] = config.stash[_OWN_CACHE]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Whoever names tests on the command line gets every case of them."""
    if thinned.leaves_out():
        chosen = list(thinned.kept(items, lambda item: item.nodeid))
        config.hook.pytest_deselected(items=list(set(items).difference(chosen)))
        items[:] = chosen


def pytest_collection_finish() -> None:
    """The garbage collector leaves alone what is there for the whole run: 30,000 tests, torch and
    transformers. To look through it again and again took a quarter of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE)


def pytest_unconfigure(config: pytest.Config) -> None:
    if folder := config.stash.get(_OWN_CACHE, None):
        shutil.rmtree(folder, ignore_errors=True)
