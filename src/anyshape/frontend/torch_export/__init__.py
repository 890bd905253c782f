"""PyTorch models as graphs, through torch.export. Needs torch."""

from anyshape.frontend.torch_export import entries
from anyshape.frontend.torch_export.capture import CapturedModel, capture_module, capture_program

__all__ = ["CapturedModel", "capture_module", "capture_program", "entries"]
