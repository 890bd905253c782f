"""What an op is: one declarative entry.

An entry has a signature, typed attributes, a dtype rule and a shape rule (separate, small, pure),
and a NumPy `reference` or a `decompose` into simpler ops. The reference is its definition, or the
decomposition where there is none; with both, kernels compute the decomposition. Ops with regions
or effects have one `type_rule` instead of the two.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from anyshape.base.errors import OperandError, UnknownOpError
from anyshape.ir.attrs import A, Attrs
from anyshape.ir.literal import WeightStore
from anyshape.ir.mixing import Link, aligned
from anyshape.ir.node import Node, Region, Value
from anyshape.ir.types import Array, DType, Shape, TensorType, Type

if TYPE_CHECKING:
    from anyshape.ir.build import Builder
    from anyshape.ir.context import ShapeContext

# A rule that works for all attributes serves every op; a call with particular ones is a call.
A_contra = TypeVar("A_contra", bound=Attrs, contravariant=True)
A_co = TypeVar("A_co", bound=Attrs, covariant=True)


class Trait(Enum):
    """Algebraic and structural facts that passes use."""

    ELEMENTWISE = "one output element per broadcast position, from the operands' there"
    COMMUTATIVE = "operands may be swapped"
    ASSOCIATIVE = "grouping does not matter (up to rounding)"
    IDEMPOTENT = "f(f(x)) = f(x), or f(x, x) = x"
    INVOLUTION = "f(f(x)) = x"
    INDEXED = "each element is an operand's element at a computed index, or a number"
    REDUCTION = "combines the elements along attribute `axes` or `axis`"
    CONTRACTION = "sums products of elements of two operands"
    ROWWISE = "same shape; an element depends on its row: the axes from attribute `axis` on"
    ALONE = "a kernel of its own: reads and writes in an order that nothing else shares"
    ALIAS = "same elements in the same order: the result may share the operand's buffer"
    EFFECT = "takes a token and gives a new one; never merged, moved or dropped"


@dataclass(frozen=True, slots=True)
class Call(Generic[A_co]):
    """One application of an op to concrete values, as a reference sees it."""

    attrs: A_co  # every dim in it is a constant
    args: tuple[Array, ...]
    types: tuple[Type, ...]  # the declared result types at this binding; late dims still symbolic
    weights: WeightStore
    run: Callable[[int, Sequence[Array]], tuple[Array, ...]]  # evaluates region i

    @property
    def result(self) -> TensorType:
        result = self.types[0]
        assert isinstance(result, TensorType)
        return result


Results = Array | tuple[Array, ...]


class DTypeRule(Protocol[A_contra]):
    def __call__(
        self, op: str, dtypes: Sequence[DType], attrs: A_contra, /
    ) -> tuple[DType, ...]: ...


class ShapeRule(Protocol[A_contra]):
    def __call__(
        self, ctx: ShapeContext, shapes: Sequence[Shape], attrs: A_contra, /
    ) -> tuple[Shape, ...]: ...


class TypeRule(Protocol[A_contra]):
    def __call__(
        self,
        ctx: ShapeContext,
        types: Sequence[Type],
        attrs: A_contra,
        regions: Sequence[Region],
        /,
    ) -> tuple[Type, ...]: ...


class Decompose(Protocol[A_contra]):
    def __call__(self, b: Builder, operands: Sequence[Value], attrs: A_contra, /) -> Value: ...


class MixingRule(Protocol[A_contra]):
    def __call__(self, shapes: Sequence[Shape], attrs: A_contra, /) -> Sequence[Link]: ...


@dataclass(frozen=True, slots=True)
class Signature:
    """Operand names; `x?` may be left out (from the right), a last `xs*` repeats."""

    names: tuple[str, ...]

    @property
    def required(self) -> int:
        return sum(not name.endswith(("?", "*")) for name in self.names)

    @property
    def limit(self) -> int | None:
        return None if self.names and self.names[-1].endswith("*") else len(self.names)

    def name(self, index: int) -> str:
        """What messages call operand `index`."""
        if index < len(self.names) and not self.names[index].endswith("*"):
            return self.names[index].rstrip("?")
        return f"{self.names[-1].rstrip('*')}[{index - len(self.names) + 1}]"

    def check(self, op: str, count: int) -> None:
        if count < self.required or (self.limit is not None and count > self.limit):
            wanted = str(self.required) if self.limit == self.required else f"{self}"
            raise OperandError(op, f"got {count} operands, expected {wanted}", f"{op}{self}")

    def __str__(self) -> str:
        return "(" + ", ".join(self.names) + ")"


@dataclass(frozen=True, eq=False)
class OpDef(Generic[A]):
    """One op. Equality is identity; there is one entry per name."""

    name: str
    signature: Signature
    attrs: type[A]
    dtype_rule: DTypeRule[A] | None = None
    shape_rule: ShapeRule[A] | None = None
    type_rule: TypeRule[A] | None = None
    reference: Callable[[Call[A]], Results] | None = None
    decompose: Decompose[A] | None = None
    regions: tuple[str, ...] = ()
    traits: frozenset[Trait] = frozenset()
    neutral: float | None = None  # f(x, neutral) = x; infinite for extrema, of any dtype
    ufunc: np.ufunc | None = None  # of elementwise ops that NumPy has, and can reduce with
    mixing: MixingRule[A] | None = None  # what it does along axes; None: it sees them whole
    combine: AnyOp | None = None  # the op of two that it puts elements together with
    cost: int = 1  # for each element of the result, in additions; what costs 1 is not worth keeping
    generated: bool = False  # an elementwise primitive that code generation has under its name
    public: bool = False  # users have a function, a method and PyTorch's op of this name
    doc: str = field(default="", kw_only=True)

    @property
    def is_compound(self) -> bool:
        return self.decompose is not None

    @property
    def is_cheap(self) -> bool:
        """Whether computing an element again takes no longer than keeping it."""
        return self.cost == 1

    def has(self, trait: Trait) -> bool:
        return trait in self.traits

    def links(self, shapes: Sequence[Shape], attrs: A) -> Sequence[Link] | None:
        """What it does along the axes of operands of these shapes; None if it sees all whole."""
        if self.mixing is not None:
            return self.mixing(shapes, attrs)
        return aligned(shapes) if self.has(Trait.ELEMENTWISE) else None

    def neutral_in(self, dtype: DType) -> float | int | bool:
        """The neutral element in a dtype: of extrema the lowest or the highest there is."""
        neutral = self.neutral
        assert neutral is not None, f"{self.name} has no neutral element"
        if neutral == -math.inf:
            return dtype.lowest
        return dtype.highest if neutral == math.inf else dtype.numpy.type(neutral).item()

    def __repr__(self) -> str:
        return f"OpDef({self.name})"


AnyOp = OpDef[Any]

_REGISTRY: dict[str, AnyOp] = {}


def register(op: OpDef[A]) -> OpDef[A]:
    """Adds an entry; a name is taken once."""
    if op.name in _REGISTRY:
        raise ValueError(f"op '{op.name}' is registered twice")
    if op.reference is None and op.decompose is None:
        raise ValueError(f"op '{op.name}' needs a reference or a decomposition")
    if (op.type_rule is None) == (op.shape_rule is None or op.dtype_rule is None):
        raise ValueError(f"op '{op.name}' needs a dtype and a shape rule, or one type rule")
    _REGISTRY[op.name] = op
    return op


def _filled() -> dict[str, AnyOp]:
    """The registry with all entries. They stand in the layer above, which imports this one; whoever
    asks before they are imported has them imported."""
    import_module("anyshape.ops")
    return _REGISTRY


def lookup(name: str) -> AnyOp:
    found = _REGISTRY.get(name) or _filled().get(name)
    if found is None:
        raise UnknownOpError(name, difflib.get_close_matches(name, _REGISTRY, n=2))
    return found


def all_ops() -> list[AnyOp]:
    """Every registered op, by name."""
    return [op for _, op in sorted(_filled().items())]


@dataclass(frozen=True)
class ParamAttrs(Attrs):
    """Position of a parameter in its region."""

    index: int


def param_index(node: Node) -> int:
    """The position of a parameter."""
    return node.attrs_as(ParamAttrs).index


def _not_inferred(*_: object) -> tuple[Type, ...]:
    raise AssertionError("parameters are given their types")


def _not_called(_: Call[ParamAttrs]) -> Results:
    raise AssertionError("parameters are given their values")


PARAM = OpDef("param", Signature(()), ParamAttrs, type_rule=_not_inferred, reference=_not_called)
"""The node of a region's parameter. Not in the registry: nobody writes it."""
