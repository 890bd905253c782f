"""The graph language: types, nodes, graphs, op entries, text, verifier and interpreter."""

from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import evaluate
from anyshape.ir.literal import WeightStore
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.opdef import OpDef, all_ops, lookup
from anyshape.ir.text.parser import parse
from anyshape.ir.types import DType, TensorType, TokenType
from anyshape.ir.verify import verify

__all__ = [
    "Builder",
    "DType",
    "Graph",
    "Node",
    "OpDef",
    "Region",
    "TensorType",
    "TokenType",
    "Value",
    "WeightStore",
    "all_ops",
    "evaluate",
    "lookup",
    "parse",
    "verify",
]
