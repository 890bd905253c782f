"""ONNX models read into graphs: `import_model`."""

from anyshape.frontend.onnx.importer import OnnxModel, import_model
from anyshape.frontend.onnx.model_file import ModelFile, read_model

__all__ = ["ModelFile", "OnnxModel", "import_model", "read_model"]
