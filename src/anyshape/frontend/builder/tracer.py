"""A tracer turns calls of functions into nodes of one region.

While a function is traced, its tracer is the *active* one: functions such as `zeros` that take no
tensor find it there. This is the only ambient state of the frontend; it is a context variable, so
threads and tasks trace independently.

Regions are closed, yet Python functions close over tensors. Each tensor knows the tracer that made
it; when a tensor of an outer region is used, the tracer makes it a parameter of its own region and
notes the outer tensor as a capture, for every region on the way.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from anyshape.base.errors import AnyshapeError, TraceError
from anyshape.base.location import Location, caller_location
from anyshape.ir.attrs import Attrs, make_attrs
from anyshape.ir.build import Builder
from anyshape.ir.context import ShapeContext
from anyshape.ir.node import Region, Value
from anyshape.ir.opdef import lookup
from anyshape.ir.types import Shape, Type
from anyshape.ops.known import CONSTANT
from anyshape.sym import Answer, Dim, Origin, Predicate

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from anyshape.frontend.builder.tensor import Tensor

T = TypeVar("T")

_ACTIVE: ContextVar[Tracer | None] = ContextVar("anyshape_active_tracer", default=None)


class Tracer:
    """The tracing of one region, which belongs to `function`."""

    def __init__(
        self,
        function: str,
        builder: Builder,
        make: type[Tensor],
        parent: Tracer | None = None,
        axes: frozenset[str] = frozenset(),
        locate: Callable[[], Location | None] = caller_location,
    ) -> None:
        self.function = function
        self.builder = builder
        self.parent = parent
        self.axes = axes  # the names that size expressions in text may use
        self.captures: dict[Value, Value] = {}  # value outside -> parameter inside
        self.token: Value | None = None  # the order of effects so far
        self.locate = locate  # the line of the user's program that is being traced
        self._make = make
        self._analyses: dict[type, object] = {}
        self._tensors: list[weakref.ref[Tensor]] = []
        self._params: list[weakref.ref[Tensor]] = []

    def nested(self) -> Tracer:
        """A tracer for a region inside this one."""
        inner = self.builder.nested()
        return Tracer(self.function, inner, self._make, self, self.axes, self.locate)

    @contextmanager
    def active(self) -> Generator[None]:
        """Within, functions without tensor operands add to this region."""
        before = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(before)

    def analysis(self, kind: type[T]) -> T:
        """What an analysis has worked out about this region so far; nothing at the first use."""
        known = self._analyses.get(kind)
        if not isinstance(known, kind):
            known = self._analyses[kind] = kind()
        return known

    # --- values -------------------------------------------------------------------------------

    def param(self, type_: Type) -> Tensor:
        """The next parameter of the region."""
        tensor = self.tensor(self.builder.param(type_))
        self._params.append(weakref.ref(tensor))
        return tensor

    def is_param(self, tensor: Tensor) -> bool:
        """Whether this very object is a parameter; a copy of one has its value, too."""
        return any(ref() is tensor for ref in self._params)

    def tensor(self, value: Value) -> Tensor:
        tensor = self._make(value, self)
        self._tensors.append(weakref.ref(tensor))
        return tensor

    def alive(self) -> list[Tensor]:
        """The tensors of this region that somebody holds."""
        held = [(ref, tensor) for ref in self._tensors if (tensor := ref()) is not None]
        self._tensors = [ref for ref, _ in held]
        return [tensor for _, tensor in held]

    def value(self, tensor: Traced) -> Value:
        """The value inside this region; a tensor of a region around it is captured."""
        return tensor.value if tensor.tracer is self else self.capture(self._outer(tensor))

    def results(self, tensors: Sequence[Traced]) -> list[Value]:
        """What a graph gives: tensors, and the token that keeps effects alive, which evaluation
        leaves out."""
        values = [self.value(tensor) for tensor in tensors]
        return values if self.token is None else [*values, self.token]

    def _outer(self, tensor: Traced) -> Value:
        if self.parent is None:
            raise self.refuse(
                f"{tensor.type} belongs to a function whose tracing is over",
                "return tensors from the function that makes them instead of storing them",
            )
        return self.parent.value(tensor)

    def capture(self, outer: Value) -> Value:
        """The parameter that stands for a value of the region around this one. A constant needs
        none: it is one here, too, so that kernels of the region know it."""
        if outer.node.op is CONSTANT:
            return self.builder.node(CONSTANT, (), outer.node.attrs).result()
        if outer not in self.captures:
            assert self.parent is not None, "the entry has nothing around it"
            type_ = self.parent.builder.resolve_type(outer.type)
            self.captures[outer] = self.builder.param(type_)
        return self.captures[outer]

    # --- nodes --------------------------------------------------------------------------------

    def emit(self, op: str, *operands: Tensor, **attrs: object) -> Tensor:
        """The only result of `op`."""
        return self.emit_all(op, *operands, **attrs)[0]

    def emit_all(self, op: str, *operands: Tensor, **attrs: object) -> tuple[Tensor, ...]:
        """All results of `op`."""
        record = make_attrs(op, lookup(op).attrs, attrs)
        return self.node(op, [self.value(operand) for operand in operands], record)

    def node(
        self, op: str, operands: Sequence[Value], attrs: Attrs, regions: Sequence[Region] = ()
    ) -> tuple[Tensor, ...]:
        """All results of `op`; whatever is wrong with it is reported at the user's line."""
        with self.located():
            node = self.builder.node(lookup(op), operands, attrs, regions)
        return tuple(self.tensor(value) for value in node.results)

    def located(self) -> AbstractContextManager[None]:
        """Errors raised within carry the line of the user's program."""
        self.builder.location = self.locate()
        return _fill_location(self.builder.location)

    def refuse(self, problem: str, fix: str) -> TraceError:
        """An error to raise about what the user wrote."""
        return TraceError(self.function, problem, fix, self.locate())

    # --- sizes --------------------------------------------------------------------------------

    def proves(self, predicate: Predicate) -> bool:
        return self.builder.scope.proves(predicate) is Answer.TRUE

    def require(self, predicate: Predicate, why: str, origin: Origin = Origin.OP) -> None:
        """FALSE is an error now, UNKNOWN a check at run time."""
        with self.located():
            self.builder.scope.require(predicate, why, self.builder.location, origin)

    def broadcast(self, op: str, shapes: Sequence[Shape]) -> Shape:
        """The common shape, by the one broadcasting rule."""
        with self.located():
            location = self.builder.location
            return ShapeContext(lookup(op), self.builder.scope, location).broadcast(shapes)

    def dim(self, size: Dim | int | str) -> Dim:
        """A size as users write it: an integer, a dim, or the text of an expression."""
        with self.located():
            dim = self.builder.scope.resolve(Dim.of(size))
        for symbol in sorted(dim.symbols, key=str) if isinstance(size, str) else ():
            if symbol.name not in self.axes:
                known = ", ".join(sorted(self.axes)) or "none"
                raise self.refuse(
                    f"size '{size}' uses axis '{symbol}', which no parameter has (axes: {known})",
                    f"name an axis '{symbol}' in an annotation, or use a dim of `.shape`",
                )
        return dim


