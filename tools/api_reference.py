"""The page of public names: what is called, with its signature, and what it says of itself."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import anyshape as ash
from anyshape.holders.passed_on import PassedOn

WIDTH = 100

ENTRIES = ("compile", "jit", "load", "InferenceSession")
"""Where one begins; the other classes are what these give, in the order of the alphabet."""


def api() -> str:
    classes = [name for name in ash.__all__ if inspect.isclass(getattr(ash, name))]
    documented = dict.fromkeys((*ENTRIES, *sorted(filter(_is_explained, classes))))
    names = sorted(name for name in ash.__all__ if name not in documented and _is_function(name))
    rows = "".join(f"| `{name}` | {_first_line(getattr(ash, name))} |\n" for name in names)
    return (
        "# Python API\n\nEvery public name is in `anyshape`, imported here as `ash`.\n\n"
        + "\n".join(f"- [`{name}`](#{name.lower()})" for name in documented)
        + "\n- [functions of arrays](#functions-of-arrays)\n\n"
        + "\n".join(_entry(name) for name in documented)
        + "\n## Functions of arrays\n\nFor functions under `@ash.jit`; most are methods of arrays "
        "there, too, and NumPy's functions of the same name take them.\n\n"
        + "| function | is |\n| --- | --- |\n"
        + rows
    )


def _is_explained(name: str) -> bool:
    """Classes of numbers are types in annotations, and say nothing more."""
    kind: Any = getattr(ash, name)
    return not issubclass(kind, (Exception, enum.Enum)) and bool(kind.__doc__)


def _is_function(name: str) -> bool:
    return inspect.isroutine(getattr(ash, name))


def _entry(name: str) -> str:
    thing: Any = getattr(ash, name)
    parts = [f"## {name}\n\n{_signature(name, thing)}{_text(thing)}"]
    if inspect.isclass(thing):
        parts += [f"### {name}.{key}\n\n{text}" for key, text in _members(thing)]
        parts += [_passed_on(thing)] if issubclass(thing, PassedOn) else []
    return "\n".join(parts)


def _passed_on(kind: type) -> str:
    """What it has as `Executable` has it, where that is explained."""
    own = {name for each in kind.__mro__ if each is not PassedOn for name in vars(each)}
    names = [name for name in vars(PassedOn) if not name.startswith("_") and name not in own]
    listed = ", ".join(f"[`{name}`](#executable{name})" for name in names)
    return f"As `Executable` has them: {listed}.\n"


def _members(kind: type) -> Iterator[tuple[str, str]]:
    """What a class adds that does not begin with a line, as it is written down."""
    found: dict[str, Any] = {}
    for each in reversed(kind.__mro__[:-1]):
        if each.__module__.startswith("anyshape") and each is not PassedOn:
            found |= vars(each)
    for name, member in found.items():
        plain = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if name.startswith("_") or not inspect.getdoc(plain):
            continue
        if isinstance(plain, property):
            yield name, f"A property. {_text(plain)}"
        elif inspect.isfunction(plain):
            yield name, _signature(name, plain) + _text(plain)


def _signature(name: str, thing: Callable[..., Any]) -> str:
    """As one writes it, without `self`; a parameter on each line where one is too long."""
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return ""
    kept = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    if inspect.isclass(thing) and any(p.name.startswith("_") for p in kept):
        return ""
    parts = list(_parameters(kept))
    gives = _annotation(signature.return_annotation)
    end = f") -> {gives}" if gives and gives != "None" else ")"
    text = f"{name}({', '.join(parts)}{end}"
    if len(text) > WIDTH:
        text = "".join((f"{name}(\n", *(f"    {part},\n" for part in parts), end))
    return f"```text\n{text}\n```\n\n"


def _parameters(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not starred:
            yield "*"
        starred |= each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        type_ = _annotation(each.annotation)
        text = f"{stars}{each.name}" + (f": {type_}" if type_ else "")
        if each.default is not each.empty:
            text += f" = {re.sub('<.*>', '...', repr(each.default))}"
        yield text


def _annotation(annotation: Any) -> str:
    if annotation is inspect.Signature.empty:
        return ""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _text(thing: object) -> str:
    """Its docstring; lists keep their lines, and indented examples are code already."""
    return (inspect.getdoc(thing) or "").strip() + "\n"


def _first_line(thing: object) -> str:
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n", maxsplit=1)[0].split())
    return (
        re.split(r"(?<=[.:]) (?=[A-Z`])", text, maxsplit=1)[0].replace("|", "\\|") or "as in NumPy"
    )
