"""`@ash.jit`: a Python function that is traced and compiled once and runs at any shape.

    @ash.jit(axes=[ash.Axis("seq", min=1, max=512)], where="kv == seq")
    def scores(q: ash.f32["batch", "seq", 64], k: ash.f32["batch", "kv", 64]):
        return ash.softmax(q @ k.mT / 8)

Tracing happens at the first need: the first call, or `.graph`; compiling at the first call, or
`.executable`. Static parameters (see `frontend.builder.annotation`) are part of the program, so
each distinct combination of their values is traced and compiled by itself; the last `TRACE_LIMIT`
combinations are kept.
"""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, cast, overload

from numpy import ndarray

from anyshape.api.arguments import Binder, sort_arguments
from anyshape.api.traced import TracedProgram
from anyshape.base.errors import DTypeError, InputError, OptionError, TraceError
from anyshape.base.fork_lock import WorkLock
from anyshape.base.lazy import lazy_property
from anyshape.base.location import caller_location
from anyshape.base.options import Options
from anyshape.execute import CompileKeywords, CompileOptions, Executable, compile_graph
from anyshape.execute.tensors import is_torch
from anyshape.frontend.builder.annotation import (
    STATIC_TYPES,
    Parameters,
    StaticValue,
    parameters_of,
)
from anyshape.frontend.builder.declare import Declarations
from anyshape.frontend.builder.function import trace
from anyshape.frontend.builder.pytree import Leaf
from anyshape.frontend.builder.tracer import tracing
from anyshape.ir.graph import Graph
from anyshape.runtime.failures import RuntimeFailure
from anyshape.sym import Axis

P = ParamSpec("P")
R = TypeVar("R")

TRACE_LIMIT = 32
"""How many combinations of static values keep their programs, least recently used first out."""

StaticKey = tuple[tuple[type, StaticValue], ...]


class Jitted(Generic[P, R]):
    """A function and its programs. Calling it gives arrays in the containers it returns.

    Arguments and results are those of `Executable`: NumPy arrays, or torch tensors if any argument
    is one. Called while another function is traced, it is inlined. It may be called from many
    threads.
    """

    def __init__(
        self,
        function: Callable[P, R],
        declarations: Declarations,
        make: Callable[[Graph], Executable] = compile_graph,
    ) -> None:
        self._function = function
        self._declarations = declarations
        self._make = make
        self._parameters: Parameters | None = None
        self._programs: OrderedDict[StaticKey, TracedProgram] = OrderedDict()
        self._only: TracedProgram | None = None  # where arguments are arrays, nothing else
        self._lock = WorkLock()
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if tracing() is not None:
            return self._function(*args, **kwargs)
        only = self._only
        if only is not None and len(args) == only.arity and not kwargs:
            for array in args:
                if type(array) is not ndarray:
                    return only.call(args) if all(map(is_torch, args)) else self._call(args, {})
            try:
                return only.run(args)
            except (RuntimeFailure, DTypeError):
                pass  # found again below, in the words of the model
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> R:
        """Any arguments: containers, static values, arrays of other libraries."""
        given = self._binder.bind(args, kwargs)
        parameters = self._declared(given)
        arguments = sort_arguments(self._name, parameters, given)
        program = self._program(parameters, arguments.statics)
        results = program.call(arguments.arrays)
        if self._takes_arrays_only:
            self._only = program
        return results

    @property
    def graph(self) -> Graph:
        """The graph, traced if it has not been; parameters that are static need defaults."""
        return self.trace()

    def trace(self, **statics: Any) -> Graph:
        """The graph at these values of the static parameters; others have their defaults."""
        return self._program_at(statics).traced.graph

    @property
    def executable(self) -> Executable:
        """What calls run, compiled if it has not been; static parameters need defaults."""
        return self.compiled()

    def compiled(self, **statics: Any) -> Executable:
        """What calls run at these values of the static parameters."""
        return self._program_at(statics).executable

    # --- inside -------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        return getattr(self._function, "__name__", type(self._function).__name__)

    @lazy_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self._function)

    @lazy_property
    def _binder(self) -> Binder:
        return Binder(self._signature)

    @lazy_property
    def _takes_arrays_only(self) -> bool:
        """Whether each parameter is one array that may be passed by position: calls are short."""
        parameters = self._declared({})
        kinds = {parameter.kind for parameter in self._signature.parameters.values()}
        flat = all(isinstance(child, Leaf) for child in parameters.structure.children)
        return flat and not parameters.statics and inspect.Parameter.KEYWORD_ONLY not in kinds

    def _declared(self, given: Mapping[str, object]) -> Parameters:
        if self._parameters is None:
            self._parameters = parameters_of(self._function, given)
        return self._parameters

    def _program(self, parameters: Parameters, statics: Sequence[StaticValue]) -> TracedProgram:
        key = tuple((type(value), value) for value in statics)
        with self._lock:
            if key not in self._programs:
                made = trace(self._function, parameters, statics, self._declarations)
                self._programs[key] = TracedProgram(made, self._make)
                if len(self._programs) > TRACE_LIMIT:
                    self._programs.popitem(last=False)
            self._programs.move_to_end(key)
            return self._programs[key]

    def _program_at(self, statics: Mapping[str, object]) -> TracedProgram:
        parameters = self._declared({})
        return self._program(parameters, self._static_values(parameters, statics))

    def _static_values(
        self, parameters: Parameters, given: Mapping[str, object]
    ) -> list[StaticValue]:
        """One value for each static leaf, by path or inside the container of a parameter."""
        for name in sorted(given.keys() - set(parameters.statics)):
            known = ", ".join(parameters.statics) or "none"
            problem = f"'{name}' is no static parameter ({known})"
            raise TraceError(self._name, problem, "leave it out", caller_location())
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
            if type(value) not in STATIC_TYPES:
                problem = f"parameter '{path}' is static and was given a {type(value).__name__}"
                fix = "pass a bool, int, float, str or None"
                raise TraceError(self._name, problem, fix, caller_location())
            values.append(cast(StaticValue, value))
        return values


