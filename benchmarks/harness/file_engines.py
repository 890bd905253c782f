"""Engines for ONNX files, each with a session of its own and NumPy arrays."""

from __future__ import annotations

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
from benchmarks.harness.model import Array, FileModel


class AnyshapeSession(Engine):
    """`anyshape.InferenceSession`."""

    def __init__(self, model: FileModel, threads: int) -> None:
        ash = library("anyshape")
        options = ash.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = ash.InferenceSession(str(model.path), options)
        self._names = model.names

    def call(self, inputs: Sequence[Array]) -> Call:
        run, feeds = self._session.run, dict(zip(self._names, inputs, strict=True))
        return lambda: run(None, feeds)

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return tuple(result)


class OnnxRuntimeSession(AnyshapeSession):
    """onnxruntime's session, which is called alike."""

    def __init__(self, model: FileModel, threads: int) -> None:
        self._session = onnxruntime_session(model.content(), threads)
        self._names = model.names


class OpenVinoRequest(Engine):
    """Inputs are shared; results are copied, as the others' are the caller's."""

    def __init__(self, model: FileModel, threads: int) -> None:
        self._request = openvino_compiled(str(model.path), threads).create_infer_request()

    def call(self, inputs: Sequence[Array]) -> Call:
        infer, feeds = self._request.infer, dict(enumerate(inputs))
        return lambda: infer(feeds, share_inputs=True, share_outputs=True)

    def arrays(self, result: Any) -> tuple[Array, ...]:
        return tuple(np.array(value) for value in result.values())


FILES: Mapping[EngineName, Callable[[FileModel, int], Engine]] = {
    "anyshape": AnyshapeSession,
    "onnxruntime": OnnxRuntimeSession,
    "openvino": OpenVinoRequest,
}


def session_seconds(model: FileModel, folder: str) -> float:
    """How long it takes to make a session, with a cache of kernels in a folder."""
    import os  # noqa: PLC0415  the environment is read when anyshape is imported
    import time  # noqa: PLC0415

    os.environ["ANYSHAPE_CACHE_DIR"] = folder
    ash = library("anyshape")
    library("onnx")
    start = time.perf_counter()
    ash.InferenceSession(str(model.path))
    return time.perf_counter() - start


def session_passes(
    name: EngineName, model: FileModel, bindings: Sequence[Mapping[str, int]], threads: int
) -> tuple[list[float], list[float]]:
    """Seconds of each call when its shape is new, and when it is not."""
    import time  # noqa: PLC0415

    engine = FILES[name](model, threads)
    calls = [engine.call(model.inputs(binding)) for binding in bindings]
    spent: tuple[list[float], list[float]] = ([], [])
    for times in spent:
        for call in calls:
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return spent
