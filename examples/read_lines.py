"""Lines of text in pictures of any width, read by PP-OCRv4's recognition: an ONNX model, once.

    python examples/read_lines.py "Any width will do."

Other engines pad lines to a common width, or start over for each. Here every picture is as wide as
its line. The package rapidocr-onnxruntime carries the model in its wheel; `make demo` installs it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from _show import heading, progress, seconds
from PIL import Image, ImageDraw, ImageFont

import anyshape as ash

PACKAGE, FILE = "rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx"
HEIGHT, MARGIN = 48, 10  # the model's height
LINES = (
    "OK",
    "Exit 12",
    "Mind the gap.",
    "Total: $1,204.50",
    "Flight LH 2034 to Oslo",
    "Every line has a width of its own.",
    "Nothing is padded, and nothing is compiled again.",
)
PASSES = 5

Run = Callable[[Any], Any]


def model_file() -> Path | None:
    """Where the model is, if the package is installed; its code is not needed."""
    found = find_spec(PACKAGE)
    places = found.submodule_search_locations if found else None
    return Path(places[0]) / FILE if places else None


def picture(line: str) -> Any:
    """Black on white, as the model wants it: f32[1, 3, 48, width], from -1 to 1."""
    font = ImageFont.load_default(size=30)
    width = int(font.getlength(line)) + 2 * MARGIN
    image = Image.new("RGB", (width, HEIGHT), "white")
    ImageDraw.Draw(image).text((MARGIN, 5), line, "black", font)
    return (np.asarray(image, np.float32).transpose(2, 0, 1)[None] - 127.5) / 127.5


def text_of(scores: Any, characters: Sequence[str]) -> str:
    """The likeliest character of each column; repeats are one, and number 0 is none."""
    numbers = scores[0].argmax(axis=-1)
    kept = [n for n, before in zip(numbers, (0, *numbers), strict=False) if n not in (0, before)]
    return "".join(characters[number - 1] for number in kept).strip()


def onnxruntime_session(path: Path) -> Run | None:
    if find_spec("onnxruntime") is None:
        return None
    import onnxruntime  # noqa: PLC0415  optional

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options)
    return lambda image: session.run(None, {session.get_inputs()[0].name: image})[0]


def main(lines: Sequence[str]) -> dict[str, float]:
    """Milliseconds that a line takes, by engine."""
    path = model_file()
    if path is None:
        sys.exit("The model is not installed: pip install --no-deps rapidocr-onnxruntime")
    heading("PP-OCRv4 recognition, compiled once for all widths")
    made: list[Any] = []
    with progress("reading and compiling"):
        spent = seconds(lambda: made.append(ash.InferenceSession(str(path))))
    (session,) = made
    print(f"{spent:.1f} s; its input is {session.get_inputs()[0].shape}")
    characters = [*session.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]
    name = session.get_inputs()[0].name
    engines: dict[str, Run] = {"anyshape": lambda image: session.run(None, {name: image})[0]}
    other = onnxruntime_session(path)
    if other is not None:
        engines["onnxruntime"] = other
    images = [picture(line) for line in lines]
    for line, image in zip(lines, images, strict=True):
        read = text_of(engines["anyshape"](image), characters)
        print(f"  {image.shape[-1]:>4} wide: {read}{'' if read == line else f'   (it is {line})'}")

    def each(run: Run) -> None:
        for image in images:
            run(image)

    return {
        name: 1e3 * min(seconds(lambda run=run: each(run)) for _ in range(PASSES)) / len(images)
        for name, run in engines.items()
    }


if __name__ == "__main__":
    for engine, spent in main(sys.argv[1:] or LINES).items():
        print(f"{engine}: {spent:.2f} ms a line")
