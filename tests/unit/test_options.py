"""Options from environment variables."""

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
