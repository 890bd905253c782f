"""Resize and Upsample: each axis is read at coordinates between its elements.

A size of the result is given, or it is a factor times the size of the operand, rounded down. Where
a factor is given, coordinates are made with it, else with the ratio of the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from anyshape.frontend.builder import resize
from anyshape.frontend.builder.axes import normal_axis
from anyshape.frontend.builder.convert import asarray, cast_to, size_value, widened
from anyshape.frontend.builder.elementwise import abs as absolute
from anyshape.frontend.builder.elementwise import (
    ceil,
    clip,
    floor,
    logical_and,
    maximum,
    where,
)
from anyshape.frontend.builder.elementwise import round as rounded
from anyshape.frontend.builder.movement import broadcast_to, expand_dims
from anyshape.frontend.builder.source import arange
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.numbers import array_in, integers_of, sizes_of
from anyshape.ir.types import f32, f64, i64
from anyshape.sym import Dim

Floor = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Ways:
    """How the attributes of a node say that coordinates become elements."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    sharpness: float = resize.SHARPNESS
    exclude_outside: bool = False
    antialias: bool = False
    extrapolation: float = 0.0


@dataclass(frozen=True)
class Axis:
    """One axis: where it is, its sizes, the factor that was given, and the part that is read."""

    place: int
    extent: Dim
    count: Dim
    factor: float | None = None
    begin: Tensor | None = None
    end: Tensor | None = None

    @property
    def along(self) -> resize.Along:
        return resize.Along(self.extent, self.count)

    @property
    def scale(self) -> Tensor:
        """Elements of the result for one of the operand."""
        if self.factor is not None:
            return asarray(self.factor, f32)
        return size_value(self.count, f32) / size_value(self.extent, f32)


# --- coordinates ----------------------------------------------------------------------------------


def _index(axis: Axis) -> Tensor:
    return cast_to(arange(axis.count), f32)


def _asymmetric(axis: Axis) -> Tensor:
    return _index(axis) / axis.scale


def _half_pixel(axis: Axis) -> Tensor:
    return (_index(axis) + 0.5) / axis.scale - 0.5


def _half_pixel_symmetric(axis: Axis) -> Tensor:
    """As the former, moved so that what a factor leaves over is the same at both ends."""
    exact = axis.scale * size_value(axis.extent, f32)
    adjustment = size_value(axis.count, f32) / exact
    centre = size_value(axis.extent, f32) / 2
    return centre * (1 - adjustment) + (_index(axis) + 0.5) / axis.scale - 0.5


def _pytorch_half_pixel(axis: Axis) -> Tensor:
    return where(size_value(axis.count, i64) > 1, _half_pixel(axis), asarray(0.0, f32))


def _half_pixel_of_tf(axis: Axis) -> Tensor:
    return (_index(axis) + 0.5) / axis.scale


def _align_corners(axis: Axis) -> Tensor:
    """Where a factor was given, the last place is that of the exact product."""
    last = axis.scale * size_value(axis.extent, f32) - 1
    steps = where(last == 0, asarray(1.0, f32), last)
    found = _index(axis) * size_value(axis.extent - 1, f32) / steps
    return where(last == 0, asarray(0.0, f32), found)


def _crop(axis: Axis) -> Tensor:
    """Of the part from `begin` to `end`, in shares of the operand."""
    assert axis.begin is not None
    assert axis.end is not None
    last = size_value(axis.extent - 1, f32)
    steps = maximum(size_value(axis.count - 1, f32), 1)
    inside = axis.begin * last + _index(axis) * (axis.end - axis.begin) * last / steps
    return where(size_value(axis.count, i64) > 1, inside, (axis.begin + axis.end) * last / 2)


_COORDINATES: dict[str, Callable[[Axis], Tensor]] = {
    "asymmetric": _asymmetric,
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "tf_half_pixel_for_nn": _half_pixel_of_tf,
    "align_corners": _align_corners,
    "tf_crop_and_resize": _crop,
}

TIE = 1e-6
"""How near to the middle of two elements onnxruntime takes a coordinate for it: 2 / (4/7) is
3.5, and 3.4999998 in 32 bits."""


