"""Index expressions as code: a `Dim` becomes i64 arithmetic in the outermost scope possible.

Sums and products are taken apart by scope: in `t*n1*n2 + i*n2 + j` the product `n1*n2` is computed
once per call, `t*n1*n2` once per task, and only `+ j` in the innermost loop.
"""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from anyshape.codegen.llvm.emit.division import floor_divmod
from anyshape.codegen.llvm.emit.lanes import Lanes, Tile, spread, uniform
from anyshape.codegen.llvm.emit.scope import Scope
from anyshape.codegen.llvm.emit.types import number
from anyshape.codegen.llvm.math.boundary import Builder, Value, constant
from anyshape.sym import Answer, Dim, LessEqual, Symbol
from anyshape.sym.factor import Bcast, CompoundFactor, FloorDiv, Max, Min, Mod


def linear_in(dim: Dim, symbol: Symbol) -> tuple[Dim, Dim] | None:
    """(a, b) with dim == a * symbol + b and no `symbol` in either; None if there are none."""
    slope, rest = Dim.of(0), Dim.of(0)
    for monomial, coefficient in dim.terms:
        term = Dim.of_terms({monomial: coefficient})
        if symbol not in term.symbols:
            rest += term
            continue
        others = tuple((factor, power) for factor, power in monomial if factor is not symbol)
        slope += Dim.of_terms({others: coefficient})
        if (symbol, 1) not in monomial:
            return None
    return None if symbol in slope.symbols else (slope, rest)


def scalar_index(scope: Scope, dim: Dim) -> Value:
    """The value of a dim that is the same in all lanes."""
    return _at(scope, dim, None, 0)


def index_lanes(scope: Scope, dim: Dim, tile: Tile | None) -> Lanes:
    """The value of a dim, as a value of the kernel."""
    home = scope.home(dim)
    if tile is None or not scope.is_varying(dim):
        return uniform(scalar_index(scope, dim), home)
    return Lanes(tuple(_at(scope, dim, tile, p) for p in range(tile.parts)), False, home)


def _at(scope: Scope, dim: Dim, tile: Tile | None, part: int) -> Value:
    """The scalar, or with a tile the vector of one part; written once into the dim's home."""
    home = scope.home(dim)
    if tile is not None and not scope.is_varying(dim):
        return spread(home, _at(home, dim, None, 0), tile.lanes)
    key = (dim, part) if tile is not None else dim
    if key not in home.memo:
        home.memo[key] = _emit(home, dim, tile, part)
    return home.memo[key]


def _emit(home: Scope, dim: Dim, tile: Tile | None, part: int) -> Value:
    if dim.constant is not None:
        return number(dim.constant)
    if dim.symbol is not None:
        return home.varying[dim.symbol](part) if tile is not None else home.indices[dim.symbol]
    if isinstance(dim.factor, CompoundFactor):
        return _compound(home, dim.factor, tile, part)
    return _sum(home, dim, tile, part) if len(dim.terms) > 1 else _product(home, dim, tile, part)


def _sum(home: Scope, dim: Dim, tile: Tile | None, part: int) -> Value:
    """What is known further out is one summand; negative terms are subtracted."""
    terms = [Dim.of_terms({monomial: c}) for monomial, c in dim.terms]
    outer = [term for term in terms if home.home(term) is not home]
    inner = [term for term in terms if home.home(term) is home]
    summands = [sum(outer, Dim.of(0)), *inner] if outer else inner
    summands.sort(key=_is_negative)
    total = _at(home, summands[0], tile, part)
    for term in summands[1:]:
        if _is_negative(term):
            total = home.b.sub(total, _at(home, -term, tile, part))
        else:
            total = home.b.add(total, _at(home, term, tile, part))
    return total


def _is_negative(dim: Dim) -> bool:
    return len(dim.terms) == 1 and dim.terms[0][1] < 0


def _product(home: Scope, dim: Dim, tile: Tile | None, part: int) -> Value:
    """What is known further out, the coefficient included, is one factor."""
    ((monomial, coefficient),) = dim.terms
    factors = [Dim.of_factor(factor) for factor, power in monomial for _ in range(power)]
    outer = [factor for factor in factors if home.home(factor) is not home]
    inner = [factor for factor in factors if home.home(factor) is home]
    first = reduce(Dim.__mul__, outer, Dim.of(coefficient))
    if first.constant == 1:
        first, *inner = inner
    values = [_at(home, factor, tile, part) for factor in (first, *inner)]
    return reduce(home.b.mul, values)


def _compound(home: Scope, factor: CompoundFactor, tile: Tile | None, part: int) -> Value:
    values = [_at(home, arg, tile, part) for arg in factor.args]
    b = home.b
    match factor:
        case FloorDiv() | Mod():
            return _division(home, factor, *values)
        case Min():
            return reduce(lambda x, y: b.select(b.icmp_signed("<", x, y), x, y), values)
        case Max():
            return reduce(lambda x, y: b.select(b.icmp_signed(">", x, y), x, y), values)
        case Bcast():
            return reduce(lambda x, y: _broadcast(b, x, y), values)
        case _:
            assert_never(factor)


def _broadcast(b: Builder, x: Value, y: Value) -> Value:
    return b.select(b.icmp_signed("==", x, constant(x.type, 1)), y, x)


def _division(home: Scope, factor: FloorDiv | Mod, num: Value, den: Value) -> Value:
    """One unsigned instruction where nothing is negative.

    It may run ahead of a loop that does not run at all, so a divisor of 0 must not trap.
    """
    b, whole = home.b, isinstance(factor, FloorDiv)
    positive = _at_least(home, factor.den, 1)
    if not positive:
        den = b.select(b.icmp_signed("==", den, constant(den.type, 0)), constant(den.type, 1), den)
    if positive and _at_least(home, factor.num, 0):
        return b.udiv(num, den) if whole else b.urem(num, den)
    quotient, remainder = floor_divmod(b, num, den)
    return quotient if whole else remainder


def _at_least(home: Scope, dim: Dim, bound: int) -> bool:
    return home.prover.proves(LessEqual(Dim.of(bound), dim)) is Answer.TRUE
