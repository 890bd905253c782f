"""ONNX models read into graphs: `import_model`."""

from anyshape.base.packages import require_package

require_package("onnx", "ONNX models", "onnx>=1.17")

# Whatever is read of this package comes after that.
from anyshape.frontend.onnx.importer import OnnxModel, import_model  # noqa: E402
from anyshape.frontend.onnx.model_file import ModelFile, read_model  # noqa: E402

__all__ = ["ModelFile", "OnnxModel", "import_model", "read_model"]