def _rounded(x: Tensor, middle: int) -> Tensor:
    """To the nearest; from the middle, so much up from the lower one."""
    low = floor(x)
    is_tie = absolute(x - low - 0.5) < asarray(TIE, x.dtype)
    return where(is_tie, low + middle, floor(x + 0.5))


_NEAREST: dict[str, Floor] = {
    "round_prefer_floor": lambda x: _rounded(x, 0),
    "round_prefer_ceil": lambda x: _rounded(x, 1),
    "floor": floor,
    "ceil": ceil,
}


BY_FACTOR = "by factor"
"""No mode of a node."""


# --- elements -------------------------------------------------------------------------------------


def _nearest(x: Tensor, axis: Axis, ways: Ways) -> Tensor:
    whole = _repeated(axis, ways)
    if whole is not None:
        return _repeat(x, axis, whole)
    place = _NEAREST[_direction(axis, ways)](_COORDINATES[ways.coordinates](axis))
    return axis.along.read(x, axis.place, cast_to(place, i64))


def _direction(axis: Axis, ways: Ways) -> str:
    """Which way coordinates are rounded. Opset 10 does not say it; onnxruntime goes up where an
    axis becomes shorter, and models were exported for that."""
    if ways.nearest != BY_FACTOR:
        return ways.nearest
    return "ceil" if axis.factor is not None and axis.factor < 1 else "floor"


def _repeated(axis: Axis, ways: Ways) -> int | None:
    """How often each element stands beside itself, if that is all there is to it."""
    times = axis.factor
    if times is None and axis.count == axis.extent:
        return 1 if ways.coordinates != "tf_crop_and_resize" else None
    if times is None or times != int(times):
        return None
    begins = ways.coordinates == "asymmetric" and _direction(axis, ways) == "floor"
    centred = ways.coordinates == "half_pixel" and ways.nearest.startswith("round")
    return int(times) if begins or centred else None


def _repeat(x: Tensor, axis: Axis, times: int) -> Tensor:
    if times == 1:
        return x
    shape = x.shape
    apart = expand_dims(x, axis.place + 1)
    wide = broadcast_to(apart, (*shape[: axis.place + 1], times, *shape[axis.place + 1 :]))
    return wide.reshape((*shape[: axis.place], axis.count, *shape[axis.place + 1 :]))


def _smooth(x: Tensor, axis: Axis, ways: Ways) -> Tensor:
    coordinate = _COORDINATES[ways.coordinates](axis)
    if ways.antialias:
        return _antialiased(x, axis, coordinate, ways)
    if ways.mode == "linear":
        return resize.linear_at(x, axis.place, axis.along, coordinate)
    sharpness, inside = ways.sharpness, ways.exclude_outside
    return resize.cubic_at(x, axis.place, axis.along, coordinate, sharpness, inside)


def _antialiased(x: Tensor, axis: Axis, coordinate: Tensor, ways: Ways) -> Tensor:
    """A filter as wide as so many elements as one of the result stands for."""
    shrink = min(_constant_factor(axis), 1.0)
    reach = 1 if ways.mode == "linear" else 2
    start = int(np.floor(-reach / shrink)) + 1
    first = floor(coordinate)
    offsets = [(tap - cast_to(coordinate - first, x.dtype)) * shrink for tap in _taps(start)]
    weights = [_filter(absolute(each), ways) for each in offsets]
    total = sum(weights[1:], weights[0])
    shares = [weight / total for weight in weights]
    begin = cast_to(first, i64) + start
    return resize.weighted(x, axis.place, axis.along, begin, shares, ways.exclude_outside)


def _taps(start: int) -> range:
    return range(start, 2 - start)


def _filter(t: Tensor, ways: Ways) -> Tensor:
    if ways.mode == "linear":
        return maximum(1 - t, 0)
    near = resize.cubic_near(t, ways.sharpness)
    far = where(t < 2, resize.cubic_far(t, ways.sharpness), 0.0)
    return where(t <= 1, near, far)


