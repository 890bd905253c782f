"""The tests of `onnx.backend.test`, their inputs and outputs as arrays: those of nodes, which are
made in this process, simple models, and what PyTorch's first exporter wrote."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper

Array = Any

GROUPS = ("node", "simple", "pytorch-converted", "pytorch-operator")


@dataclass(frozen=True)
class NodeCase:
    """One test: a model, and inputs by name with the outputs that they give."""

    name: str
    model: Any
    data: tuple[tuple[dict[str, Array], list[Array]], ...]
    rtol: float
    atol: float

    @property
    def group(self) -> str:
        """Names of tests that are not of nodes begin with it."""
        return self.name.rpartition("/")[0] or "node"

    @property
    def op(self) -> str:
        """Of the first node: mostly the one that the test is about. Of the others, the group."""
        if self.group != "node":
            return f"({self.group})"
        node = self.model.graph.node[0]
        return f"{node.domain}::{node.op_type}" if node.domain else node.op_type


@cache
def cases() -> dict[str, NodeCase]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, about what the tests compute
        from onnx.backend.test.case.model import collect_testcases as models
        from onnx.backend.test.case.node import collect_testcases as nodes
        from onnx.backend.test.loader import load_model_tests

        made = [_case(each.name, each, each.model, each.data_sets) for each in nodes(None)]
        made += [
            _case(f"simple/{each.name}", each, each.model, each.data_sets)
            for each in models()
            if each.kind == "simple"
        ]
        made += [
            _case(f"{group}/{each.name}", each, *_stored(Path(each.model_dir)))
            for group in GROUPS[2:]
            for each in load_model_tests(kind=group)
        ]
    return {each.name: each for each in made}


def _case(name: str, test: Any, model: Any, sets: Any) -> NodeCase:
    constants = {each.name for each in model.graph.initializer}
    names = [each.name for each in model.graph.input if each.name not in constants]
    data = tuple(
        (dict(zip(names, map(_array, inputs), strict=False)), [_array(each) for each in outputs])
        for inputs, outputs in sets
    )
    return NodeCase(name, model, data, test.rtol, test.atol)


def _stored(folder: Path) -> tuple[Any, list[Any]]:
    """A model in a folder, and the data beside it."""
    sets = [
        [[_tensor(path) for path in _numbered(each, kind)] for kind in ("input", "output")]
        for each in sorted(folder.glob("test_data_set_*"))
    ]
    return onnx.load(folder / "model.onnx"), sets


def _numbered(folder: Path, kind: str) -> list[Path]:
    return [folder / f"{kind}_{n}.pb" for n in range(len(list(folder.glob(f"{kind}_*.pb"))))]


def _tensor(path: Path) -> Any:
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor


def _array(value: Any) -> Any:
    """An array, a list of them, or None."""
    if isinstance(value, onnx.SequenceProto):
        return [_array(each) for each in numpy_helper.to_list(value)]
    if isinstance(value, onnx.OptionalProto):
        return numpy_helper.to_optional(value)
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
