"""Dims as text: deterministic, and read back to the identical dim.

Style: `seq//2 + 1`, `3 - n` (a positive term leads where there is one), constants last, powers as
`n*n`. A quotient or remainder inside a product or behind a leading minus is parenthesised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyshape.sym.factor import Compound, Factor, FloorDiv, Mod
from anyshape.sym.monomial import Monomial
from anyshape.sym.symbol import Symbol

if TYPE_CHECKING:
    from anyshape.sym.dim import Dim


def dim_text(dim: Dim) -> str:
    """`dim` as text."""
    if not dim.terms:
        return "0"
    terms = list(dim.terms)
    lead = next((i for i, (_, coefficient) in enumerate(terms) if coefficient > 0), 0)
    terms.insert(0, terms.pop(lead))
    text = _term(*terms[0], leading=True)
    for monomial, coefficient in terms[1:]:
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} {_term(monomial, abs(coefficient))}"
    return text


def operand_text(dim: Dim) -> str:
    """`dim` as an operand of `//` or `%`: in parentheses unless it is atomic."""
    atomic = isinstance(dim.factor, Symbol) or _is_call(dim.factor) or (dim.constant or -1) >= 0
    return str(dim) if atomic or dim.constant == 0 else f"({dim})"


def _term(monomial: Monomial, coefficient: int, leading: bool = False) -> str:
    if not monomial:
        return str(coefficient)
    factors = [factor for factor, power in monomial for _ in range(power)]
    alone = len(factors) == 1 and (coefficient == 1 or (coefficient == -1 and not leading))
    parts = [_factor(factor, parenthesise=not alone) for factor in factors]
    if abs(coefficient) != 1:
        parts.insert(0, str(abs(coefficient)))
    return ("-" if coefficient < 0 else "") + "*".join(parts)


def _factor(factor: Factor, parenthesise: bool) -> str:
    match factor:
        case Symbol():
            return str(factor)
        case FloorDiv():
            text = f"{operand_text(factor.num)}//{operand_text(factor.den)}"
        case Mod():
            text = f"{operand_text(factor.num)} % {operand_text(factor.den)}"
        case _:
            return f"{type(factor).__name__.lower()}({', '.join(map(str, factor.args))})"
    return f"({text})" if parenthesise else text


def _is_call(factor: Factor | None) -> bool:
    return isinstance(factor, Compound) and not isinstance(factor, FloorDiv | Mod)