def _constant_factor(axis: Axis) -> float:
    if axis.factor is not None:
        return axis.factor
    if axis.count.constant is None or not axis.extent.constant:
        problem = "Resize with antialias to a size whose ratio varies"
        raise active().refuse(problem, "give constant scales, or fixed sizes")
    return axis.count.constant / axis.extent.constant


# --- the ops --------------------------------------------------------------------------------------


def _resized(x: Tensor, axes: Sequence[Axis], ways: Ways) -> Tensor:
    read = partial(_nearest if ways.mode == "nearest" else _smooth, ways=ways)
    found = x if ways.mode == "nearest" else _mixable(x)
    for axis in axes:
        unchanged = axis.count == axis.extent and axis.factor in (None, 1.0)
        if not unchanged or axis.begin is not None:
            active().require(axis.extent >= 1, "there is nothing to read along a resized axis")
            found = read(found, axis)
    if not x.dtype.is_float and ways.mode != "nearest":
        found = clip(_whole(found, ways), *_range(x))
    found = cast_to(found, x.dtype)
    return _outside(found, axes, ways) if ways.coordinates == "tf_crop_and_resize" else found


def _mixable(x: Tensor) -> Tensor:
    """Elements of which fractions can be summed: integers as floats that have all of them."""
    if x.dtype.is_float:
        return widened(x)
    return cast_to(x, f64 if x.dtype.bits > 16 else f32)


def _whole(x: Tensor, ways: Ways) -> Tensor:
    """Of integers: plain linear interpolation cuts fractions off, as onnxruntime does. All else is
    rounded, as it is there and in the standard's reference."""
    return x if ways.mode == "linear" and not ways.antialias else rounded(x)


def _range(x: Tensor) -> tuple[int, int]:
    info = np.iinfo(x.dtype.numpy)
    return int(info.min), int(info.max)


def _outside(x: Tensor, axes: Sequence[Axis], ways: Ways) -> Tensor:
    """Another value where the part that is read lies behind the operand."""
    for axis in axes:
        place = _crop(axis)
        inside = logical_and(place >= 0, place <= size_value(axis.extent - 1, f32))
        mask = inside.reshape((axis.count, *(1,) * (x.ndim - axis.place - 1)))
        x = where(mask, x, asarray(ways.extrapolation, x.dtype))
    return x


LARGEST = 1 << 14
"""Sizes up to which a product with a factor is compared with that of floats."""


