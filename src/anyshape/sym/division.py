"""Rules that simplify `//` and `%`, each valid for all integers where the divisor is not 0.

Floor semantics as in Python. A quotient is only ever asked for where its divisor is not 0, so
rules may cancel: `(a*b*c)//(a*b) -> c`. Results are stable: applying the rules to the parts of a
result gives the result again, which is what makes printing and reading the identity.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from anyshape.base.errors import DimError
from anyshape.sym.factor import FloorDiv, Mod
from anyshape.sym.monomial import ONE, Monomial, common, divide
from anyshape.sym.terms import Coefficients

if TYPE_CHECKING:
    from anyshape.sym.dim import Dim

NOT_BY_ZERO = "divide by a number other than 0"


def floor_div(num: Dim, den: Dim) -> Dim:
    """`num // den`, simplified."""
    if den.constant is not None:
        return _floor_div_constant(num, den.constant)
    if den.terms[0][1] < 0:  # x // -y == -x // y, so that the divisor's sign is canonical
        num, den = -num, -den
    exact = exact_quotient(num, den)
    if exact is not None:
        return exact
    whole, rest = _split_divisible(num, den)
    rest, den, _ = _cancel(rest, den)
    if den.constant is not None:
        return whole + _floor_div_constant(rest, den.constant)
    return whole + num.of_factor(FloorDiv(rest, den))


def modulo(num: Dim, den: Dim) -> Dim:
    """`num % den`, simplified."""
    if den.constant is not None:
        return _modulo_constant(num, den.constant)
    if den.terms[0][1] < 0:  # x % -y == -(-x % y)
        return -modulo(-num, -den)
    num = _unwrap_mods(num, den)
    if exact_quotient(num, den) is not None:
        return num.of_terms({})
    _, rest = _split_divisible(num, den)
    rest, den, shared = _cancel(rest, den)
    if shared.constant != 1:  # (a*x) % (a*y) == a * (x % y)
        return shared * modulo(rest, den)
    return num.of_factor(Mod(rest, den))


def exact_quotient(num: Dim, den: Dim) -> Dim | None:
    """The polynomial `q` with `q * den` the same expression as `num`, if there is one."""
    lead, lead_coefficient = den.terms[0]
    quotient: Coefficients = {}
    while num.terms:
        monomial, coefficient = num.terms[0]
        part = divide(monomial, lead)
        if part is None or coefficient % lead_coefficient:
            return None
        quotient[part] = coefficient // lead_coefficient
        num = num - num.of_terms({part: quotient[part]}) * den
    return num.of_terms(quotient)


# --- constant divisors --------------------------------------------------------------------------


def _floor_div_constant(num: Dim, den: int) -> Dim:
    if den == 0:
        raise DimError(f"{num.text_as_operand}//0", "division by zero", NOT_BY_ZERO)
    if den < 0:
        num, den = -num, -den
    whole, rest = _truncate(num, den)
    if rest.constant is not None:  # already within 0..den-1
        return whole
    rest, den = _reduce_floor(rest, den)
    merged = _merge_nested(rest, den)
    return whole + (num.of_factor(FloorDiv(rest, num.of(den))) if merged is None else merged)


def _truncate(num: Dim, den: int) -> tuple[Dim, Dim]:
    """num == den*whole + rest with |coefficients of rest| < den and its constant in 0..den-1."""
    whole: Coefficients = {}
    for monomial, coefficient in num.terms:
        if monomial == ONE or coefficient > 0:
            whole[monomial] = coefficient // den
        else:
            whole[monomial] = -(-coefficient // den)
    rest = {monomial: c - den * whole[monomial] for monomial, c in num.terms}
    return num.of_terms(whole), num.of_terms(rest)


def _reduce_floor(num: Dim, den: int) -> tuple[Dim, int]:
    """(2*x + 1)//4 == x//2: the constant's part below the shared factor never carries."""
    shared = gcd(den, *(coefficient for monomial, coefficient in num.terms if monomial))
    if shared == 1:
        return num, den
    return num.of_terms({m: c // shared for m, c in num.terms}), den // shared


def _merge_nested(num: Dim, den: int) -> Dim | None:
    """(x//a + c)//b == (x + a*c)//(a*b) for positive a and b."""
    constant = dict(num.terms).get(ONE, 0)
    varying = [(monomial, c) for monomial, c in num.terms if monomial]
    match varying:
        case [(((FloorDiv() as inner, 1),), 1)]:
            step = inner.den.constant
            if step is None:
                return None
            return _floor_div_constant(inner.num + step * constant, step * den)
        case _:
            return None


def _modulo_constant(num: Dim, den: int) -> Dim:
    if den == 0:
        raise DimError(f"{num.text_as_operand} % 0", "division by zero", NOT_BY_ZERO)
    if den < 0:  # x % -d == -(-x % d)
        return -_modulo_constant(-num, -den)
    num = _unwrap_mods(num, num.of(den))
    num = num.of_terms({monomial: c % den for monomial, c in num.terms})
    if num.constant is not None:
        return num
    shared = gcd(den, *(coefficient for monomial, coefficient in num.terms if monomial))
    if shared == 1:
        return num.of_factor(Mod(num, num.of(den)))
    # (g*x + c) % (g*d) == g*((x + c//g) % d) + c % g
    below = dict(num.terms).get(ONE, 0) % shared
    inner = num.of_terms({monomial: c // shared for monomial, c in num.terms})
    return shared * _modulo_constant(inner, den // shared) + below


# --- shared steps -------------------------------------------------------------------------------


def _unwrap_mods(num: Dim, den: Dim) -> Dim:
    """c*(x % a) is c*x modulo den when den divides c*a."""
    for monomial, coefficient in num.terms:
        match monomial:
            case ((Mod() as inner, 1),) if exact_quotient(coefficient * inner.den, den) is not None:
                plain = num + coefficient * (inner.num - num.of_factor(inner))
                return _unwrap_mods(plain, den)
            case _:
                pass
    return num


def _split_divisible(num: Dim, den: Dim) -> tuple[Dim, Dim]:
    """num == den*whole + rest, where `whole` takes the terms that a one-term den divides."""
    whole: Coefficients = {}
    if len(den.terms) == 1:
        lead, lead_coefficient = den.terms[0]
        for monomial, coefficient in num.terms:
            part = divide(monomial, lead)
            if part is not None and coefficient % lead_coefficient == 0:
                whole[part] = coefficient // lead_coefficient
    taken = num.of_terms(whole)
    return taken, num - taken * den


def _cancel(num: Dim, den: Dim) -> tuple[Dim, Dim, Dim]:
    """Both divided by their greatest shared term, and that term."""
    terms = num.terms + den.terms
    monomial = common(m for m, _ in terms)
    coefficient = gcd(*(c for _, c in terms))
    shared = num.of_terms({monomial: coefficient})
    if shared.constant == 1:
        return num, den, shared
    return _divided(num, monomial, coefficient), _divided(den, monomial, coefficient), shared


def _divided(dim: Dim, monomial: Monomial, coefficient: int) -> Dim:
    parts = ((divide(m, monomial), c // coefficient) for m, c in dim.terms)
    return dim.of_terms({part: c for part, c in parts if part is not None})
