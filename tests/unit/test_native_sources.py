"""Where C++ sources may look: `csrc/core` knows no Python, `csrc/bind` is built on top of it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src/anyshape/runtime/csrc"
INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"(?P<own>[^"]+)"|<(?P<system>[^>]+)>)', re.MULTILINE)
SOURCE = re.compile(r"\$\{csrc\}/([^\s)]+\.cpp)")
PYTHON = re.compile(r"^(Python\.h$|nanobind/|numpy/)")


def sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (".cpp", ".h"))


def included(path: Path) -> Iterator[tuple[str, bool]]:
    """Headers, and whether they are ours."""
    for match in INCLUDE.finditer(path.read_text()):
        yield match["own"] or match["system"], match["own"] is not None


def test_there_are_two_folders():
    assert {path.parent.name for path in sources(SOURCES)} == {"core", "bind"}


@pytest.mark.parametrize("folder", [SOURCES / "core", ROOT / "tests/native"])
def test_the_core_knows_no_python(folder: Path):
    for path in sources(folder):
        for header, is_ours in included(path):
            assert not PYTHON.match(header), f"{path.name} includes {header}"
            assert not is_ours or header.startswith("core/"), f"{path.name} includes {header}"


def test_own_headers_are_named_by_their_folder():
    for path in sources(SOURCES):
        for header, is_ours in included(path):
            assert not is_ours or (SOURCES / header).is_file(), f"{path.name} includes {header}"


@pytest.mark.parametrize(("folder", "target"), [("core", "anyshape_core"), ("bind", "_native")])
def test_every_source_is_built_with_its_own_folder(folder: str, target: str):
    build = (ROOT / "CMakeLists.txt").read_text()
    listed = re.search(rf"\(\s*{target}\s+[A-Z](.*?)\)", build, re.DOTALL)
    assert listed is not None
    listed_paths = re.findall(SOURCE, listed[1])
    assert listed_paths == sorted(listed_paths)
    added = re.findall(rf"target_sources\({target} PRIVATE (.*?)\)", build, re.DOTALL)
    built = sorted(listed_paths + [path for paths in added for path in re.findall(SOURCE, paths)])
    names = [path.name for path in sources(SOURCES / folder) if path.suffix == ".cpp"]
    assert built == [f"{folder}/{name}" for name in names]
