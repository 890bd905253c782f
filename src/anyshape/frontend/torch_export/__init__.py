"""PyTorch models as graphs, through torch.export. Needs torch."""

from anyshape.frontend.torch_export import entries
from anyshape.frontend.torch_export.importer import import_exported

__all__ = ["entries", "import_exported"]
