"""Ops without an entry in the table, as calls of torch's own kernels.

What such a call gives is what torch's meta kernel said of it (`node.meta["val"]`): sizes that are
arithmetic of axes stay so, all others are for the call to decide, as are those that torch itself
left open. Each call compares (`ops/torch_call.py`), so it does not matter what the meta kernel
asked about the example's sizes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from anyshape.base.errors import UnsupportedModelError
from anyshape.frontend.aten.complex_tensors import PARTS, ComplexTensor, is_complex, leaves
from anyshape.frontend.aten.dtypes import from_torch
from anyshape.frontend.aten.symbols import dim_of, hints_of
from anyshape.frontend.aten.written_operands import Written, call_arguments
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import Tracer, active
from anyshape.frontend.imported.conditions import require_of_data
from anyshape.ir.attrs import NO_ATTRS
from anyshape.ir.node import Value
from anyshape.ir.types import DType, bool_, f64
from anyshape.ops.torch_call import TorchCallAttrs
from anyshape.ops.torch_kernels import READS_MEMORY
from anyshape.sym import Dim, Equal

Dims = dict[str, Dim]
"""torch's symbols as dims; those that the graph computes are added where they are."""


# --- which ops ------------------------------------------------------------------------------------


def refusal(target: Any, *, on_copies: bool = False) -> str | None:
    """Why an op cannot be called on the host, or cannot on copies of what it writes into."""
    schema = getattr(target, "_schema", None)
    if schema is None or not hasattr(target, "overloadpacket"):
        return "which is no op of torch"
    if schema.is_mutable and not on_copies:
        return "which writes into its operands"
    dispatcher: Any = getattr(torch, "_C")  # noqa: B009 - torch has no types for it
    if not dispatcher._dispatch_has_computed_kernel_for_dispatch_key(target.name(), "CPU"):
        return "which has no kernel for the CPU"
    return None


_OWN_NAMESPACES = frozenset({"aten", "prims", "quantized", "quantized_decomposed", "torchvision"})


