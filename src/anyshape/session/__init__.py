"""Sessions: ONNX models behind onnxruntime's interface.

    inference_session   InferenceSession
    options, errors, values, infos, profile
                        what belongs to that interface, under its names
    model               a model as it was given, read when more is needed than its bytes
    programs            the programs of a model: compiled, or loaded
    cached              a compiled model as an entry of the cache, and back
    cache, key          the folder of these entries, and what each is found by
    onnx_backend        the same as a backend of ONNX's own interface

A session whose model was compiled before loads a file: it imports neither onnx nor what compiles.
"""

from anyshape.session.inference_session import (
    InferenceSession,
    get_available_providers,
    get_device,
    set_default_logger_severity,
)
from anyshape.session.infos import ModelMetadata, NodeArg
from anyshape.session.options import (
    ExecutionMode,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
)
from anyshape.session.values import IOBinding, OrtValue

__all__ = [
    "ExecutionMode",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "get_available_providers",
    "get_device",
    "set_default_logger_severity",
]