class Traced:
    """What every traced tensor is: a value, and the tracer of the region it lives in."""

    __slots__ = ("__weakref__", "tracer", "value")

    def __init__(self, value: Value, tracer: Tracer) -> None:
        self.value = value
        self.tracer = tracer

    @property
    def type(self) -> Type:
        return self.tracer.builder.resolve_type(self.value.type)


@contextmanager
def _fill_location(location: Location | None) -> Generator[None]:
    try:
        yield
    except AnyshapeError as error:
        if getattr(error, "location", location) is None:
            error.location = location  # pyright: ignore[reportAttributeAccessIssue]
        raise


def is_tensor(thing: object) -> TypeIs[Tensor]:
    """Whether `thing` is a traced tensor."""
    return isinstance(thing, Traced)


tracing: Callable[[], Tracer | None] = _ACTIVE.get
"""The active tracer, if a function is being traced. Every call of a jitted function asks, so this
is the variable's own method: a function around it would cost nine times as much."""


def active() -> Tracer:
    """The active tracer; an error outside of tracing."""
    tracer = _ACTIVE.get()
    if tracer is None:
        raise TraceError(
            "anyshape",
            "this function builds a graph, and nothing is being traced here",
            "call it inside a function decorated with @ash.jit",
            caller_location(),
        )
    return tracer