RECURRENT = frozenset(f"aten.{name}.input" for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"))
"""Ops that torch tags as random for what they do in training mode alone."""


def _has_effect(target: Any) -> bool:
    """Whether an op depends on more than its operands; nobody knows whether a custom one does."""
    return str(target) not in RECURRENT and (
        torch.Tag.nondeterministic_seeded in target.tags
        or target.namespace not in _OWN_NAMESPACES
        or not target._schema.returns
    )


# --- the call -------------------------------------------------------------------------------------


def host_call(node: Any, values: Mapping[Any, Any], dims: Dims) -> Any:
    """The results of a node, as the table's entries give them."""
    _check_layout(node)
    writer = _Writer(node, values)
    text = writer.call_text()
    results = list(_declared(node.meta.get("val"), dims))
    attrs = TorchCallAttrs(
        str(node.target),
        text,
        tuple(result.dtype for result in results),
        tuple(result.shape for result in results),
        tuple(writer.sizes),
    )
    made = iter(_emitted(node, writer.operands, attrs))
    returned = _returned(node.meta.get("val"), made)
    learn_sizes(node, returned, dims)
    return returned


def effectful_call(node: Any, values: Mapping[Any, Any], dims: Dims) -> list[Any]:
    """The results of torch's `with_effects`, which calls an op between two tokens of its own: they
    are passed on, since effects have an order here anyway."""
    token, target, *args = node.args
    _, *results = node.meta["val"]
    is_one = len(target._schema.returns) == 1
    value: Any = results[0] if is_one or not target._schema.returns else results
    inner = _InnerCall(target, tuple(args), node.kwargs, {"val": value})
    returned = host_call(inner, values, dims)
    return [values[token], *(returned if isinstance(value, list) else [returned])]


def functionalized_call(node: Any, values: Mapping[Any, Any], dims: Dims) -> list[Any]:
    """The results of a custom op that writes into operands, and what it made of these."""
    (target,) = node.args
    arguments = call_arguments(target._schema, node.kwargs)
    return host_call(_InnerCall(target, (), arguments, node.meta), values, dims)


@dataclass(frozen=True, slots=True)
class _InnerCall:
    """As much of a node as a call needs."""

    target: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    meta: Mapping[str, Any]


def _emitted(node: Any, operands: Sequence[Tensor], attrs: TorchCallAttrs) -> Sequence[Tensor]:
    tracer = active()
    values = [tracer.value(operand) for operand in operands]
    if not _has_effect(node.target):
        return tracer.node("torch_call", values, attrs)
    if tracer.parent is not None:
        fix = "call it outside of the branch or loop, and pass what it gives"
        raise tracer.refuse(f"{node.target} inside a branch or loop", fix)
    *results, after = tracer.node("torch_effect", [_token(tracer), *values], attrs)
    tracer.token = after.value
    return results


def _token(tracer: Tracer) -> Value:
    return tracer.token or tracer.node("token", (), NO_ATTRS)[0].value


_LIES_DENSE = frozenset({"aten.contiguous.default"})
"""Ops whose results lie row by row, whatever they are given."""


def reads_memory(node: Any) -> bool:
    """Whether the result of a node depends on how the inputs of its graph lie in memory: results of
    most ops lie as their operands do."""
    packet = getattr(node.target, "overloadpacket", None)
    if packet is None or packet.__name__ not in READS_MEMORY:
        return False
    return str(node.args[0].target) not in _LIES_DENSE


def _check_layout(node: Any) -> None:
    """Operands lie row by row here, and must do so for torch."""
    if node.target.overloadpacket.__name__ not in READS_MEMORY:
        return
    operand = node.args[0].meta["val"]
    ends = [math.prod(hints_of(operand.shape[i + 1 :])) for i in range(operand.dim())]
    if [*hints_of(operand.stride()), *hints_of([operand.storage_offset()])] != [*ends, 0]:
        fix = "call .contiguous() before"
        raise active().refuse(f"{node.target} of a tensor that is not contiguous", fix)


@dataclass
class _Writer:
    """The text of a call's arguments, and the operands and sizes that it mentions."""

    node: Any
    values: Mapping[Any, Any]
    operands: list[Tensor] = field(default_factory=list[Tensor])
    sizes: list[Dim] = field(default_factory=list[Dim])

    def call_text(self) -> str:
        positional = [self._text(argument) for argument in self.node.args]
        named = [f"{name}={self._text(value)}" for name, value in self.node.kwargs.items()]
        return ", ".join((*positional, *named))

    def _text(self, argument: Any) -> str:
        if isinstance(argument, torch.fx.Node):
            is_tensor = isinstance(argument.meta.get("val"), torch.Tensor)
            return self._value(self.values[argument], is_tensor=is_tensor)
        if isinstance(argument, (list, tuple)):
            return f"[{', '.join(self._text(item) for item in cast(Sequence[Any], argument))}]"
        if isinstance(argument, Written):
            parts = (argument.base, *argument.part)
            return f"written({', '.join(map(self._text, parts))})"
        if isinstance(argument, torch.device):
            return f"device('{argument}')"
        if isinstance(argument, (torch.dtype, torch.layout, torch.memory_format)):
            return str(argument)
        return self._value(argument, is_tensor=False)

    def _value(self, value: Any, *, is_tensor: bool) -> str:
        if isinstance(value, Tensor):
            return self._operand(value) if is_tensor else f"item({self._operand(value)})"
        if isinstance(value, ComplexTensor):
            return f"as_complex({self._operand(value.parts)})"
        if isinstance(value, Dim):
            return str(value.constant) if value.constant is not None else self._size(value)
        if isinstance(value, (list, tuple)):
            items = cast(Sequence[Any], value)
            return f"[{', '.join(self._value(item, is_tensor=True) for item in items)}]"
        if isinstance(value, complex):
            return f"complex({value.real!r}, {value.imag!r})"
        if value is None or isinstance(value, (bool, int, float, str)):
            return repr(value)
        what = f"{self.node.target} with a {type(value).__name__}"
        raise UnsupportedModelError("the model", {what: [""]}, "leave that argument out")

    def _operand(self, value: Tensor) -> str:
        known = [operand.value for operand in self.operands]  # tensors themselves compare elements
        if value.value not in known:
            self.operands.append(value)
            return f"x{len(known)}"
        return f"x{known.index(value.value)}"

    def _size(self, size: Dim) -> str:
        if size not in self.sizes:
            self.sizes.append(size)
        return f"n{self.sizes.index(size)}"


# --- results --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Declared:
    dtype: DType
    shape: tuple[Dim | None, ...]


def _declared(value: Any, dims: Dims) -> Iterator[_Declared]:
    """The arrays that a call gives, as `ops/torch_kernels` makes them of torch's results."""
    for leaf in leaves(value):
        if isinstance(leaf, torch.Tensor):
            shape = tuple(_dim(size, dims) for size in leaf.shape)
            if is_complex(leaf):
                yield _Declared(PARTS[leaf.dtype], (*shape, Dim.of(2)))
            else:
                yield _Declared(from_torch(leaf.dtype), shape)
        elif isinstance(leaf, (torch.SymInt, int)) and not isinstance(leaf, bool):
            yield from [_Declared(bool_, (None, Dim.of(0)))] * 2
        else:
            yield _Declared(bool_ if isinstance(leaf, (bool, torch.SymBool)) else f64, ())


def _returned(value: Any, made: Iterator[Tensor]) -> Any:
    """The results in torch's containers."""
    if isinstance(value, (list, tuple)):
        return [_returned(item, made) for item in cast(Sequence[Any], value)]
    if value is None:
        return None
    if isinstance(value, torch.Tensor):
        return ComplexTensor(next(made)) if is_complex(value) else next(made)
    if isinstance(value, (torch.SymInt, int)) and not isinstance(value, bool):
        return next(made).shape[0] - next(made).shape[0]
    return next(made)


# --- sizes ----------------------------------------------------------------------------------------


def _dim(size: Any, dims: Dims) -> Dim | None:
    """None for a size that the call decides."""
    if not hasattr(size, "node"):
        return Dim.of(int(size))
    try:
        return dim_of(size.node.expr, dims)
    except (KeyError, UnsupportedModelError):
        return None


def learn_sizes(node: Any, value: Any, dims: Dims) -> None:
    """Sizes that a node decides: torch's symbol for one is its dim from now on, and where torch
    knows of two that they belong together they are required to."""
    for dim, size in _sizes(value, node.meta.get("val")):
        expression = size.node.expr
        if expression.is_Symbol and expression.name not in dims:
            dims[expression.name] = dim
    for dim, size in _sizes(value, node.meta.get("val")):
        theirs = _dim(size, dims)
        if theirs is not None and theirs != dim:
            why = f"{node.target}: sizes that torch takes to be the same"
            require_of_data(active(), Equal(dim, theirs), why)


def _sizes(value: Any, known: Any) -> Iterator[tuple[Dim, Any]]:
    """Our sizes of a node's results with torch's symbolic ones."""
    if isinstance(known, (list, tuple)):
        for pair in zip(value, cast(Sequence[Any], known), strict=False):
            yield from _sizes(*pair)
    elif isinstance(known, torch.Tensor) and hasattr(value, "shape"):
        sizes: Any = known.shape
        pairs = zip(value.shape, sizes, strict=False)
        yield from ((dim, size) for dim, size in pairs if hasattr(size, "node"))
    elif isinstance(known, torch.SymInt) and isinstance(value, Dim):
        yield value, known
