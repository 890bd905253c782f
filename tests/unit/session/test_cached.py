"""Compiled models in the cache: found only for what they were compiled from, checked, bounded."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.external_data_helper import convert_model_to_external_data
from tests.unit.frontend.onnx.models import model, node, tensor, value

import anyshape as ash
from anyshape.base.options import Options
from anyshape.base.warnings import SplitAxesWarning
from anyshape.session import errors, key
from anyshape.session.cache import SessionCache, session_cache
from anyshape.session.cached import LoadedPrograms
from anyshape.session.programs import OnnxPrograms

Array = Any


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANYSHAPE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / f"sessions-{os.geteuid()}"


def dense(weight: Array, **named: Any) -> Any:
    """x @ w + b, of which a call may give the second."""
    nodes = [node("MatMul", "xw", "p"), node("Add", "pb", "y")]
    inputs = [value("x", ["n", weight.shape[0]]), value("b", [weight.shape[1]])]
    initializers = [tensor("w", weight), tensor("b", np.ones(weight.shape[1], np.float32))]
    return model(nodes, inputs, [value("y", ["n", None])], initializers, **named)


def weight(rows: int = 5, columns: int = 40, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


def is_loaded(session: ash.InferenceSession) -> bool:
    programs = session._programs
    assert isinstance(programs, (LoadedPrograms, OnnxPrograms))
    return isinstance(programs, LoadedPrograms)


def check(session: ash.InferenceSession, w: Array) -> None:
    for rows in (0, 1, 7, 33):
        x = np.random.default_rng(rows).standard_normal((rows, w.shape[0])).astype(np.float32)
        (y,) = session.run(None, {"x": x})
        assert y.dtype == np.float32
        np.testing.assert_allclose(y, x @ w + 1, rtol=1e-5, atol=1e-4)


def test_a_model_that_was_compiled_is_loaded() -> None:
    w = weight()
    content = dense(w, producer_name="tests").SerializeToString()
    first, second = (ash.InferenceSession(content) for _ in range(2))
    assert [is_loaded(first), is_loaded(second)] == [False, True]
    check(second, w)
    for ask in ("get_inputs", "get_outputs", "get_overridable_initializers", "get_modelmeta"):
        assert getattr(first, ask)() == getattr(second, ask)()
    assert second.get_modelmeta().producer_name == "tests"
    with pytest.raises(errors.InvalidArgument, match="Invalid rank for input: x Got: 1"):
        second.run(None, {"x": np.zeros(5, np.float32)})


def test_a_loaded_model_takes_run_options_and_initializers() -> None:
    w = weight()
    content = dense(w).SerializeToString()
    ash.InferenceSession(content)
    session = ash.InferenceSession(content)
    assert is_loaded(session)
    x, b = np.ones((3, 5), np.float32), np.full(40, 4, np.float32)
    (y,) = session.run(["y"], {"x": x}, ash.RunOptions())
    np.testing.assert_allclose(y, x @ w + 1, rtol=1e-5)
    (y,) = session.run(None, {"x": x, "b": b})
    np.testing.assert_allclose(y, x @ w + 4, rtol=1e-5)


@pytest.mark.parametrize("what", ["content", "name", "dimension", "names", "strict", "threads"])
def test_what_determines_a_program_is_in_its_key(what: str, tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    path.write_bytes(dense(weight()).SerializeToString())
    ash.InferenceSession(path)
    options, other = ash.SessionOptions(), path
    match what:
        case "content":
            path.write_bytes(dense(weight(seed=1)).SerializeToString())
        case "name":
            other = path.rename(tmp_path / "b.onnx")
        case "dimension":
            options.add_free_dimension_override_by_name("n", 4)
        case "names":
            options.add_session_config_entry("anyshape.strict_names", "1")
        case "strict":
            options.add_session_config_entry("anyshape.strict", "1")
        case _:
            options.intra_op_num_threads = 1
    assert not is_loaded(ash.InferenceSession(other, options))
    assert is_loaded(ash.InferenceSession(other, options))


def test_other_sources_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    content = dense(weight()).SerializeToString()
    ash.InferenceSession(content)
    monkeypatch.setattr(key, "sources_identity", lambda: "others")
    assert not is_loaded(ash.InferenceSession(content))


def test_what_changing_sources_compile_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr("anyshape.session.cached.sources_changed", lambda: True)
    ash.InferenceSession(dense(weight()).SerializeToString())
    assert not folder.exists()


def test_data_beside_the_model_is_compared(tmp_path: Path) -> None:
    path, w = tmp_path / "model.onnx", weight(50, 60)
    made = dense(w)
    convert_model_to_external_data(made, location="data.bin", size_threshold=1024)
    onnx.save(made, path)
    assert [is_loaded(ash.InferenceSession(path)) for _ in range(2)] == [False, True]
    (tmp_path / "data.bin").write_bytes((2 * w).tobytes() + b"\0" * 4096)
    changed = ash.InferenceSession(path)
    assert not is_loaded(changed)
    check(changed, 2 * w)
    again = ash.InferenceSession(path)
    assert is_loaded(again)
    check(again, 2 * w)
    (tmp_path / "data.bin").unlink()
    with pytest.raises(errors.InvalidGraph, match=r"external data at 'data\.bin'"):
        ash.InferenceSession(path)


def test_every_damaged_byte_is_found(folder: Path) -> None:
    w = weight()
    content = dense(w).SerializeToString()
    ash.InferenceSession(content)
    (entry,) = folder.iterdir()
    whole = entry.read_bytes()
    rng = np.random.default_rng(0)
    places = {0, 9, 20, 40, 70, len(whole) // 2, *map(int, rng.integers(0, len(whole), 12))}
    for place in sorted(places):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        entry.write_bytes(damaged)
        session = ash.InferenceSession(content)
        check(session, w)
        if is_loaded(session):  # what lies between the parts of a file, and nobody reads
            assert whole[place] == 0, f"byte {place} was not looked at"
        assert entry.read_bytes() == (bytes(damaged) if is_loaded(session) else whole)
    entry.write_bytes(whole[: len(whole) // 3])
    assert not is_loaded(ash.InferenceSession(content))


def test_an_entry_under_another_name_is_not_used(folder: Path) -> None:
    first, second = (dense(weight(seed=seed)).SerializeToString() for seed in range(2))
    ash.InferenceSession(first)
    (entry,) = folder.iterdir()
    stored = entry.read_bytes()
    ash.InferenceSession(second)
    (other,) = set(folder.iterdir()) - {entry}
    other.write_bytes(stored)
    session = ash.InferenceSession(second)
    assert not is_loaded(session)
    check(session, weight(seed=1))


def test_a_folder_that_others_may_write_is_not_used(folder: Path) -> None:
    content = dense(weight()).SerializeToString()
    ash.InferenceSession(content)
    folder.chmod(0o777)
    assert not is_loaded(ash.InferenceSession(content))
    folder.chmod(0o700)
    assert is_loaded(ash.InferenceSession(content))


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    content = dense(weight()).SerializeToString()
    options = ash.SessionOptions()
    options.add_session_config_entry("anyshape.session_cache", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is an entry that has a meaning
        ash.InferenceSession(content, options)
    monkeypatch.setenv("ANYSHAPE_SESSION_CACHE_BYTES", "0")
    ash.InferenceSession(content)
    ash.InferenceSession(dense(weight()))  # an object that may change
    assert not folder.exists()
    assert session_cache(Options(cache_dir=folder, debug=1)) is None
    assert session_cache(Options()) is None


def test_the_folder_is_bounded(tmp_path: Path) -> None:
    cache = SessionCache(tmp_path / "bounded", 1000)
    cache.store("large", [bytes(251)])
    assert not (tmp_path / "bounded").exists()
    for number in range(6):
        cache.store(f"{number}", [bytes(120), bytes(130)])
        os.utime(tmp_path / "bounded" / f"{number}.model", (number, number))
    kept = sorted(each.name for each in (tmp_path / "bounded").iterdir())
    assert kept == [f"{number}.model" for number in range(2, 6)]


def test_names_that_are_contradicted_are_told_again() -> None:
    """n is n + 1 too."""
    nodes = [node("Concat", ["x", "x1"], ["wide"], axis=1), node("MatMul", ["wide", "y"], ["z"])]
    inputs = [value("x", ["b", "n"]), value("x1", ["b", 1]), value("y", ["n", "m"])]
    content = model(nodes, inputs, [value("z", None)]).SerializeToString()
    for _ in range(2):
        with pytest.warns(SplitAxesWarning) as told:
            session = ash.InferenceSession(content)
        (warning,) = told
        assert warning.filename == __file__
        assert isinstance(warning.message, SplitAxesWarning)
        assert warning.message.names == ("n",)
    assert is_loaded(session)
    x, y = np.ones((3, 4), np.float32), np.full((5, 2), 2, np.float32)
    (z,) = session.run(None, {"x": x, "x1": x[:, :1], "y": y})
    np.testing.assert_array_equal(z, np.full((3, 2), 10, np.float32))


def test_a_file_that_changes_later_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(dense(weight()).SerializeToString())
    ash.InferenceSession(path)
    session = ash.InferenceSession(path)
    path.write_bytes(dense(weight(seed=1)).SerializeToString())
    check(session, weight())
    feeds = {"x": np.ones((1, 5), np.float32), "b": np.ones(40, np.float32)}
    with pytest.raises(errors.InvalidGraph, match="has changed since the session was made"):
        session.run(None, feeds)


PROBE = """
import sys
import numpy as np
import anyshape as ash
session = ash.InferenceSession(sys.argv[1])
session.run(None, {"x": np.ones((2, 5), np.float32)})
print(*(name for name in ("onnx", "llvmlite", "torch", "anyshape.passes") if name in sys.modules))
"""


def test_a_loaded_session_imports_neither_onnx_nor_what_compiles(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(dense(weight()).SerializeToString())
    ash.InferenceSession(path)
    done = subprocess.run(
        [sys.executable, "-c", PROBE, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
