"""The functions by name, and `emit`, which generates one."""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Final

from anyshape.codegen.llvm.math.boundary import Builder, Value
from anyshape.codegen.llvm.math.error_function import erf
from anyshape.codegen.llvm.math.exponential import exp, expm1
from anyshape.codegen.llvm.math.hyperbolic import sigmoid, tanh
from anyshape.codegen.llvm.math.logarithm import log, log1p
from anyshape.codegen.llvm.math.power import pow
from anyshape.codegen.llvm.math.roots import rsqrt, sqrt
from anyshape.codegen.llvm.math.trigonometric import cos, sin
from anyshape.codegen.llvm.math.values import Float

Generator = Callable[..., Float]

FUNCTIONS: Final[Mapping[str, Generator]] = {
    "cos": cos,
    "erf": erf,
    "exp": exp,
    "expm1": expm1,
    "log": log,
    "log1p": log1p,
    "pow": pow,
    "rsqrt": rsqrt,
    "sigmoid": sigmoid,
    "sin": sin,
    "sqrt": sqrt,
    "tanh": tanh,
}


def arity(name: str) -> int:
    """How many arguments the function takes."""
    return len(signature(FUNCTIONS[name]).parameters)


def emit(b: Builder, name: str, *args: Value) -> Value:
    """Append the code of a function at the builder's position, and return its result.

    The arguments share one type: float, double, or a vector of either with any number of lanes.
    """
    if len({str(arg.type) for arg in args}) != 1 or len(args) != arity(name):
        found = ", ".join(str(arg.type) for arg in args)
        raise TypeError(f"{name} takes {arity(name)} argument(s) of one type; found ({found})")
    return FUNCTIONS[name](*(Float(b, arg) for arg in args)).value
