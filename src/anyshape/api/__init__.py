"""What users call: `jit` and `compile`. Sessions of ONNX models: `anyshape.session`."""

from anyshape.api.compile import compile
from anyshape.api.compiled_module import CompiledModule
from anyshape.api.jit import Jitted, jit
from anyshape.api.ragged_module import RaggedModule

__all__ = [
    "CompiledModule",
    "Jitted",
    "RaggedModule",
    "compile",
    "jit",
]
