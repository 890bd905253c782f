"""anyshape and its peers behind one interface, each set up the way its own guide recommends.

An engine is imported only where it is used: by the process that runs it. Calls take and give what
the engine's users have in hand: NumPy arrays, or torch's tensors for torch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from benchmarks.harness.model import Array, FileModel, Model, TorchModel, WrittenModel

# ruff: noqa: PLC0415 - see above

EngineName: TypeAlias = Literal[
    "anyshape", "numpy", "torch", "torch.compile", "onnxruntime", "openvino", "copy", "read"
]
Call: TypeAlias = Callable[[], Any]


def library(name: str) -> Any:
    """A package that is needed by one engine only; most of them have no types."""
    return import_module(name)


class Engine(ABC):
    """One model, built for all bindings."""

    @abstractmethod
    def call(self, inputs: Sequence[Array]) -> Call:
        """A call on these inputs, with all that users prepare once done."""

    @abstractmethod
    def arrays(self, result: Any) -> tuple[Array, ...]:
        """What a call returned, as NumPy arrays."""

    def trim(self) -> None:
        """Gives idle memory back, where the engine has a way to."""
        return


def traced(model: Model) -> Any:
    """The model as a graph of anyshape, with its weights as constants."""
    if isinstance(model, TorchModel):
        from benchmarks.harness.module_engines import captured

        return captured(model).program.graph
    assert isinstance(model, WrittenModel), model
    return _traced(model)


def _traced(model: WrittenModel) -> Any:
    import anyshape as ash

    weights = model.weights()

    def function(inputs: Any) -> Any:
        return model.anyshape(weights, *inputs.values())

    dtypes = {name: getattr(ash, model.dtypes.get(name, "f32")) for name in model.signature}
    types = {name: dtypes[name][shape] for name, shape in model.signature.items()}
    function.__annotations__ = {"inputs": types}
    return ash.jit(function).graph


def executable(model: Model, threads: int = 0) -> Any:
    """The model compiled by anyshape."""
    import anyshape as ash

    return ash.compile(traced(model), threads=threads)


class Anyshape(Engine):
    def __init__(self, model: WrittenModel, threads: int) -> None:
        self._executable = executable(model, threads)

    def call(self, inputs: Sequence[Array]) -> Call:
        executable, arrays = self._executable, tuple(inputs)
        return lambda: executable(*arrays)

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return tuple(result)

    def trim(self) -> None:
        self._executable.trim()


@runtime_checkable
class InNumpy(Protocol):
    """Models that NumPy can run with nothing but its own functions."""

    def numpy(self, weights: Mapping[str, Array], *inputs: Array) -> Array: ...


class Numpy(Engine):
    def __init__(self, model: WrittenModel, threads: int) -> None:
        if not isinstance(model, InNumpy):
            raise TypeError(f"{model} is not written for NumPy")
        self._model, self._weights = model, model.weights()

    def call(self, inputs: Sequence[Array]) -> Call:
        return lambda: self._model.numpy(self._weights, *inputs)

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return (result,)


class Torch(Engine):
    """Eager, in inference mode."""

    def __init__(self, model: WrittenModel, threads: int) -> None:
        torch = library("torch")
        torch.set_num_threads(threads)
        self._inference = torch.inference_mode
        self._tensor = torch.from_numpy
        self._weights = {name: _as_linear(torch, w) for name, w in model.weights().items()}
        self._model = model

    def function(self) -> Callable[..., Any]:
        model, weights = self._model, self._weights
        return lambda *tensors: model.torch(weights, *tensors)

    def call(self, inputs: Sequence[Array]) -> Call:
        function, tensors = self.function(), [self._tensor(array) for array in inputs]
        return self._inference()(lambda: function(*tensors))

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return (result.numpy(),)


def _as_linear(torch: Any, weight: Array) -> Any:
    """Matrices as `torch.nn.Linear` keeps them: [out, in]."""
    return torch.from_numpy(np.ascontiguousarray(weight.T))


class TorchCompile(Torch):
    """`torch.compile(dynamic=True)`."""

    def __init__(self, model: WrittenModel, threads: int) -> None:
        super().__init__(model, threads)
        self._compiled = library("torch").compile(super().function(), dynamic=True)

    def function(self) -> Callable[..., Any]:
        return self._compiled


def onnxruntime_session(model: bytes, threads: int) -> Any:
    """All optimizations, which is the default, and a pool of so many threads."""
    onnxruntime = library("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class OnnxRuntime(Engine):
    def __init__(self, model: WrittenModel, threads: int) -> None:
        from benchmarks.harness.onnx_model import onnx_bytes

        self._session = onnxruntime_session(onnx_bytes(model), threads)
        self._names = list(model.signature)

    def call(self, inputs: Sequence[Array]) -> Call:
        run, feeds = self._session.run, dict(zip(self._names, inputs, strict=True))
        return lambda: run(None, feeds)

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return tuple(result)


def openvino_compiled(model: Any, threads: int) -> Any:
    """For single calls, in the precision that everybody has."""
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    return library("openvino").Core().compile_model(model, "CPU", settings)


class OpenVino(Engine):
    """Inputs and results are shared, not copied; results are valid until the next call."""

    def __init__(self, model: WrittenModel, threads: int) -> None:
        from benchmarks.harness.onnx_model import onnx_bytes

        read = library("openvino").Core().read_model(onnx_bytes(model))
        self._request = openvino_compiled(read, threads).create_infer_request()

    def call(self, inputs: Sequence[Array]) -> Call:
        infer, feeds = self._request.infer, dict(enumerate(inputs))
        return lambda: infer(feeds, share_inputs=True, share_outputs=True)

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return tuple(np.array(value) for value in result.values())


WRITTEN: Mapping[EngineName, Callable[[WrittenModel, int], Engine]] = {
    "anyshape": Anyshape,
    "numpy": Numpy,
    "torch": Torch,
    "torch.compile": TorchCompile,
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
}


def build(name: EngineName, model: Model, threads: int) -> Engine:
    """An engine with a model, on so many threads."""
    if name in ("copy", "read"):
        from benchmarks.harness.streaming import STREAMS

        return STREAMS[name](model, threads)
    if isinstance(model, TorchModel):
        from benchmarks.harness.module_engines import MODULES

        if name not in MODULES:
            raise TypeError(f"{model} is not written for {name}")
        return MODULES[name](model, threads)
    if isinstance(model, FileModel):
        from benchmarks.harness.file_engines import FILES

        if name not in FILES:
            raise TypeError(f"{model} is no model of {name}")
        return FILES[name](model, threads)
    assert isinstance(model, WrittenModel), model
    return WRITTEN[name](model, threads)


def computes(name: EngineName) -> bool:
    """Whether its results are the model's; the speed of memory is measured on inputs alone."""
    return name not in ("copy", "read")
