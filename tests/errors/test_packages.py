"""A package that is not installed is named, with what installs it."""

import subprocess
import sys
from pathlib import Path

import pytest

from anyshape.base.errors import AnyshapeError, MissingPackageError
from anyshape.base.packages import require_package

MESSAGE = (
    "ONNX models need the package 'onnx', which is not installed\nfix: pip install 'onnx>=1.17'"
)


def test_what_is_installed_is_enough() -> None:
    require_package("numpy", "arrays", "numpy")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(MissingPackageError) as raised:
        require_package("no_such_package", "plans", "no-such-package>=2")
    assert raised.value.package == "no_such_package"
    assert isinstance(raised.value, ImportError)
    assert isinstance(raised.value, AnyshapeError)
    assert str(raised.value).startswith("plans need the package 'no_such_package', which is not ")


@pytest.mark.parametrize("used", ["ash.InferenceSession(path)", "ash.compile(path)"])
def test_models_of_onnx_without_onnx(used: str, tmp_path: Path) -> None:
    """In a process whose `onnx` is a folder without a module, as beside somebody's models."""
    (tmp_path / "onnx").mkdir()
    (tmp_path / "model.onnx").write_bytes(b"\x08\x08")
    code = (
        "import sys, importlib.machinery as m\n"
        "find = m.PathFinder.find_spec\n"
        "def only_here(name, path=None, target=None):\n"
        f"    paths = [{str(tmp_path)!r}] if name == 'onnx' else path\n"
        "    return find(name, paths, target)\n"
        "m.PathFinder.find_spec = staticmethod(only_here)\n"
        f"import anyshape as ash\npath = {str(tmp_path / 'model.onnx')!r}\n"
        f"try:\n    {used}\nexcept ImportError as error:\n    print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == MESSAGE, ran.stderr
