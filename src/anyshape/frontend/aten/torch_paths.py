"""Where torch's own code is, as opposed to the model's."""

from __future__ import annotations

import os
from pathlib import Path

import torch

TORCH_FOLDER = f"{Path(torch.__file__).parent}{os.sep}"
"""With a separator: torchvision is beside it."""
