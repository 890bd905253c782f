"""Names for the axes of a model's inputs, as users give them.

    axes = {"input_ids": ("batch", "seq"), "mask": ("batch", "past + seq", None)}
    axes = {"x": (Axis("batch", min=1, max=64), None)}

One entry per input, built like the input itself: where that is a list or a dict of tensors, so is
the entry. One item per axis: a name, an expression over names, an `Axis` that says more, or None
for a size that stays as it is in the example. Inputs without an entry keep all their sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, cast

from anyshape.base.errors import AxisDeclarationError, DimError, InputError
from anyshape.frontend.imported.example import Example, Path, PathStep, path_text
from anyshape.ir.types import no_size
from anyshape.sym import Axis, Dim, Fact, Facts, Symbol

Position = str | Axis | None
NamedDims = Mapping[int, Dim]
"""The dims of a tensor's named positions."""


@dataclass(frozen=True, slots=True)
class InputAxes:
    """What the user says of one leaf of the example."""

    path: str
    rank: int
    dims: NamedDims

    def at_size(self, symbol: Symbol, size: int) -> InputAxes:
        dims = {i: dim.substitute({symbol: size}) for i, dim in self.dims.items()}
        return InputAxes(self.path, self.rank, dims)


@dataclass(frozen=True, slots=True)
class NamedAxes:
    """The axes that the user names, and where: one `InputAxes` for each leaf of the example."""

    axes: tuple[Axis, ...]
    inputs: tuple[InputAxes, ...]
    where: tuple[Fact, ...] = ()  # what holds between them

    def at_size(self, symbol: Symbol, size: int) -> NamedAxes:
        """The same with a number in place of one axis."""
        axes = tuple(axis for axis in self.axes if axis.symbol != symbol)
        inputs = tuple(each.at_size(symbol, size) for each in self.inputs)
        return NamedAxes(
            axes, inputs, Facts((), self.where).substitute({symbol: Dim.of(size)}).facts
        )

    @property
    def facts(self) -> Facts:
        """All that the user says of sizes."""
        return Facts(self.axes, self.where)


def named_axes(
    example: Example, given: Mapping[str, Any], where: tuple[Fact, ...] = ()
) -> NamedAxes:
    """What `given` says of an example's tensors; what does not fit them is refused."""
    for name in sorted(given.keys() - set(example.names)):
        raise _no_such_argument(name, given, example.names)
    axes: dict[str, Axis] = {}
    inputs: list[InputAxes] = []
    for path, leaf in zip(example.paths, example.leaves, strict=True):
        positions = _positions(path, leaf, given)
        dims = {i: _dim(item) for i, item in positions.items()}
        inputs.append(InputAxes(path_text(path), len(getattr(leaf, "shape", ())), dims))
        for axis in (axis for item in positions.values() for axis in _axes(item)):
            axes[axis.name] = _more_said(axes.get(axis.name), axis)
    for each, leaf in zip(inputs, example.leaves, strict=True):
        _check_sizes(each, leaf, axes)
    return NamedAxes(tuple(axes.values()), tuple(inputs), where)


def _no_such_argument(name: str, given: Mapping[str, Any], arguments: Sequence[str]) -> InputError:
    """With the argument that was meant: the most similar one, or the only one that is left."""
    left = [argument for argument in arguments if argument not in given]
    meant = get_close_matches(name, left, 1) or (left if len(left) == 1 else [])
    fix = f"name axes of {', '.join(arguments)}"
    if meant:
        fix = f"axes={ {meant[0] if n == name else n: entry for n, entry in given.items()} }"
    problem = f"has axes, but the example has no such argument, only {', '.join(arguments)}"
    return InputError(name, problem, fix)


def _check_sizes(given: InputAxes, leaf: Any, axes: Mapping[str, Axis]) -> None:
    """The example's own sizes are among those that its axes allow."""
    for position, dim in given.dims.items():
        axis = axes[dim.symbol.name] if dim.symbol is not None else None
        size = leaf.shape[position]
        if axis is not None and not axis.contains(size):
            problem = f"has {size} at axis {position}, which '{axis}' excludes"
            raise InputError(given.path, problem, "pass an example inside it, or declare more")


