"""anyshape behind `onnx.backend.base`: ONNX's own runner runs its tests against it."""

from __future__ import annotations

import unittest
import warnings
from typing import Any

import numpy as np
import pytest
from onnx.backend.base import Backend
from onnx.backend.test import BackendTest
from tests.unit.frontend.onnx.models import add_model

import anyshape as ash
import anyshape.session.onnx_backend as backend


def reference() -> Any:
    options = ash.SessionOptions()
    options.add_session_config_entry("anyshape.executor", "reference")
    return options


class Interpreted(backend.AnyshapeBackend):
    """Without compiling: what is tested is the interface."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> backend.PreparedModel:
        return super().prepare(model, device, sess_options=reference())


def test_onnx_runs_its_own_tests() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, about what the tests compute
        runner = BackendTest(Interpreted, __name__)
    for name in ("add", "concat_2d_axis_0", "sequence_insert_at_back", "identity_opt"):
        runner.include(f"^test_{name}_cpu$")
    suite = unittest.TestSuite()
    for case in runner.test_cases.values():
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    result = unittest.TestResult()
    suite.run(result)
    assert (result.errors, result.failures) == ([], [])
    assert result.testsRun - len(result.skipped) == 4


def test_inputs_in_order_or_by_name() -> None:
    prepared = backend.prepare(add_model(["n"], ["n"]), sess_options=reference())
    x, y = (np.arange(3, dtype=np.float32) + n for n in (0, 1))
    (name,) = [each.name for each in prepared.session.get_outputs()]
    names = [each.name for each in prepared.session.get_inputs()]
    for inputs in ([x, y], dict(zip(names, (x, y), strict=True))):
        np.testing.assert_array_equal(getattr(prepared.run(inputs), name), x + y)
    assert issubclass(backend.AnyshapeBackend, Backend)


def test_devices() -> None:
    assert backend.supports_device("CPU:0")
    assert not backend.supports_device("CUDA")
    with pytest.raises(ValueError, match="no device 'CUDA'"):
        backend.prepare(add_model(["n"], ["n"]), "CUDA")
