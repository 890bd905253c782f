"""sin and cos.

|x| = q π/2 + r with |r| <= π/4 (`reduction.py`). The polynomial of sin r or of cos r, with a sign,
is the result; the quarter q says which: sin goes r, cos r, -sin r, -cos r.
"""

from anyshape.codegen.llvm.math.coefficients import COS, SIN
from anyshape.codegen.llvm.math.polynomial import polynomial
from anyshape.codegen.llvm.math.reduction import Reduced, reduced
from anyshape.codegen.llvm.math.values import Float, Int, select


def sin(x: Float) -> Float:
    """The sine: odd, so computed of |x| and given x's sign."""
    turn = reduced(abs(x))
    sign = x.bits() & x.format.sign
    return _with_sign_flipped(_quarter_wave(turn), sign ^ _sign_of_turn(turn.quarter, x))


def cos(x: Float) -> Float:
    """The cosine: a sine one quarter ahead."""
    turn = reduced(abs(x))
    ahead = turn._replace(quarter=turn.quarter + 1)
    return _with_sign_flipped(_quarter_wave(ahead), _sign_of_turn(ahead.quarter, x))


def _quarter_wave(turn: Reduced) -> Float:
    """sin r in even quarters, cos r in odd ones, for r = high + low."""
    r, low = turn.high, turn.low
    z = r * r
    odd = (turn.quarter & 1).equals(1)
    return select(odd, _cos_of_remainder(r, low, z), _sin_of_remainder(r, low, z))


def _sin_of_remainder(r: Float, low: Float | None, z: Float) -> Float:
    """sin(r + low) = sin r + low cos r, where 1 - r²/2 is cosine enough for so small a term."""
    terms = polynomial(z, SIN[r.format.name])
    if low is None:
        return terms.fma(z * r, r)
    return r + terms.fma(z * r, low.fma(z * -0.5, low))


def _cos_of_remainder(r: Float, low: Float | None, z: Float) -> Float:
    """cos(r + low) = 1 - (r²/2 + low r - r⁴ P)."""
    terms = polynomial(z, COS[r.format.name])
    half = 0.5 * z
    return 1.0 - terms.fma(-(z * z), half if low is None else low.fma(r, half))


def _sign_of_turn(quarter: Int, x: Float) -> Int:
    """The sign bit in the third and fourth quarter."""
    return (quarter & 2) << (x.format.bits - 2)


def _with_sign_flipped(value: Float, sign: Int) -> Float:
    return (value.bits() ^ sign).as_float()
