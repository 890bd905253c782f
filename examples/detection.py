"""Detection: of many boxes keep those that no better one covers, and look closer at these only.

How many remain is known when suppression has run: it is a late axis, `kept`. What follows (reading
features where boxes are, a second network) has exactly as many rows, in the same native call; no
padding to a largest number, no second pass through Python.
"""

from typing import Any

import numpy as np
from _show import heading, mistake

import anyshape as ash

FEATURES, CLASSES, POINTS = 16, 3, 4
OVERLAP, LEAST = 0.5, 0.25
NAMES = ("bird", "boat", "bell")

random = np.random.default_rng(2)


def array(*shape: int) -> Any:
    return (random.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


INSIDE = np.array([[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]], np.float32)
HIDDEN, OUT = array(POINTS * FEATURES, 32), array(32, CLASSES)


@ash.jit
def detect(
    image: ash.f32["height", "width", FEATURES],
    boxes: ash.f32["boxes", 4],
    scores: ash.f32["boxes"],
):
    """Boxes are (x1, y1, x2, y2) in pixels. Each that is kept is read at four points inside."""
    kept = ash.nms(boxes, scores, OVERLAP, score_threshold=LEAST)
    ash.name_size(kept.shape[0], ash.Axis("kept", max=64))
    best = boxes[kept]
    points = best[:, None, :2] + (best[:, 2:] - best[:, :2])[:, None] * INSIDE  # [kept, 4, xy]
    x, y = (points[..., axis].astype(ash.i64) for axis in range(2))
    seen = image[y, x].reshape(best.shape[0], POINTS * FEATURES)
    classes = ash.softmax(ash.relu(seen @ HIDDEN) @ OUT)
    return best, scores[kept], ash.argmax(classes, axis=-1)


# --- the same in NumPy ----------------------------------------------------------------------------


def overlap(one: Any, other: Any) -> Any:
    """The area that two boxes share, divided by the one they cover."""
    least, most = np.maximum(one[:2], other[:2]), np.minimum(one[2:], other[2:])
    shared = np.prod(np.maximum(most - least, 0))
    return shared / (np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2]) - shared)


def plain_detect(image: Any, boxes: Any, scores: Any) -> Any:
    kept: list[int] = []
    for candidate in np.argsort(-scores, kind="stable"):
        better = (overlap(boxes[candidate], boxes[other]) for other in kept)
        if scores[candidate] > LEAST and all(shared <= OVERLAP for shared in better):
            kept.append(int(candidate))
    classes: list[int] = []
    for x1, y1, x2, y2 in boxes[kept]:
        at = [(y1 + (y2 - y1) * v, x1 + (x2 - x1) * u) for v in (0.25, 0.75) for u in (0.25, 0.75)]
        seen = np.concatenate([image[int(y), int(x)] for y, x in at])
        classes.append(int(np.argmax(np.maximum(seen @ HIDDEN, 0) @ OUT)))
    return boxes[kept], scores[kept], np.array(classes, np.int64)


def scene(objects: int, height: int, width: int) -> Any:
    """An image, and for each object a few boxes that almost agree."""
    image = random.standard_normal((height, width, FEATURES)).astype(np.float32)
    middles = random.uniform(0.3, 0.7, (objects, 1, 2)) * (width, height)
    sizes = random.uniform(0.1, 0.25, (objects, 1, 2)) * (width, height)
    corners = np.concatenate([middles - sizes, middles + sizes], axis=2)
    boxes = (corners + random.uniform(-1, 1, (objects, 5, 4))).reshape(-1, 4)
    scores = random.uniform(0, 1, len(boxes))
    return image, boxes.astype(np.float32), scores.astype(np.float32)


def main() -> None:
    compiled = ash.compile(detect, strict=True)
    heading("Images of any size, any number of boxes")
    for objects, height, width in ((0, 20, 20), (1, 31, 57), (4, 101, 83)):
        given = scene(objects, height, width)
        found = compiled(*given)
        for ours, theirs in zip(found, plain_detect(*given), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        best, scores, classes = found
        print(f"{height}×{width}, {len(given[1])} boxes: {len(best)} remain, as in NumPy")
        for (x1, y1, x2, y2), score, name in zip(best, scores, classes, strict=True):
            where = f"({x1:.0f}, {y1:.0f}) to ({x2:.0f}, {y2:.0f})"
            print(f"  {NAMES[name]}  {score:.2f}  {where}")

    heading("Level 2 of a size that no call has had yet")
    supposed = compiled.specialize(height=480, width=640, boxes=1000, kept=37).as_text()
    print("\n".join(line for line in supposed.splitlines() if "detect at " in line))

    heading("A bound that is violated, found where the size is born")
    apart = np.arange(80, dtype=np.float32)[:, None] * 3 + np.array([0, 0, 2, 2], np.float32)
    image = np.zeros((300, 300, FEATURES), np.float32)
    mistake("Too many boxes", compiled, image, apart, np.ones(80, np.float32))


if __name__ == "__main__":
    main()
