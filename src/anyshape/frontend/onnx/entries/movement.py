"""Ops that place elements: shapes, orders of axes, parts, pads."""

from __future__ import annotations

from anyshape.frontend.builder import assemble
from anyshape.frontend.builder import elementwise as ew
from anyshape.frontend.builder import movement as mv
from anyshape.frontend.builder.axes import normal_axes, normal_axis
from anyshape.frontend.builder.bounds import signed_position
from anyshape.frontend.builder.convert import asarray, cast_to
from anyshape.frontend.builder.index import getitem
from anyshape.frontend.builder.item import item
from anyshape.frontend.builder.padding import continued, pad_or_cut
from anyshape.frontend.builder.reduce import prod
from anyshape.frontend.builder.scatter import take_along
from anyshape.frontend.builder.source import iota
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.frontend.imported.value_checks import check_count
from anyshape.frontend.onnx.calls import Call, entry
from anyshape.frontend.onnx.entries.elementwise import same_dtype
from anyshape.frontend.onnx.numbers import integers_of, known_sizes, not_negative, sizes_of
from anyshape.ir.types import i64
from anyshape.sym import Dim, Equal, maximum, minimum, product

# --- shapes ---------------------------------------------------------------------------------------


@entry("Reshape", since=5)
def reshape(call: Call, x: Tensor, shape: Tensor, *, allowzero: int = 0) -> Tensor:
    """0 keeps a size, unless zeros are allowed, and -1 is what is left."""
    known = known_sizes(shape)
    if known is None:
        return mv.reshape(x, _computed_shape(x, shape, bool(allowzero)))
    return mv.reshape(x, [_kept(call, x, i, dim, allowzero) for i, dim in enumerate(known)])


def _kept(call: Call, x: Tensor, position: int, dim: Dim, allowzero: int) -> Dim | int:
    if dim == 0 and not allowzero:
        if position >= x.ndim:
            raise call.invalid(f"keeps size {position} of a tensor of rank {x.ndim}")
        return x.shape[position]
    return -1 if dim == -1 else dim


