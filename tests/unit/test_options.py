"""Options from environment variables."""

import os
from pathlib import Path
from typing import Any

import pytest

from anyshape.base.errors import OptionError
from anyshape.base.options import Options, byte_count, options_from_environment


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HOME": "/home/me"}, Path("/home/me/.cache/anyshape")),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/c"}, Path("/c/anyshape")),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "relative"}, Path("/home/me/.cache/anyshape")),
        ({"HOME": "/home/me", "ANYSHAPE_CACHE_DIR": "/k"}, Path("/k")),
        ({"ANYSHAPE_CACHE_DIR": "k"}, Path.cwd() / "k"),
        ({"HOME": "/home/me", "ANYSHAPE_CACHE_DIR": "off"}, None),
        ({"HOME": "/home/me", "ANYSHAPE_CACHE_DIR": ""}, Path("/home/me/.cache/anyshape")),
        ({}, None),
    ],
)
def test_cache_dir(environment: dict[str, str], folder: Path | None):
    assert options_from_environment(environment).cache_dir == folder


def test_defaults_and_values():
    assert options_from_environment({}) == Options()
    values = {"ANYSHAPE_CACHE_BYTES": "1000", "ANYSHAPE_PERF_MAP": "1"}
    assert options_from_environment(values) == Options(cache_bytes=1000, perf_map=True)
    assert options_from_environment({"ANYSHAPE_PERF_MAP": "0"}) == Options()
    assert options_from_environment({"ANYSHAPE_CALIBRATE": "0"}) == Options(calibrate=False)
    assert options_from_environment({"ANYSHAPE_CALIBRATE": "1"}) == Options()
    assert options_from_environment({"ANYSHAPE_THREADS": "3"}) == Options(threads=3)
    assert options_from_environment({"ANYSHAPE_COMPILE_JOBS": "2"}) == Options(compile_jobs=2)
    without = options_from_environment({"ANYSHAPE_WITHOUT": "fuse, narrowing"})
    assert without == Options(without=("fuse", "narrowing"))
    assert options_from_environment({"ANYSHAPE_ISA": "sse2"}) == Options(isa="sse2")
    assert options_from_environment({"ANYSHAPE_AFFINITY": "none"}) == Options()
    assert options_from_environment({"ANYSHAPE_MEMORY_LIMIT": "none"}) == Options()
    for text in ("2 GiB", str(2**31)):
        found = options_from_environment({"ANYSHAPE_MEMORY_LIMIT": text})
        assert found == Options(memory_limit=2**31)


def test_lists_of_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)  # pyright: ignore[reportUnknownLambdaType,reportUnknownArgumentType]
    assert options_from_environment({"ANYSHAPE_AFFINITY": "5, 0,2-3"}).affinity == (5, 0, 2, 3)
    assert Options(affinity=[5, 0]) == Options(affinity=(5, 0))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0;1", "a list of CPUs as in 0,2-3, or none"),
        ("0,,1", "a list of CPUs as in 0,2-3, or none"),
        ("3-2", "a list of CPUs as in 0,2-3, or none"),
        ("0-99999999999", "a list of CPUs as in 0,2-3, or none"),
        ("0,0-1", "a list that has each CPU once"),
        ("1,9", "of CPUs that this process may use: 0, 1"),
    ],
)
def test_lists_of_no_cpus(text: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)  # pyright: ignore[reportUnknownLambdaType,reportUnknownArgumentType]
    with pytest.raises(OptionError) as caught:
        options_from_environment({"ANYSHAPE_AFFINITY": text})
    assert (caught.value.option, caught.value.value) == ("ANYSHAPE_AFFINITY", text)
    assert caught.value.expected == expected


@pytest.mark.parametrize("cpus", ["0", 0, (0.5,), (-1,), (True,), {0}])
def test_affinity_is_a_list_of_cpus(cpus: Any) -> None:
    with pytest.raises(OptionError, match=r"affinity=.* is not a tuple of CPUs"):
        Options(affinity=cpus)


def test_affinity_where_threads_have_no_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert Options().affinity == ()
    with pytest.raises(OptionError, match="left out: this system puts no thread on a CPU"):
        Options(affinity=(0,))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ANYSHAPE_CACHE_BYTES", "1G", "ANYSHAPE_CACHE_BYTES='1G' is not a number of bytes"),
        ("ANYSHAPE_CACHE_BYTES", "-1", "ANYSHAPE_CACHE_BYTES='-1' is not a number of bytes"),
        ("ANYSHAPE_THREADS", "-2", "ANYSHAPE_THREADS='-2' is not a number of threads"),
        (
            "ANYSHAPE_COMPILE_JOBS",
            "all",
            "ANYSHAPE_COMPILE_JOBS='all' is not a number of processes",
        ),
        (
            "ANYSHAPE_ISA",
            "AVX2",
            "ANYSHAPE_ISA='AVX2' is not one of avx512, avx2, sse2, neon, scalar",
        ),
        (
            "ANYSHAPE_MEMORY_LIMIT",
            "much",
            "ANYSHAPE_MEMORY_LIMIT='much' is not a number of bytes",
        ),
        ("ANYSHAPE_PERF_MAP", "yes", "ANYSHAPE_PERF_MAP='yes' is not 0 or 1"),
    ],
)
def test_values_that_cannot_be_understood(name: str, value: str, message: str):
    with pytest.raises(OptionError) as caught:
        options_from_environment({name: value})
    expected = message.partition(" is not ")[2]
    assert str(caught.value) == f"{message}\nfix: set {name} to {expected}, or unset it"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1GB", 10**9),
        ("1 GiB", 2**30),
        ("1.5 MB", 1_500_000),
        ("512KiB", 512 * 1024),
        ("2 kB", 2000),
        (" 3TB ", 3 * 10**12),
        (4096, 4096),
    ],
)
def test_bytes_with_a_unit(text: Any, wanted: int) -> None:
    assert byte_count("memory_limit", text) == wanted
