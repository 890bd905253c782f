"""Real ONNX models, whose files come inside wheels, against onnxruntime.

`python -m tests.e2e.onnx_models [--shapes 25] [name ...]` compares each, compiled once, with
onnxruntime at random shapes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.workloads.onnx_files import PACKAGED, PackagedModel

Array = Any
Shape = tuple[int, ...]


def _page(rng: np.random.Generator) -> Shape:
    height, width = (int(each) for each in 32 * rng.integers(1, 12, 2))
    return int(rng.integers(1, 3)), 3, height, width


SHAPES: dict[str, Callable[[np.random.Generator], Shape]] = {
    "detection": _page,
    "recognition": lambda rng: (int(rng.integers(1, 5)), 3, 48, int(rng.integers(8, 640))),
    "direction": lambda rng: (int(rng.integers(1, 7)), 3, 48, 192),
    "magika": lambda rng: (int(rng.integers(1, 9)), 2048),
}
"""A random shape of the one input of each."""


def sessions(model: PackagedModel, executor: str = "native") -> tuple[Any, Any]:
    """Ours and onnxruntime's."""
    import onnxruntime

    import anyshape as ash

    options, quiet = ash.SessionOptions(), onnxruntime.SessionOptions()
    options.add_session_config_entry("anyshape.executor", executor)
    quiet.log_severity_level = 4
    path = str(model.path)
    return ash.InferenceSession(path, options), onnxruntime.InferenceSession(path, quiet)


def difference(ours: Any, theirs: Any, x: Array) -> float:
    """The greatest one, relative to the greatest number. Names of inputs are the model's."""
    feeds = {ours.get_inputs()[0].name: x}
    pairs = zip(ours.run(None, feeds), theirs.run(None, feeds), strict=True)
    worst = 0.0
    for found, wanted in pairs:
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        worst = max(worst, float(np.abs(found - wanted).max() / np.abs(wanted).max()))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", type=int, default=25)
    parser.add_argument("names", nargs="*", default=list(PACKAGED))
    given = parser.parse_args()
    for name in given.names:
        model, rng = PACKAGED[name], np.random.default_rng(0)
        pair = sessions(model)
        worst = max(
            difference(*pair, model.array(SHAPES[name](rng), rng)) for _ in range(given.shapes)
        )
        print(f"{name}: {given.shapes} shapes, the greatest difference is {worst:.1e} of the whole")


if __name__ == "__main__":
    main()
