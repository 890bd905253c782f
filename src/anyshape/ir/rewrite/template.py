"""Building from a pattern: a replacement written with the captures of a match."""

from __future__ import annotations

from typing import assert_never

import numpy as np

from anyshape.ir.attrs import AttrValue, make_attrs
from anyshape.ir.build import Builder
from anyshape.ir.node import Value
from anyshape.ir.opdef import lookup
from anyshape.ir.rewrite.match import Match
from anyshape.ir.rewrite.pattern import (
    AttrCapture,
    AttrPattern,
    Bound,
    Const,
    OpPattern,
    Pattern,
    Var,
)


def instantiate(template: Pattern, found: Match, builder: Builder) -> Value:
    """The value that `template` describes. A number takes the dtype of the replaced value."""
    match template:
        case Var():
            return found[template.name]
        case Bound():
            return instantiate(template.pattern, found, builder)
        case Const():
            number = np.array(template.number).astype(found.root.tensor.dtype.numpy)
            return builder.constant(number)
        case OpPattern():
            return _instantiate_op(template, found, builder)
        case _:
            assert_never(template)


def _instantiate_op(template: OpPattern, found: Match, builder: Builder) -> Value:
    assert template.operands is not None, "a template names its operands"
    assert template.index is not None, "a template names its result"
    operands = [instantiate(operand, found, builder) for operand in template.operands]
    entry = lookup(template.op)
    given = {name: _attr_value(value, found) for name, value in template.attrs}
    attrs = make_attrs(template.op, entry.attrs, given)
    return builder.node(entry, operands, attrs).result(template.index)


def _attr_value(value: AttrPattern, found: Match) -> AttrValue:
    return found.attrs[value.name] if isinstance(value, AttrCapture) else value
