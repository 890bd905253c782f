"""GridSample and RoiAlign: images read at coordinates that are data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product as combinations
from operator import add, mul

from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import reduce as red
from anyshape.frontend.builder import resize
from anyshape.frontend.builder.convert import as_index, asarray, cast_to, size_value, widened
from anyshape.frontend.builder.index import getitem
from anyshape.frontend.builder.movement import broadcast_to, expand_dims, gather
from anyshape.frontend.builder.scatter import take_along
from anyshape.frontend.builder.source import arange
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported.value_checks import check_indices
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.ir.types import i64
from anyshape.sym import Dim, Equal, product

SHARPNESS = -0.75


@dataclass(frozen=True)
class Image:
    """What is read, [n, c, places], with the sizes of its spatial axes; and how edges are met."""

    flat: Tensor
    sizes: tuple[Dim, ...]
    padding: str
    corners: bool

    def read(self, places: Sequence[Tensor]) -> Tensor:
        """At places [n, out] along each axis: [n, c, out]. Zeros outside, or the edge."""
        inside = [self._met(place, axis) for axis, place in enumerate(places)]
        index = cast_to(asarray(0, i64), i64)
        for size, (place, _) in zip(self.sizes, inside, strict=True):
            index = index * size_value(size, i64) + cast_to(place, i64)
        shape = (*self.flat.shape[:2], index.shape[1])
        found = take_along(self.flat, broadcast_to(expand_dims(index, 1), shape), 2)
        if self.padding != "zeros":
            return found
        valid = reduce(ew.logical_and, (valid for _, valid in inside))
        return ew.where(expand_dims(valid, 1), found, asarray(0.0, found.dtype))

    def _met(self, place: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        """A place that exists, and whether it was one."""
        last = size_value(self.sizes[axis] - 1, place.dtype)
        valid = ew.logical_and(place >= 0, place <= last)
        if self.padding == "reflection":
            place = self.reflected(place, axis)
        return ew.clip(place, asarray(0.0, place.dtype), last), valid

    def reflected(self, place: Tensor, axis: int) -> Tensor:
        """Mirrored at the middle of the first and last element, or at their outer edges."""
        size = size_value(self.sizes[axis], place.dtype)
        low = asarray(0.0 if self.corners else -0.5, place.dtype)
        span = size - 1 if self.corners else size
        away = ew.abs(place - low)
        turns = ew.floor(away / ew.maximum(span, 1))
        rest = away - turns * span
        even = turns - 2 * ew.floor(turns / 2) == 0
        return ew.where(even, rest + low, span - rest + low)


Read = Callable[[Image, Sequence[Tensor]], Tensor]


def _nearest(image: Image, at: Sequence[Tensor]) -> Tensor:
    return image.read([ew.round(place) for place in at])


def _linear(image: Image, at: Sequence[Tensor]) -> Tensor:
    floors = [ew.floor(place) for place in at]
    shares = [place - low for place, low in zip(at, floors, strict=True)]
    sides = [
        ((low, 1 - share), (low + 1, share)) for low, share in zip(floors, shares, strict=True)
    ]
    return _combined(image, sides)


def _cubic(image: Image, at: Sequence[Tensor]) -> Tensor:
    return _combined(image, [_cubic_side(place) for place in at])


def _cubic_side(place: Tensor) -> Sequence[tuple[Tensor, Tensor]]:
    first = ew.floor(place)
    t = place - first
    weights = (
        resize.cubic_far(t + 1, SHARPNESS), resize.cubic_near(t, SHARPNESS),
        resize.cubic_near(1 - t, SHARPNESS), resize.cubic_far(2 - t, SHARPNESS),
    )  # fmt: skip
    return [(first + (tap - 1), weight) for tap, weight in enumerate(weights)]


def _combined(image: Image, sides: Sequence[Sequence[tuple[Tensor, Tensor]]]) -> Tensor:
    """The sum over all neighbours, each times the product of its weights."""
    parts: list[Tensor] = []
    for corner in combinations(*sides):
        weight = reduce(mul, (weight for _, weight in corner))
        parts.append(image.read([place for place, _ in corner]) * expand_dims(weight, 1))
    return reduce(add, parts)


_MODES: dict[str, Read] = {
    "nearest": _nearest, "linear": _linear, "cubic": _cubic,
    "bilinear": _linear, "bicubic": _cubic,
}  # fmt: skip


@entry("GridSample", since=16)
def grid_sample(
    call: Call,
    x: Tensor,
    grid: Tensor,
    *,
    align_corners: int = 0,
    mode: str = "linear",
    padding_mode: str = "zeros",
) -> Tensor:
    """The last axis of the grid has the coordinates, the last spatial axis first."""
    rank = x.ndim - 2
    if mode not in _MODES or padding_mode not in ("zeros", "border", "reflection"):
        raise call.invalid(f"has the modes {mode!r} and {padding_mode!r}")
    if rank < 1 or grid.ndim != x.ndim:
        raise call.invalid(f"has a grid {grid.type} for {x.type}")
    why = f"a grid for {rank} spatial axes has as many coordinates"
    active().require(Equal(grid.shape[-1], Dim.of(rank)), why)
    sizes = x.shape[2:]
    for size in sizes:
        active().require(size >= 1, "there is nothing to sample along an axis")
    flat = widened(x).reshape((*x.shape[:2], product(sizes)))
    image = Image(flat, sizes, padding_mode, bool(align_corners))
    count = product(grid.shape[1:-1])
    at = [_coordinate(image, grid, axis, count) for axis in range(rank)]
    found = _MODES[mode](image, at)
    return cast_to(found.reshape((*x.shape[:2], *grid.shape[1:-1])), x.dtype)


def _coordinate(image: Image, grid: Tensor, axis: int, count: Dim) -> Tensor:
    """From -1 … 1 to places along an axis."""
    rank = len(image.sizes)
    given = widened(getitem(grid, (..., rank - 1 - axis))).reshape((grid.shape[0], count))
    size = size_value(image.sizes[axis], given.dtype)
    place = (given + 1) / 2 * (size - 1) if image.corners else ((given + 1) * size - 1) / 2
    if image.padding == "border":
        return ew.clip(place, asarray(0.0, place.dtype), size - 1)
    return image.reflected(place, axis) if image.padding == "reflection" else place


# --- regions --------------------------------------------------------------------------------------


@entry("RoiAlign", since=10)
def roi_align(
    call: Call,
    x: Tensor,
    rois: Tensor,
    batch_indices: Tensor,
    *,
    coordinate_transformation_mode: str | None = None,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Tensor:
    """The mean or the greatest of samples in each bin of each region."""
    halves = coordinate_transformation_mode or ("half_pixel" if call.version >= 16 else "")
    if mode not in ("avg", "max") or x.ndim != 4 or sampling_ratio < 0:
        raise call.invalid(f"has the mode {mode!r} for {x.type}")
    if not sampling_ratio:
        problem = "RoiAlign with as many samples as a region is wide"
        raise active().refuse(problem, "give a sampling_ratio")
    check_indices(call.op, batch_indices, x.shape[0], 0, from_end=False)
    shift = 0.5 if halves == "half_pixel" else 0.0
    scaled = widened(rois) * spatial_scale - shift
    least = 0.0 if halves == "half_pixel" else 1.0
    rows = _samples(scaled[:, 1], scaled[:, 3], output_height, sampling_ratio, least)
    columns = _samples(scaled[:, 0], scaled[:, 2], output_width, sampling_ratio, least)
    found = _region_values(gather(widened(x), as_index(batch_indices), 0), rows, columns, mode)
    shape = (rois.shape[0], x.shape[1], output_height, sampling_ratio, output_width, sampling_ratio)
    inside = found.reshape(shape)
    reduced = red.max(inside, (3, 5)) if mode == "max" else red.mean(inside, (3, 5))
    return cast_to(reduced, x.dtype)


def _samples(begin: Tensor, end: Tensor, bins: int, ratio: int, least: float) -> Tensor:
    """Where samples lie: [regions, bins * ratio]."""
    span = ew.maximum(end - begin, least) if least else end - begin
    step = span / (bins * ratio)
    middle = cast_to(arange(bins * ratio), begin.dtype) + 0.5
    return begin.reshape((-1, 1)) + step.reshape((-1, 1)) * middle


def _region_values(x: Tensor, rows: Tensor, columns: Tensor, mode: str) -> Tensor:
    """[regions, c, rows, columns] between four elements; zeros more than 1 behind an edge. The
    greatest is taken of products with weights, as onnxruntime does."""
    (low_y, high_y, y, valid_y), (low_x, high_x, t, valid_x) = (
        _neighbours(at, size) for at, size in zip((rows, columns), x.shape[2:], strict=True)
    )
    corners = [
        _at(x, row, column) * (by * along)
        for row, by in ((low_y, _tall(1 - y)), (high_y, _tall(y)))
        for column, along in ((low_x, _wide(1 - t)), (high_x, _wide(t)))
    ]
    total = reduce(ew.maximum, corners) if mode == "max" else reduce(add, corners)
    valid = ew.logical_and(_tall(valid_y), _wide(valid_x))
    return ew.where(valid, total, asarray(0.0, total.dtype))


def _tall(x: Tensor) -> Tensor:
    return x.reshape((x.shape[0], 1, x.shape[1], 1))


def _wide(x: Tensor) -> Tensor:
    return x.reshape((x.shape[0], 1, 1, x.shape[1]))


def _neighbours(at: Tensor, size: Dim) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    extent = size_value(size, at.dtype)
    valid = ew.logical_and(at >= -1, at <= extent)
    inside = ew.clip(at, asarray(0.0, at.dtype), extent - 1)
    low = ew.floor(inside)
    high = ew.minimum(low + 1, extent - 1)
    return cast_to(low, i64), cast_to(high, i64), inside - low, valid


def _at(x: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """[regions, c, rows, columns] of [regions, c, height, width]."""
    channels, (height, width) = x.shape[1], x.shape[2:]
    down = broadcast_to(_tall(rows), (x.shape[0], channels, rows.shape[1], width))
    lines = take_along(x.reshape((x.shape[0], channels, height, width)), down, 2)
    along = broadcast_to(_wide(columns), (x.shape[0], channels, rows.shape[1], columns.shape[1]))
    return take_along(lines, along, 3)
