"""Symbolic sizes: dims, predicates, facts, the decision procedure, and bindings."""

from anyshape.sym.axis import Axis, parse_axis, read_axis
from anyshape.sym.axis_rule import axis_rule
from anyshape.sym.bindings import BindingPlan
from anyshape.sym.clamp import clamp_form, is_at_most
from anyshape.sym.decide import Answer, Prover
from anyshape.sym.dim import HOLE, Dim, DimLike, bcast, ceildiv, maximum, minimum, product, total
from anyshape.sym.facts import Fact, Facts, read_facts
from anyshape.sym.origin import Origin
from anyshape.sym.predicate import (
    Broadcastable,
    Divisible,
    Equal,
    Less,
    LessEqual,
    NotEqual,
    Predicate,
)
from anyshape.sym.ragged import RaggedAxis, ragged
from anyshape.sym.scope import FactScope
from anyshape.sym.symbol import Symbol
from anyshape.sym.text import (
    affine_equal,
    group_product_equal,
    parse_dim,
    parse_predicate,
    product_equal,
    read_dim,
    read_predicate,
)

__all__ = [
    "HOLE",
    "Answer",
    "Axis",
    "BindingPlan",
    "Broadcastable",
    "Dim",
    "DimLike",
    "Divisible",
    "Equal",
    "Fact",
    "FactScope",
    "Facts",
    "Less",
    "LessEqual",
    "NotEqual",
    "Origin",
    "Predicate",
    "Prover",
    "RaggedAxis",
    "Symbol",
    "affine_equal",
    "axis_rule",
    "bcast",
    "ceildiv",
    "clamp_form",
    "group_product_equal",
    "is_at_most",
    "maximum",
    "minimum",
    "parse_axis",
    "parse_dim",
    "parse_predicate",
    "product",
    "product_equal",
    "ragged",
    "read_axis",
    "read_dim",
    "read_facts",
    "read_predicate",
    "total",
]
