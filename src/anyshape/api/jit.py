"""`@ash.jit`: a Python function that is traced once and runs at any shape.

    @ash.jit(axes=[ash.Axis("seq", min=1, max=512)], where="kv == seq")
    def scores(q: ash.f32["batch", "seq", 64], k: ash.f32["batch", "kv", 64]):
        return ash.softmax(q @ k.mT / 8)

Tracing happens at the first need: the first call, or `.graph`. Static parameters (see
`frontend.builder.annotation`) are part of the program, so each distinct combination of their values
is traced by itself; the last `TRACE_LIMIT` combinations are kept.
"""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from anyshape.api.arguments import owned, sort_arguments
from anyshape.base.errors import TraceError
from anyshape.base.location import caller_location
from anyshape.frontend.builder.annotation import Parameters, StaticValue, parameters_of
from anyshape.frontend.builder.declare import Declarations
from anyshape.frontend.builder.function import TracedFunction, trace
from anyshape.frontend.builder.pytree import unflatten
from anyshape.frontend.builder.tracer import tracing
from anyshape.ir.graph import Graph
from anyshape.ir.interpret import evaluate
from anyshape.sym import Axis

P = ParamSpec("P")
R = TypeVar("R")

TRACE_LIMIT = 32
"""How many combinations of static values keep their traces, least recently used first out."""

StaticKey = tuple[tuple[type, StaticValue], ...]


class Jitted(Generic[P, R]):
    """A function and its traces. Calling it gives NumPy arrays in the containers it returns.

    Called while another function is traced, it is inlined. It may be called from many threads.
    """

    def __init__(self, function: Callable[P, R], declarations: Declarations) -> None:
        self._function = function
        self._declarations = declarations
        self._parameters: Parameters | None = None
        self._traces: OrderedDict[StaticKey, TracedFunction] = OrderedDict()
        self._lock = RLock()
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if tracing() is not None:
            return self._function(*args, **kwargs)
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        parameters = self._declared(bound.arguments)
        arguments = sort_arguments(self._name, parameters, bound.arguments)
        traced = self._traced(parameters, arguments.statics)
        results = evaluate(traced.graph, *arguments.arrays)
        return cast(R, unflatten(traced.result, [owned(array) for array in results]))

    @property
    def graph(self) -> Graph:
        """The graph, traced if it has not been; parameters that are static need defaults."""
        return self.trace()

    def trace(self, **statics: Any) -> Graph:
        """The graph at these values of the static parameters; others have their defaults."""
        parameters = self._declared({})
        return self._traced(parameters, self._static_values(parameters, statics)).graph

    # --- inside -------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return getattr(self._function, "__name__", type(self._function).__name__)

    @property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._function)

    def _declared(self, given: Mapping[str, object]) -> Parameters:
        if self._parameters is None:
            self._parameters = parameters_of(self._function, given)
        return self._parameters

    def _traced(self, parameters: Parameters, statics: Sequence[StaticValue]) -> TracedFunction:
        key = tuple((type(value), value) for value in statics)
        with self._lock:
            if key not in self._traces:
                made = trace(self._function, parameters, statics, self._declarations)
                self._traces[key] = made
                if len(self._traces) > TRACE_LIMIT:
                    self._traces.popitem(last=False)
            self._traces.move_to_end(key)
            return self._traces[key]

    def _static_values(
        self, parameters: Parameters, given: Mapping[str, object]
    ) -> list[StaticValue]:
        """One value for each static leaf, by path or inside the container of a parameter."""
        values: list[StaticValue] = []
        defaults = {name: p.default for name, p in self._signature.parameters.items()}
        for path in parameters.statics:
            value = given.get(path, defaults.get(path, inspect.Parameter.empty))
            if value is inspect.Parameter.empty:
                raise TraceError(
                    self._name,
                    f"parameter '{path}' is static and has no default",
                    f"use .trace({path}=...) instead of .graph",
                    caller_location(),
                )
            values.append(cast(StaticValue, value))
        return values


@overload
def jit(fn: Callable[P, R]) -> Jitted[P, R]: ...


@overload
def jit(
    *, axes: Sequence[Axis] = (), where: str | Sequence[str] = (), strict: bool = False
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    axes: Sequence[Axis] = (),
    where: str | Sequence[str] = (),
    strict: bool = False,
) -> Any:
    """Traces `fn` once for all shapes its annotations allow; calls are evaluated by the reference.

    `axes` says more about axes than their names do, `where` holds predicates between them. What an
    op requires of sizes and nobody can prove is checked at run time; with `strict` it is an error.
    """
    predicates = (where,) if isinstance(where, str) else tuple(where)
    declarations = Declarations(tuple(axes), predicates, strict, caller_location())

    def wrap(function: Callable[..., Any]) -> Jitted[..., Any]:
        return Jitted(function, declarations)

    return wrap if fn is None else wrap(fn)
