"""Symbolic sizes: dims, predicates, facts, the decision procedure, and bindings."""

from anyshape.sym.dim import HOLE, Dim, DimLike, bcast, ceildiv, maximum, minimum, product
from anyshape.sym.predicate import (
    Broadcastable,
    Divisible,
    Equal,
    Less,
    LessEqual,
    NotEqual,
    Predicate,
)
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
    "Broadcastable",
    "Dim",
    "DimLike",
    "Divisible",
    "Equal",
    "Less",
    "LessEqual",
    "NotEqual",
    "Predicate",
    "Symbol",
    "affine_equal",
    "bcast",
    "ceildiv",
    "group_product_equal",
    "maximum",
    "minimum",
    "parse_dim",
    "parse_predicate",
    "product",
    "product_equal",
    "read_dim",
    "read_predicate",
]
