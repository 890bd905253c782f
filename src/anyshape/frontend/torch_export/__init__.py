"""PyTorch models as graphs, through torch.export. Needs torch."""

from anyshape.frontend.torch_export.capture import capture_module, capture_program

__all__ = ["capture_module", "capture_program"]
