"""Ops that place elements: views, permutations, slices, concatenation."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.frontend.aten.calls import Call, entry
from anyshape.frontend.aten.value_checks import op_name
from anyshape.frontend.builder import assemble
from anyshape.frontend.builder import movement as mv
from anyshape.frontend.builder.axes import Size, normal_axes, normal_axis
from anyshape.frontend.builder.bounds import signed_position
from anyshape.frontend.builder.convert import ArrayLike
from anyshape.frontend.builder.index import getitem
from anyshape.frontend.builder.padding import pad_or_cut
from anyshape.frontend.builder.source import arange
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import active
from anyshape.ir.types import bool_
from anyshape.sym import Dim, Equal, NotEqual, Origin, Predicate, maximum

Bound = int | Dim | None


@entry("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default")
def view(call: Call, x: Tensor, shape: Sequence[Size]) -> Tensor:
    return mv.reshape(x, tuple(shape))


@entry("aten.permute.default")
def permute(call: Call, x: Tensor, dims: Sequence[int]) -> Tensor:
    return mv.transpose(x, tuple(dims))


@entry("aten.transpose.int")
def transpose(call: Call, x: Tensor, dim0: int, dim1: int) -> Tensor:
    return mv.swapaxes(x, dim0, dim1)


@entry("aten.t.default")
def t(call: Call, x: Tensor) -> Tensor:
    return mv.transpose(x)


@entry("aten.unsqueeze.default")
def unsqueeze(call: Call, x: Tensor, dim: int) -> Tensor:
    return mv.expand_dims(x, dim)


@entry("aten.squeeze.dim", "aten.squeeze.dims")
def squeeze(call: Call, x: Tensor, dim: int | Sequence[int]) -> Tensor:
    """torch leaves an axis alone whose size is not 1. The rank is part of the program: a size that
    may be 1 is required not to be."""
    axes = normal_axes(dim, x.ndim)
    for axis in axes:
        if x.shape[axis].constant is None:
            why = f"squeeze keeps axis {axis}, which it would take away at size 1"
            captured_for(NotEqual(x.shape[axis], Dim.of(1)), why)
    return mv.squeeze(x, tuple(axis for axis in axes if x.shape[axis] == 1))


@entry("aten.expand.default")
def expand(call: Call, x: Tensor, size: Sequence[Size], implicit: bool = False) -> Tensor:
    """-1 keeps a size."""
    new = len(size) - x.ndim
    kept = [x.shape[i - new] if given == -1 else given for i, given in enumerate(size)]
    return mv.broadcast_to(x, tuple(kept))


@entry("aten.repeat.default")
def repeat(call: Call, x: Tensor, repeats: Sequence[Size]) -> Tensor:
    """The whole tensor repeated along each axis."""
    return assemble.tile(x, repeats)


@entry("aten.cat.default")
def cat(call: Call, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """An empty tensor of rank 1 joins anything, as torch allows."""
    rank = max(tensor.ndim for tensor in tensors)
    joined = [tensor for tensor in tensors if tensor.ndim == rank]
    return assemble.concat([call.operand(tensor) for tensor in joined], dim)


@entry("aten.stack.default")
def stack(call: Call, tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return assemble.stack([call.operand(tensor) for tensor in tensors], dim)


@entry("aten.flip.default")
def flip(call: Call, x: Tensor, dims: Sequence[int]) -> Tensor:
    return mv.flip(x, tuple(dims))


# --- parts ----------------------------------------------------------------------------------------


@entry("aten.slice.Tensor")
def slice_(
    call: Call, x: Tensor, dim: int = 0, start: Bound = None, end: Bound = None, step: int = 1
) -> Tensor:
    axis = normal_axis(dim, x.ndim)
    return getitem(x, (*(slice(None),) * axis, slice(start, _finite(end), step)))


def _finite(end: Bound) -> Bound:
    """torch writes the largest integer for the end of an axis."""
    return None if isinstance(end, int) and end == 2**63 - 1 else end


@entry("aten.select.int")
def select(call: Call, x: Tensor, dim: int, index: int | Dim) -> Tensor:
    axis = normal_axis(dim, x.ndim)
    return getitem(x, (*(slice(None),) * axis, index))


@entry("aten.split_with_sizes.default")
def split_with_sizes(
    call: Call, x: Tensor, split_sizes: Sequence[Size], dim: int = 0
) -> list[Tensor]:
    return assemble.split_sizes(x, split_sizes, normal_axis(dim, x.ndim))


@entry("aten.split.Tensor")
def split(call: Call, x: Tensor, split_size: Size, dim: int = 0) -> list[Tensor]:
    """Parts of one size, the last of which may be smaller. Their number is part of the program."""
    axis, count = normal_axis(dim, x.ndim), _result_count(call)
    size, each = x.shape[axis], Dim.of(split_size)
    why = f"split(…, {each}, {dim}) was captured with {count} {_PARTS[count == 1]}"
    if count > 1:
        captured_for(each * (count - 1) < size, why)
    captured_for(size <= each * count, why)
    return split_with_sizes(call, x, [*[each] * (count - 1), size - each * (count - 1)], dim)


@entry("aten.chunk.default")
def chunk(call: Call, x: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
    """As many parts as asked for where there is enough for each, and where there is nothing."""
    axis, count = normal_axis(dim, x.ndim), _result_count(call)
    size = x.shape[axis]
    each = (size + (chunks - 1)) // chunks
    why = f"chunk({chunks}, {dim}) was captured with {count} {_PARTS[count == 1]}"
    if count < chunks:
        captured_for(each * (count - 1) < size, why)
        captured_for(size <= each * count, why)
    elif count > 1 and size.constant is None:
        captured_for(each * (count - 1) <= maximum(size - 1, Dim.of(0)), why)
    return split_with_sizes(call, x, [*[each] * (count - 1), size - each * (count - 1)], dim)


@entry("aten.tensor_split.sections")
def tensor_split(call: Call, x: Tensor, sections: Size, dim: int = 0) -> list[Tensor]:
    """The first parts are larger by 1, as many as the division leaves over."""
    size, count = x.shape[normal_axis(dim, x.ndim)], _result_count(call)
    why = f"tensor_split({sections}, {dim}) was captured with {count} {_PARTS[count == 1]}"
    captured_for(Equal(Dim.of(sections), Dim.of(count)), why)
    sizes = [(size + (count - 1 - i)) // count for i in range(count - 1)]
    return split_with_sizes(call, x, [*sizes, size - sum(sizes, Dim.of(0))], dim)


_PARTS = {True: "part", False: "parts"}


def captured_for(predicate: Predicate, why: str) -> None:
    """How many results there are, or of which rank: the program is one for this case."""
    active().require(predicate, why, Origin.MODEL)


def _result_count(call: Call) -> int:
    return len(call.node.meta["val"])


@entry("aten.unbind.int")
def unbind(call: Call, x: Tensor, dim: int = 0) -> list[Tensor]:
    axis = normal_axis(dim, x.ndim)
    size = x.shape[axis].constant
    if size is None:
        problem = f"unbind along axis {axis}, whose size {x.shape[axis]} is not known"
        raise active().refuse(problem, "index the tensor, or keep the axis")
    return [getitem(x, (*(slice(None),) * axis, i)) for i in range(size)]


@entry("aten.slice_scatter.default")
def slice_scatter(
    call: Call,
    x: Tensor,
    source: Tensor,
    dim: int = 0,
    start: Bound = None,
    end: Bound = None,
    step: int = 1,
) -> Tensor:
    """The parts around the slice, and the source between them."""
    axis = normal_axis(dim, x.ndim)
    if step != 1:
        places = slice_(call, arange(x.shape[axis]), 0, start, end, step)
        _require_fits(call, source, slice_(call, x, axis, start, end, step))
        return active().emit("scatter", x, places, call.operand(source), axis=axis)
    before = getitem(x, (*(slice(None),) * axis, slice(0, 0 if start is None else start)))
    _require_fits(call, source, slice_(call, x, axis, start, end))
    stop = before.shape[axis] + source.shape[axis]
    after = assemble.cut(x, axis, stop, x.shape[axis])
    return assemble.concat([before, call.operand(source), after], axis)


@entry("aten.select_scatter.default")
def select_scatter(call: Call, x: Tensor, source: Tensor, dim: int, index: Size) -> Tensor:
    """One position of an axis, which it must have."""
    axis = normal_axis(dim, x.ndim)
    place, size = signed_position(Dim.of(index), x.shape[axis]), x.shape[axis]
    why = f"{op_name(call)} writes at {place} of axis {axis}, whose size is {size}"
    for inside in (place >= 0, place < size):
        active().require(inside, why)
    return slice_scatter(call, x, mv.expand_dims(source, axis), axis, place, place + 1)


def _require_fits(call: Call, source: Tensor, written: Tensor) -> None:
    """torch writes no tensor of another shape into a part."""
    for axis, (size, wanted) in enumerate(zip(source.shape, written.shape, strict=True)):
        why = f"{op_name(call)} writes a tensor of the part's size along axis {axis}"
        active().require(Equal(size, wanted), why)


@entry("aten.constant_pad_nd.default")
def constant_pad(call: Call, x: Tensor, pad: Sequence[Size], value: ArrayLike = 0) -> Tensor:
    """Pairs of widths, the last axis first. A negative one cuts."""
    widths = [(Dim.of(pad[i]), Dim.of(pad[i + 1])) for i in range(0, len(pad), 2)]
    none = (Dim.of(0), Dim.of(0))
    pairs = [none] * (x.ndim - len(widths)) + widths[::-1]
    return pad_or_cut(x, pairs, call.held(value))


@entry("aten.diff.default")
def diff(
    call: Call,
    x: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Differences of neighbours, `n` times; none where there is not enough. Those of truths are
    truths."""
    if n == 0:  # also where something is prepended
        return x
    parts = [part for part in (prepend, x, append) if part is not None]
    axis = normal_axis(dim, x.ndim)
    found = cat(call, parts, axis) if len(parts) > 1 else call.operand(x)
    for _ in range(n):
        upper, lower = (slice_(call, found, axis, *bounds) for bounds in ((1, None), (0, -1)))
        found = upper != lower if call.dtype == bool_ else upper - lower
    return found


@entry("aten.roll.default")
def roll(call: Call, x: Tensor, shifts: Sequence[Size], dims: Sequence[int] = ()) -> Tensor:
    """What leaves at the end of an axis comes in at its front; of all elements without axes."""
    if not dims:
        (shift,) = shifts
        return mv.reshape(_rolled(mv.ravel(x), 0, Dim.of(shift)), x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(x, normal_axis(dim, x.ndim), Dim.of(shift))
    return x


def _rolled(x: Tensor, axis: int, shift: Dim) -> Tensor:
    size = x.shape[axis]
    if shift == 0 or size == 0:
        return x
    place = _first_place(size, shift)
    back = assemble.cut(x, axis, place, size)
    return assemble.concat([back, assemble.cut(x, axis, Dim.of(0), place)], axis)


def _first_place(size: Dim, shift: Dim) -> Dim:
    """Where the first element is taken from: a sum where an axis is known to be that long."""
    for place in (-shift, size - shift):
        if active().proves(place >= 0) and active().proves(place <= size):
            return place
    return (size - shift) % maximum(size, 1)
