"""Sizes on a command line.

batch=8,seq=128                  one size for each axis
batch=1..8,seq=4..160            ranges; with @, the likely size: 1..32@8
input:32x3x224x224               the shape of an input, as trtexec has it
input[1,3,1..8,?]                the same as benchmark_app has it; ? is left open
--minShapes, --maxShapes         the ends of ranges, by input
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from anyshape.base.errors import OptionError
from anyshape.cli.mistakes import CommandError

_AXIS = re.compile(r"[^\W\d]\w*|\?\d+")
"""A dim that is an axis: named, or one of those that nobody named."""

EXPECTED = "sizes by axis (batch=8,seq=1..128) or by input (input:8x128, input[8,1..128])"


@dataclass(frozen=True, slots=True)
class Sizes:
    """One size, or a range of them, with the likely one."""

    low: int
    high: int
    likely: int | None = None

    @property
    def usual(self) -> int:
        return self.likely if self.likely is not None else self.high


@dataclass(frozen=True, slots=True)
class Given:
    """What a command line says: by axis, and by input; None where a size is left open."""

    axes: Mapping[str, Sizes]
    inputs: Mapping[str, tuple[Sizes | None, ...]]

    def by_axis(self, shapes: Mapping[str, Sequence[str]]) -> dict[str, Sizes]:
        """All of it by axis; `shapes` are those of the inputs, in the names of their axes."""
        found = dict(self.axes)
        for name, sizes in self.inputs.items():
            if name not in shapes:
                raise OptionError("shapes", name, f"an input: {', '.join(shapes)}")
            if len(sizes) != len(shapes[name]):
                problem = (
                    f"input '{name}' was given {len(sizes)} sizes, and has {len(shapes[name])}"
                )
                wanted = (
                    f"pass {len(shapes[name])} sizes for {name}: {_by_input(name, shapes[name])}"
                )
                raise CommandError(problem, wanted)
            pairs = zip(shapes[name], sizes, strict=True)
            found |= {dim: size for dim, size in pairs if size is not None and _AXIS.fullmatch(dim)}
        return found


def given(texts: Iterable[str]) -> Given:
    """What all these options say together."""
    axes: dict[str, Sizes] = {}
    inputs: dict[str, tuple[Sizes | None, ...]] = {}
    for text in texts:
        for part in _parts(text):
            name, separator, rest = _split(part)
            if name in (axes if separator == "=" else inputs):
                raise CommandError(f"{name} is given twice", f"give the sizes of {name} once")
            if separator == "=":
                axes[name] = _sizes(rest, part)
            else:
                items = rest.rstrip("]").split("," if separator == "[" else "x")
                inputs[name] = tuple(None if i.strip() == "?" else _sizes(i, part) for i in items)
    return Given(axes, inputs)


def separately(texts: Iterable[str]) -> list[Given]:
    """One binding for each time that an axis is given again: `seq=8`, `seq=128` are two."""
    found: list[list[str]] = []
    for text in texts:
        names = given([text]).axes.keys()
        if not found or names & given(found[-1]).axes.keys():
            found.append([])
        found[-1].append(text)
    return [given(together) for together in found]


def between(least: Given, likely: Given, most: Given) -> Given:
    """Ranges by input, as trtexec has them: `--minShapes`, `--optShapes`, `--maxShapes`."""
    for name in least.inputs.keys() - most.inputs.keys():
        problem = f"--minShapes has '{name}', and --maxShapes does not"
        raise CommandError(problem, f"add --maxShapes {name}:...")
    found = dict(likely.inputs)
    for name, largest in most.inputs.items():
        nothing = (None,) * len(largest)
        lows, usual = least.inputs.get(name, nothing), likely.inputs.get(name, nothing)
        if not len(lows) == len(usual) == len(largest):
            problem = f"input '{name}' has other numbers of sizes in its shapes"
            raise CommandError(problem, "pass as many sizes for the smallest as for the largest")
        found[name] = tuple(map(_range, lows, usual, largest))
    return Given({**likely.axes, **most.axes}, found)


def _range(low: Sizes | None, usual: Sizes | None, high: Sizes | None) -> Sizes | None:
    """What is left open stays so."""
    if high is None:
        return None
    least = 1 if low is None else low.low
    if least > high.high:
        problem = f"--minShapes has {least} where --maxShapes has {high.high}"
        raise CommandError(problem, "pass the smallest sizes as --minShapes")
    return Sizes(least, high.high, None if usual is None else usual.usual)


def _by_input(name: str, shape: Sequence[str]) -> str:
    return f"{name}[{','.join(dim if dim.isdigit() else '?' for dim in shape)}]"


def _parts(text: str) -> Iterator[str]:
    """At commas that are not inside brackets."""
    yield from filter(None, (part.strip() for part in re.split(r",(?![^\[]*\])", text)))


def _split(part: str) -> tuple[str, str, str]:
    found = re.fullmatch(r"([^=:\[]+)([=:\[])(.+)", part)
    if found is None:
        raise OptionError("sizes", part, EXPECTED)
    name, separator, rest = found.groups()
    return name.strip(), separator, rest


def _sizes(text: str, whole: str) -> Sizes:
    found = re.fullmatch(r"\s*(\d+)(?:\.\.(\d+))?(?:@(\d+))?\s*", text)
    if found is None:
        raise OptionError("sizes", whole, EXPECTED)
    low, high, likely = (None if number is None else int(number) for number in found.groups())
    assert low is not None
    sizes = Sizes(low, low if high is None else high, likely)
    if sizes.low > sizes.high:
        raise OptionError("sizes", whole, "a range from the smaller to the larger size")
    return sizes
