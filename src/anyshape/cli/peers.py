"""Other engines that `bench` compares with: each reads the same file and gets the same arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from anyshape.base.errors import OptionError
from anyshape.cli.measure import Call

Make = Callable[[str, Sequence[str], int], Call]
"""The path of a model, the names of its inputs, and the most threads; 0: all."""


def peer(name: str, path: str, inputs: Sequence[str], threads: int) -> Call:
    """A call of another engine; whatever it raises says why it is left out."""
    if name not in PEERS:
        raise OptionError("against", name, f"one of {', '.join(PEERS)}")
    return PEERS[name](path, inputs, threads)


def _onnxruntime(path: str, inputs: Sequence[str], threads: int) -> Call:
    _require(path, ".onnx")
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda arrays: session.run(None, dict(zip(inputs, arrays, strict=True)))


def _openvino(path: str, inputs: Sequence[str], threads: int) -> Call:
    _require(path, ".onnx")
    openvino: Any = import_module("openvino")
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    chosen = {**settings, "INFERENCE_NUM_THREADS": threads} if threads else settings
    compiled = openvino.Core().compile_model(path, "CPU", chosen)
    request = compiled.create_infer_request()
    return lambda arrays: request.infer(dict(zip(inputs, arrays, strict=True)))


def _torch(path: str, inputs: Sequence[str], threads: int) -> Call:
    """Only what was trusted gets here: the model itself was read before."""
    _require(path, ".pt2")
    torch: Any = import_module("torch")
    if threads:
        torch.set_num_threads(threads)
    module = torch.export.load(path).module()

    def call(arrays: Sequence[Any]) -> Any:
        with torch.inference_mode():
            return module(*map(torch.from_numpy, arrays))

    return call


def _require(path: str, suffix: str) -> None:
    if Path(path).suffix != suffix:
        raise OptionError("MODEL", path, f"an {suffix} file, which is what this engine reads")


PEERS: Final[Mapping[str, Make]] = {
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
    "torch": _torch,
}