@overload
def jit(fn: Callable[P, R]) -> Jitted[P, R]: ...


@overload
def jit(
    *,
    axes: Sequence[Axis] = (),
    where: str | Sequence[str] = (),
    options: Options | None = None,
    **chosen: Unpack[CompileKeywords],
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    axes: Sequence[Axis] = (),
    where: str | Sequence[str] = (),
    options: Options | None = None,
    **chosen: Unpack[CompileKeywords],
) -> Any:
    """Traces and compiles `fn` once for all shapes its annotations allow.

    `axes` says more about axes than their names do, `where` holds predicates between them. What an
    op requires of sizes and nobody can prove is checked at run time; with `strict` it is an error,
    and so is an op without a native form. The rest is as in `compile`. With static parameters there
    are several Executables, and each has its own `result_cache` unless a `ResultCache` is given.
    """
    if fn is not None and not callable(fn):
        raise InputError("fn", f"is a {type(fn).__name__}, no function", "decorate a function")
    predicates = (where,) if isinstance(where, str) else where
    _check_items("axes", axes, Axis, 'a list of ash.Axis: [ash.Axis("seq", max=512)]')
    _check_items("where", predicates, str, 'a predicate as text, or a list: ["kv == seq"]')
    strict = CompileOptions.of(**chosen).strict
    declarations = Declarations(tuple(axes), tuple(predicates), strict, caller_location())
    make = functools.partial(compile_graph, options=options, **chosen)

    def wrap(function: Callable[..., Any]) -> Jitted[..., Any]:
        return Jitted(function, declarations, make)

    return wrap if fn is None else wrap(fn)


def _check_items(option: str, given: object, kind: type, expected: str) -> None:
    if not isinstance(given, (tuple, list)):
        raise OptionError(option, repr(given), expected)
    for item in cast(Sequence[object], given):
        if not isinstance(item, kind):
            raise OptionError(option, repr(item), expected)