def _computed_shape(x: Tensor, shape: Tensor, allowzero: bool) -> list[Dim]:
    """A shape that data decide, as sizes that each call computes."""
    rank = shape.shape[0].constant
    if rank is None:
        problem = "a reshape to a rank that data decide"
        raise active().refuse(problem, "let the shape have a fixed number of sizes")
    old = [x.shape[i] if i < x.ndim else Dim.of(0) for i in range(rank)]
    given = cast_to(shape, i64)
    kept = assemble.stack([asarray(dim, i64) for dim in old]) if rank else given
    sizes = given if allowzero else ew.where(given == 0, kept, given)
    rest = ew.maximum(prod(ew.where(sizes == -1, 1, sizes)), 1)
    whole = ew.where(sizes == -1, asarray(x.size, i64) // rest, sizes)
    return [item(whole[i]) for i in range(rank)]


@entry("Flatten")
def flatten(call: Call, x: Tensor, *, axis: int = 1) -> Tensor:
    place = axis + x.ndim if axis < 0 else axis
    if not 0 <= place <= x.ndim:
        raise call.invalid(f"has axis {axis} for a tensor of rank {x.ndim}")
    return mv.reshape(x, (product(x.shape[:place]), product(x.shape[place:])))


def _squeezed(x: Tensor, axes: tuple[int, ...] | None) -> Tensor:
    if axes is None:
        known = [i for i, dim in enumerate(x.shape) if dim == 1]
        open_ = [dim for dim in x.shape if dim.constant is None]
        if open_:
            problem = f"Squeeze without axes, of a size {open_[0]} that may be 1 or not"
            raise active().refuse(problem, "name the axes to be taken away")
        axes = tuple(known)
    return mv.squeeze(x, axes)


@entry("Squeeze")
def squeeze_by_attribute(call: Call, x: Tensor, *, axes: tuple[int, ...] | None = None) -> Tensor:
    return _squeezed(x, axes)


@entry("Squeeze", since=13)
def squeeze(call: Call, x: Tensor, axes: Tensor | None = None) -> Tensor:
    return _squeezed(x, None if axes is None else integers_of(axes, "axes"))


@entry("Unsqueeze")
def unsqueeze_by_attribute(call: Call, x: Tensor, *, axes: tuple[int, ...]) -> Tensor:
    return mv.expand_dims(x, axes)


@entry("Unsqueeze", since=13)
def unsqueeze(call: Call, x: Tensor, axes: Tensor) -> Tensor:
    return mv.expand_dims(x, integers_of(axes, "axes"))


@entry("Expand", since=8)
def expand(call: Call, x: Tensor, shape: Tensor) -> Tensor:
    """Broadcast with the shape: a size of 1 there keeps a size."""
    wanted = active().broadcast("broadcast", [x.shape, sizes_of(shape)])
    return mv.broadcast_to(x, wanted)


@entry("Transpose")
def transpose(call: Call, x: Tensor, *, perm: tuple[int, ...] | None = None) -> Tensor:
    return mv.transpose(x) if perm is None else mv.transpose(x, perm)


@entry("Tile", since=6)
def tile(call: Call, x: Tensor, repeats: Tensor) -> Tensor:
    times = sizes_of(repeats)
    if len(times) != x.ndim:
        raise call.invalid(f"repeats {len(times)} axes of a tensor of rank {x.ndim}")
    return assemble.tile(x, times)


@entry("DepthToSpace")
def depth_to_space(call: Call, x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, depth, height, width = x.shape
    rest = depth // (blocksize * blocksize)
    if mode == "DCR":
        apart = mv.reshape(x, (n, blocksize, blocksize, rest, height, width))
        placed = mv.transpose(apart, (0, 3, 4, 1, 5, 2))
    else:
        apart = mv.reshape(x, (n, rest, blocksize, blocksize, height, width))
        placed = mv.transpose(apart, (0, 1, 4, 2, 5, 3))
    return mv.reshape(placed, (n, rest, height * blocksize, width * blocksize))


@entry("SpaceToDepth")
def space_to_depth(call: Call, x: Tensor, *, blocksize: int, mode: str = "DCR") -> Tensor:
    n, depth, height, width = x.shape
    high, wide = height // blocksize, width // blocksize
    apart = mv.reshape(x, (n, depth, high, blocksize, wide, blocksize))
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    placed = mv.transpose(apart, order)
    return mv.reshape(placed, (n, depth * blocksize * blocksize, high, wide))


# --- parts ----------------------------------------------------------------------------------------


@entry("Concat", since=4)
def concat(call: Call, *tensors: Tensor, axis: int) -> Tensor:
    same_dtype(call, *tensors)
    return assemble.concat(tensors, axis)


def _split(
    call: Call, x: Tensor, axis: int, sizes: tuple[Dim, ...] | None, parts: int
) -> tuple[Tensor, ...]:
    """Parts of given sizes, or alike; the last of these may be smaller."""
    place = normal_axis(axis, x.ndim)
    size = x.shape[place]
    if sizes is None:
        each = (size + (parts - 1)) // parts
        active().require(each * (parts - 1) <= size, f"Split into {parts} parts")
        sizes = (*[each] * (parts - 1), size - each * (parts - 1))
    total = sum(sizes, Dim.of(0))
    active().require(Equal(total, size), f"Split: the parts are axis {axis} of {x.type}")
    return tuple(assemble.split_sizes(x, sizes, place))


@entry("Split")
def split_by_attribute(
    call: Call, x: Tensor, *, axis: int = 0, split: tuple[int, ...] | None = None
) -> tuple[Tensor, ...]:
    sizes = None if split is None else tuple(map(Dim.of, split))
    return _split(call, x, axis, sizes, len(call.outputs))


@entry("Split", since=13)
def split(
    call: Call,
    x: Tensor,
    sizes: Tensor | None = None,
    *,
    axis: int = 0,
    num_outputs: int | None = None,
) -> tuple[Tensor, ...]:
    given = None if sizes is None else sizes_of(sizes)
    return _split(call, x, axis, given, num_outputs or len(call.outputs))


@entry("Slice")
def slice_by_attributes(
    call: Call,
    x: Tensor,
    *,
    starts: tuple[int, ...],
    ends: tuple[int, ...],
    axes: tuple[int, ...] | None = None,
) -> Tensor:
    places = tuple(range(len(starts))) if axes is None else axes
    bounds = tuple(map(Dim.of, starts)), tuple(map(Dim.of, ends))
    return _sliced(x, *bounds, places, (1,) * len(places))


@entry("Slice", since=10)
def slice_(
    call: Call,
    x: Tensor,
    starts: Tensor,
    ends: Tensor,
    axes: Tensor | None = None,
    steps: Tensor | None = None,
) -> Tensor:
    first = sizes_of(starts)
    places = tuple(range(len(first))) if axes is None else integers_of(axes, "axes")
    strides = (1,) * len(first) if steps is None else integers_of(steps, "steps")
    if any(step < 0 for step in strides) and known_sizes(ends) is None:
        ends = ew.maximum(cast_to(ends, i64), _LOWEST_END)
    return _sliced(x, first, sizes_of(ends), places, strides)


_LOWEST_END = -(2**62)
"""INT64_MIN as an end means all that is left. Its negative is no i64; this one's is."""


def _sliced(
    x: Tensor,
    starts: tuple[Dim, ...],
    ends: tuple[Dim, ...],
    axes: tuple[int, ...],
    steps: tuple[int, ...],
) -> Tensor:
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, normal_axes(axes, x.ndim), steps, strict=True):
        size = x.shape[axis]
        index[axis] = slice(_start(start, size, step), end, step)
    return getitem(x, tuple(index))


def _start(dim: Dim, size: Dim, step: int) -> Dim:
    """Backwards, a start before the first element is the first one, where Python takes none."""
    if step > 0 or dim == -1 or active().proves(dim >= 0):
        return dim
    position = signed_position(dim, size)
    return position if active().proves(position >= 0) else maximum(Dim.of(0), position)


@entry("CenterCropPad")
def center_crop_pad(
    call: Call, x: Tensor, shape: Tensor, *, axes: tuple[int, ...] | None = None
) -> Tensor:
    """What is in the middle, with zeros around it: one of both is nothing along each axis."""
    places = normal_axes(axes, x.ndim)
    for axis, given in zip(places, integers_of(shape, "shape"), strict=True):
        size, wanted = x.shape[axis], Dim.of(given)
        kept = minimum(size, wanted)
        start, low = (size - kept) // 2, (wanted - kept) // 2
        if kept != size:
            x = assemble.cut(x, axis, start, start + kept)
        if kept != wanted:
            pairs = [(Dim.of(0), Dim.of(0))] * x.ndim
            pairs[axis] = (low, wanted - kept - low)
            x = assemble.pad(x, pairs, asarray(0, x.dtype))
    return x


@entry("ReverseSequence")
def reverse_sequence(
    call: Call, x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0
) -> Tensor:
    """The first elements of each row in reverse, as many as its length says."""
    wide = [Dim.of(1)] * x.ndim
    wide[batch_axis] = x.shape[batch_axis]
    check_count(call.op, lengths, x.shape[time_axis], time_axis)
    length = cast_to(lengths, i64).reshape(tuple(wide))
    step = iota(x.shape, time_axis)
    places = ew.where(step < length, length - 1 - step, step)
    return take_along(x, mv.broadcast_to(places, x.shape), time_axis)


# --- pads -----------------------------------------------------------------------------------------

_MODES = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}


