"""What users call: `jit`, `compile`, and sessions of ONNX models."""

from anyshape.api.compile import compile
from anyshape.api.compiled_module import CompiledModule
from anyshape.api.jit import Jitted, jit
from anyshape.api.ragged_module import RaggedModule
from anyshape.api.session import (
    InferenceSession,
    get_available_providers,
    get_device,
    set_default_logger_severity,
)
from anyshape.api.session_infos import ModelMetadata, NodeArg
from anyshape.api.session_options import (
    ExecutionMode,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
)
from anyshape.api.session_values import IOBinding, OrtValue

__all__ = [
    "CompiledModule",
    "ExecutionMode",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "Jitted",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RaggedModule",
    "RunOptions",
    "SessionOptions",
    "compile",
    "get_available_providers",
    "get_device",
    "jit",
    "set_default_logger_severity",
]
