"""Custom ops that write into operands, as torch makes them functional.

`auto_functionalized_v2` names the op, the arguments that it only reads, and for each argument that
it writes a *base*: the tensor that the argument is, or is a slice of. It gives the op's results and
the bases as they are afterwards. The call on the host writes into copies of the bases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FUNCTIONALIZED = "auto_functionalized_v2"
_BASES = "_all_bases"
_SLICE = ("_slice_dim", "_slice_start", "_slice_end")


@dataclass(frozen=True, slots=True)
class Written:
    """An argument that the op writes into: a base, and which slice of it (axis, start, end)."""

    base: Any
    part: tuple[Any, ...] = ()


def refused_writes(node: Any) -> str | None:
    """Why a call of this kind cannot be made on copies."""
    given, schema = node.kwargs, node.args[0]._schema
    if any("List[" in str(each.type) for each in schema.arguments if _is_written(each)):
        return "which writes into tensors of a list"
    names = _names(schema, given, written=True)
    bases = [given[f"_{name}_base_index"] for name in names]
    if any(f"_{name}_size" in given for name in names):
        return "which writes into a view that is no slice"
    if sorted(bases) != list(range(len(given[_BASES]))):
        return "which writes into tensors that share memory"
    return None


def call_arguments(schema: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the op by name, those that it writes last and in the order of bases."""
    written = _names(schema, given, written=True)
    names = sorted(written, key=lambda name: given[f"_{name}_base_index"])
    only_read = (each.name for each in schema.arguments if not _is_written(each))
    read = {name: given[name] for name in only_read if name in given}
    read |= dict.fromkeys(_names(schema, given, written=False))  # None: nothing is written
    return read | {name: _written(name, given, given[_BASES]) for name in names}


def _names(schema: Any, given: Mapping[str, Any], *, written: bool) -> list[str]:
    """The arguments that the op may write into, and does or does not."""
    names = [argument.name for argument in schema.arguments if _is_written(argument)]
    return [name for name in names if (given[f"_{name}_base_index"] is not None) == written]


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _written(name: str, given: Mapping[str, Any], bases: Sequence[Any]) -> Written:
    base = bases[given[f"_{name}_base_index"]]
    keys = [f"_{name}{end}" for end in _SLICE]
    return Written(base, tuple(given[key] for key in keys) if keys[0] in given else ())
