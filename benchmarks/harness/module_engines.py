"""Modules of torch in every engine: captured by each in the way its own guide recommends.

Results of one call may be arguments of the next, so engines run on values of their own: arrays,
tensors, or whatever stays where it is from call to call.
"""

from __future__ import annotations

import io
import logging
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from benchmarks.harness.engines import (
    Call,
    Engine,
    EngineName,
    library,
    onnxruntime_session,
    openvino_compiled,
)
from benchmarks.harness.model import Array, TorchModel

# ruff: noqa: PLC0415 - an engine's library is imported by its own process only

ONNX_OPSET = 18


def _tensors(arrays: Sequence[Array]) -> list[Any]:
    return [library("torch").from_numpy(array) for array in arrays]


def example(model: TorchModel) -> tuple[Any, ...]:
    """Arguments to capture the module at."""
    return model.arguments(_tensors(model.inputs(model.example)))


def _flat(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


class ModuleEngine(Engine):
    """One module, captured for all bindings."""

    def __init__(self, model: TorchModel) -> None:
        self._model = model

    def values(self, inputs: Sequence[Array]) -> Sequence[Any]:
        """Arrays as this engine takes them."""
        return tuple(inputs)

    @abstractmethod
    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        """One run of the module, from values to values."""

    def call(self, inputs: Sequence[Array]) -> Call:
        perform, run, values = self._model.perform, self.run, self.values(inputs)
        return lambda: perform(run, values)

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return tuple(result)


def captured(model: TorchModel) -> Any:
    """As `anyshape.compile` captures it, before anything is compiled."""
    from anyshape.api.torch_compile import captured_model

    return captured_model(model.module(), example(model), {}, model.signature, None, {})


class Anyshape(ModuleEngine):
    def __init__(self, model: TorchModel, threads: int) -> None:
        import anyshape as ash

        super().__init__(model)
        self._compiled = ash.compile(
            model.module(),
            example(model),
            axes=model.signature,
            threads=threads,
            donate=model.donated,
        )

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        return _flat(self._compiled(*self._model.arguments(values)))

    def trim(self) -> None:
        self._compiled.trim()


class Torch(ModuleEngine):
    """Eager, in inference mode."""

    def __init__(self, model: TorchModel, threads: int) -> None:
        super().__init__(model)
        torch = library("torch")
        torch.set_num_threads(threads)
        self._inference = torch.inference_mode
        self._function: Callable[..., Any] = model.module()

    def values(self, inputs: Sequence[Array]) -> Sequence[Any]:
        return _tensors(inputs)

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        return _flat(self._function(*self._model.arguments(values)))

    def call(self, inputs: Sequence[Array]) -> Call:
        return self._inference()(super().call(inputs))

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return tuple(tensor.numpy() for tensor in result)


class TorchCompile(Torch):
    """`torch.compile(dynamic=True)`."""

    def __init__(self, model: TorchModel, threads: int) -> None:
        super().__init__(model, threads)
        self._function = library("torch").compile(self._function, dynamic=True)


def exported_onnx(model: TorchModel) -> bytes:
    """By torch's own exporter, with all axes dynamic."""
    torch = library("torch")
    buffer = io.BytesIO()
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        program = torch.onnx.export(
            model.module(),
            example(model),
            dynamo=True,
            dynamic_shapes=dynamic_shapes(model),
            opset_version=ONNX_OPSET,
            verbose=False,
        )
        program.save(buffer)
    return buffer.getvalue()


def dynamic_shapes(model: TorchModel) -> tuple[Any, ...]:
    """As torch.export takes them."""
    return tuple(_dynamic(axes) for axes in model.signature.values())


def _dynamic(axes: Any) -> Any:
    """The positions that have a name instead of a size."""
    if isinstance(axes, list):
        return [_dynamic(each) for each in axes]
    auto = library("torch").export.Dim.DYNAMIC
    return {n: auto for n, axis in enumerate(axes) if isinstance(axis, str)}


class OnnxRuntime(ModuleEngine):
    """Results stay values of onnxruntime, so that none is copied from call to call."""

    def __init__(self, model: TorchModel, threads: int) -> None:
        super().__init__(model)
        self._session = onnxruntime_session(exported_onnx(model), threads)
        self._names = [given.name for given in self._session.get_inputs()]
        self._results = [made.name for made in self._session.get_outputs()]

    def values(self, inputs: Sequence[Array]) -> Sequence[Any]:
        made: Callable[[Array], Any] = library("onnxruntime").OrtValue.ortvalue_from_numpy
        return [made(array) for array in inputs]

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        feeds = dict(zip(self._names, values, strict=True))
        return self._session.run_with_ort_values(self._results, feeds)

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return tuple(value.numpy() for value in result)


def _openvino_model(model: TorchModel) -> Any:
    """By its own converter, which makes the quicker model but takes no lists of tensors."""
    if any(isinstance(axes, list) for axes in model.signature.values()):
        return library("openvino").Core().read_model(exported_onnx(model))
    torch = library("torch")
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        arguments, shapes = example(model), dynamic_shapes(model)
        exported = torch.export.export(model.module(), arguments, dynamic_shapes=shapes)
        return library("openvino").convert_model(exported)


class OpenVino(ModuleEngine):
    """Two requests in turn: what one returned stays valid while the other reads it."""

    def __init__(self, model: TorchModel, threads: int) -> None:
        super().__init__(model)
        compiled = openvino_compiled(_openvino_model(model), threads)
        self._requests = [compiled.create_infer_request() for _ in range(2)]

    def run(self, values: Sequence[Any]) -> Sequence[Any]:
        self._requests.reverse()
        feeds = dict(enumerate(values))
        return list(self._requests[0].infer(feeds, share_inputs=True, share_outputs=True).values())

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return tuple(np.array(value) for value in result)


MODULES: Mapping[EngineName, Callable[[TorchModel, int], Engine]] = {
    "anyshape": Anyshape,
    "torch": Torch,
    "torch.compile": TorchCompile,
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
}