def _dim(item: str | Axis) -> Dim:
    return Dim.of(item.name if isinstance(item, Axis) else item)


def _axes(item: str | Axis) -> list[Axis]:
    """The axes that an item names."""
    if isinstance(item, Axis):
        return [item]
    return [Axis(symbol.name) for symbol in sorted(Dim.of(item).symbols, key=str)]


def is_bare(axis: Axis) -> bool:
    """Whether only the name is given."""
    return axis == Axis(axis.name)


def _more_said(known: Axis | None, axis: Axis) -> Axis:
    """An axis may be named many times and described once."""
    if known is None or is_bare(known):
        return axis
    if axis != known and not is_bare(axis):
        problem = f"is declared as '{known}' and as '{axis}'"
        fix = "declare it once, and use its name elsewhere"
        raise AxisDeclarationError(axis.name, problem, fix)
    return known


def _positions(path: Path, leaf: Any, given: Mapping[str, Any]) -> dict[int, str | Axis]:
    entry: Any = given
    for step in path:
        entry = _inside(entry, step, path)
        if entry is None:
            return {}
    if not isinstance(entry, (tuple, list)):
        problem = f"has the axes {entry!r}"
        raise InputError(path_text(path), problem, "give a tuple: a name or None for each position")
    entry = cast(Sequence[Any], entry)
    shape: Sequence[Any] | None = getattr(leaf, "shape", None)
    if shape is None or len(entry) != len(shape):
        raise _other_rank(path_text(path), leaf, entry)
    for position, (item, size) in enumerate(zip(entry, shape, strict=True)):
        _check_item(path, position, item)
        if isinstance(item, int) and item != size:
            problem = f"has {size} at axis {position}, where axes say {item}"
            raise InputError(path_text(path), problem, f"pass an example with {item}, or give None")
    return {i: item for i, item in enumerate(entry) if isinstance(item, (str, Axis))}


def _other_rank(path: str, leaf: Any, entry: Sequence[Any]) -> InputError:
    shape: Sequence[Any] | None = getattr(leaf, "shape", None)
    if shape is None:
        problem = f"has axes {tuple(entry)}, and is a {type(leaf).__name__} in the example"
        return InputError(path, problem, f"leave '{path}' out of axes: only tensors have axes")
    problem = f"has {len(entry)} axes in {tuple(entry)}, and {len(shape)} in the example"
    full = (*entry[: len(shape)], *(None,) * (len(shape) - len(entry)))
    fix = f"a name or None for each of {list(shape)}: axes={{'{path}': {full}, ...}}"
    return InputError(path, problem, fix)


def _check_item(path: Path, position: int, item: object) -> None:
    """A name, an expression, an Axis, a number or None."""
    if item is not None and (isinstance(item, bool) or not isinstance(item, (str, Axis, int))):
        problem = f"has {item!r} as axis {position}"
        raise InputError(path_text(path), problem, "give a name, an ash.Axis or None")
    if isinstance(item, str) and (problem := no_size(Dim.of(item))):
        raise DimError(item, problem, "use a name or None for a size that varies")


def _inside(entry: Any, step: PathStep, path: Path) -> Any:
    """The part of an entry for one child of the input; an entry that has no parts is refused."""
    if isinstance(entry, Mapping):
        return cast(Mapping[Any, Any], entry).get(step.key)
    if isinstance(step.key, str) and hasattr(entry, step.key):
        return getattr(entry, step.key)
    items = cast(Sequence[Any], entry) if isinstance(entry, (tuple, list)) else ()
    if isinstance(step.key, int) and step.key < len(items):
        return items[step.key]
    problem = f"is in a container, for which axes are {entry!r}"
    raise InputError(path_text(path), problem, "build axes like the input, with None for no names")
