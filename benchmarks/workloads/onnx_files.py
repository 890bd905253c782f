"""Models that are ONNX files inside wheels: PP-OCRv4's detection, recognition and direction, and
magika, which tells the type of a file by its bytes."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.harness.model import Array, Binding, FileModel, Shape, size


@dataclass(frozen=True)
class PackagedModel(FileModel):
    """A file in a package, with one input. `words` are integers below a number, else there is a
    picture."""

    package: str
    file: str
    name: str
    shape: Shape
    words: int = 0
    flops_per_batch: int = 0

    @property
    def path(self) -> Path | None:
        """None if the package is not installed."""
        found = importlib.util.find_spec(self.package)
        folders = [] if found is None else list(found.submodule_search_locations or ())
        paths = [Path(folder) / self.file for folder in folders]
        return next((path for path in paths if path.exists()), None)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def array(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        if self.words:
            return rng.integers(0, self.words, shape).astype(np.int32)
        return _picture(shape, rng)

    def inputs(self, binding: Binding) -> tuple[Array, ...]:
        sizes = tuple(size(each, binding) for each in self.shape)
        return (self.array(sizes, np.random.default_rng(0)),)

    def flops(self, binding: Binding) -> int:
        return self.flops_per_batch * binding.get("batch", 1)

    @property
    def weight_bytes(self) -> int:
        return 0 if self.path is None else self.path.stat().st_size


def _picture(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Lines of letters, each five by seven cells of two by two, black on white, and some noise, so
    that there is something to detect."""
    x = np.full(shape, 2.0, np.float32)
    letters = np.kron(rng.random((26, 7, 5)) < 0.55, np.ones((2, 2), bool))
    *_, height, width = shape
    for image in x:
        for top in range(8, height - 14, 30):
            for left in range(6, width - 16, 12):
                if rng.random() < 0.85:
                    dark = letters[rng.integers(26)]
                    image[:, top : top + 14, left : left + 10][:, dark] = -2.0
    return x + 0.05 * rng.standard_normal(shape, dtype=np.float32)


_OCR = "rapidocr_onnxruntime"
DETECTION = PackagedModel(
    _OCR, "models/ch_PP-OCRv4_det_infer.onnx", "x", ("batch", 3, "height", "width")
)
RECOGNITION = PackagedModel(
    _OCR, "models/ch_PP-OCRv4_rec_infer.onnx", "x", ("batch", 3, 48, "width")
)
DIRECTION = PackagedModel(
    _OCR, "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", "x", ("batch", 3, 48, 192)
)
MAGIKA = PackagedModel(
    "magika", "models/standard_v3_3/model.onnx", "bytes", ("batch", 2048), 257,
    2 * (508 * 512 * 5 * 256 + 512 * 214),  # the convolution, and the last product
)  # fmt: skip
PACKAGED = {
    "detection": DETECTION,
    "recognition": RECOGNITION,
    "direction": DIRECTION,
    "magika": MAGIKA,
}
