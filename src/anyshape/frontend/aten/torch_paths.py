"""Where torch's own code is, as opposed to the model's."""

from __future__ import annotations

from pathlib import Path

import torch

TORCH_FOLDER = str(Path(torch.__file__).parent)