def grown(extent: Dim, factor: float) -> Dim:
    """`floor(extent * factor)` in 32-bit floats: by the fraction that the float stands for."""
    sizes = np.arange(LARGEST)
    wanted = np.floor(sizes.astype(np.float32) * np.float32(factor)).astype(np.int64)
    for limit in (1000, 1 << 24):
        ratio = Fraction(factor).limit_denominator(limit)
        above, below = ratio.numerator, ratio.denominator
        if np.array_equal(sizes * above // below, wanted):
            return extent * above // below
    if extent.constant is not None and 0 <= extent.constant < LARGEST:
        return Dim.of(int(wanted[extent.constant]))
    problem = f"Resize by {factor}, of which no fraction is near enough, of a size that varies"
    raise active().refuse(problem, "use another factor, or give sizes")


def _by_factors(call: Call, x: Tensor, places: Sequence[int], scales: Tensor) -> list[Axis]:
    factors = [float(each) for each in array_in(scales, "scales of a Resize").reshape(-1)]
    if len(factors) != len(places) or any(not 0 < each < 1e6 for each in factors):
        raise call.invalid(f"has scales {factors} for {len(places)} axes")
    axes = zip(places, factors, strict=True)
    return [Axis(n, x.shape[n], grown(x.shape[n], factor), factor) for n, factor in axes]


def _by_sizes(
    call: Call, x: Tensor, places: Sequence[int], sizes: Tensor, policy: str, fixed: bool
) -> list[Axis]:
    """`fixed` sizes are part of the program."""
    fixed = fixed or policy != "stretch"
    counts = _numbers(sizes) if fixed else sizes_of(sizes)
    if len(counts) != len(places):
        raise call.invalid(f"has {len(counts)} sizes for {len(places)} axes")
    axes = [Axis(n, x.shape[n], count) for n, count in zip(places, counts, strict=True)]
    return axes if policy == "stretch" else _in_proportion(call, axes, policy)


def _numbers(sizes: Tensor) -> list[Dim]:
    return [Dim.of(number) for number in integers_of(sizes, "sizes of a Resize")]


def _in_proportion(call: Call, axes: Sequence[Axis], policy: str) -> list[Axis]:
    """All by the same factor: the least or the greatest that the sizes ask for."""
    pairs = [(axis.extent.constant, axis.count.constant) for axis in axes]
    known = [(extent, count) for extent, count in pairs if extent and count is not None]
    if policy not in ("not_larger", "not_smaller"):
        raise call.invalid(f"has keep_aspect_ratio_policy {policy!r}")
    if len(known) < len(axes):
        problem = f"Resize that keeps proportions ({policy}) of sizes that vary"
        raise active().refuse(problem, "compute the sizes in the model")
    choose = min if policy == "not_larger" else max
    factor = choose(Fraction(count, extent) for extent, count in known)
    counts = [int(np.floor(float(factor * extent) + 0.5)) for extent, _ in known]
    found = zip(axes, counts, strict=True)
    return [Axis(a.place, a.extent, Dim.of(n), float(factor)) for a, n in found]


def _places(x: Tensor, axes: tuple[int, ...] | None) -> list[int]:
    return list(range(x.ndim)) if axes is None else [normal_axis(axis, x.ndim) for axis in axes]


@entry("Resize", since=11)
def resize_of(
    call: Call,
    x: Tensor,
    roi: Tensor | None = None,
    scales: Tensor | None = None,
    sizes: Tensor | None = None,
    *,
    antialias: int = 0,
    axes: tuple[int, ...] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Tensor:
    known = (mode in ("nearest", "linear", "cubic"), nearest_mode in _NEAREST,
             coordinate_transformation_mode in _COORDINATES)  # fmt: skip
    if not all(known):
        raise call.invalid(f"has modes {mode}, {nearest_mode}, {coordinate_transformation_mode}")
    places = _places(x, axes)
    if sizes is not None:
        policy = keep_aspect_ratio_policy
        found = _by_sizes(call, x, places, sizes, policy, bool(antialias))
    elif scales is not None:
        found = _by_factors(call, x, places, scales)
    else:
        raise call.invalid("has neither scales nor sizes")
    if coordinate_transformation_mode == "tf_crop_and_resize":
        found = _parts(call, found, roi)
    ways = Ways(
        mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a,
        bool(exclude_outside), bool(antialias) and mode != "nearest", extrapolation_value,
    )  # fmt: skip
    return _resized(x, found, ways)


def _parts(call: Call, axes: Sequence[Axis], roi: Tensor | None) -> list[Axis]:
    count = len(axes)
    if roi is None or roi.ndim != 1 or roi.shape[0] != 2 * count:
        raise call.invalid(f"needs a roi of {2 * count} numbers")
    shares = cast_to(roi, f32)
    return [
        Axis(a.place, a.extent, a.count, a.factor, shares[n], shares[n + count])
        for n, a in enumerate(axes)
    ]


@entry("Upsample", since=9)
@entry("Resize", since=10)
def resize_of_opset_10(call: Call, x: Tensor, scales: Tensor, *, mode: str = "nearest") -> Tensor:
    axes = _by_factors(call, x, _places(x, None), scales)
    return _resized(x, axes, _asymmetric_ways(call, mode))


@entry("Upsample", since=7)
def upsample(call: Call, x: Tensor, *, scales: tuple[float, ...], mode: str = "nearest") -> Tensor:
    factors = asarray(np.array(scales, np.float32))
    axes = _by_factors(call, x, _places(x, None), factors)
    return _resized(x, axes, _asymmetric_ways(call, mode))


def _asymmetric_ways(call: Call, mode: str) -> Ways:
    """What older opsets leave to attributes of later ones."""
    if mode not in ("nearest", "linear"):
        raise call.invalid(f"has the mode {mode!r}")
    return Ways(mode, "asymmetric", BY_FACTOR)