def _padded(
    call: Call, x: Tensor, widths: tuple[Dim, ...], axes: tuple[int, ...], mode: str, value: Tensor
) -> Tensor:
    if len(widths) != 2 * len(axes):
        raise call.invalid(f"has {len(widths)} widths for {len(axes)} axes")
    pairs = [(Dim.of(0), Dim.of(0))] * x.ndim
    for number, axis in enumerate(axes):
        pairs[axis] = (widths[number], widths[number + len(axes)])
    if mode == "constant":
        return pad_or_cut(x, pairs, value)
    if mode not in _MODES:
        raise call.invalid(f"has the mode {mode!r}")
    for axis, (low, high) in enumerate(pairs):
        x = continued(x, axis, low, high, _MODES[mode])
    return x


@entry("Pad", since=2)
def pad_by_attributes(
    call: Call, x: Tensor, *, pads: tuple[int, ...], mode: str = "constant", value: float = 0.0
) -> Tensor:
    widths = tuple(map(Dim.of, pads))
    return _padded(call, x, widths, tuple(range(x.ndim)), mode, asarray(value, x.dtype))


@entry("Pad", since=11)
def pad(
    call: Call,
    x: Tensor,
    pads: Tensor,
    value: Tensor | None = None,
    axes: Tensor | None = None,
    *,
    mode: str = "constant",
) -> Tensor:
    places = tuple(range(x.ndim)) if axes is None else integers_of(axes, "axes")
    filling = asarray(0, x.dtype) if value is None else value.reshape(())
    normal, widths = normal_axes(places, x.ndim), sizes_of(pads)
    if known_sizes(pads) is None and mode == "constant" and len(widths) == 2 * len(normal):
        for axis, low, high in zip(normal, widths, widths[len(normal) :], strict=False):
            x = _cut(x, axis, low, high)
        widths = tuple(map(not_negative, widths))
    return _padded(call, x, widths, normal, mode, filling)


def _cut(x: Tensor, axis: int, low: Dim, high: Dim) -> Tensor:
    """What widths that data decide leave of an axis: those below 0 cut."""
    return assemble.cut(x, axis, not_negative(-low), x.shape[axis] - not_negative(-high))
