"""Fits every polynomial of `anyshape.codegen.llvm.math` and writes its `coefficients.py`.

    python tools/fit_math.py            # prints the error of each fit, then writes the file

A fit is minimax: of all polynomials P of the given length it takes the one whose largest weighted
error |weight(t) * (target(t) - P(t))| over the interval is least, found with Remez's exchange on a
grid. `weight` turns an error of P into a relative error of the function that P is a part of.

Coefficients are then rounded to the type. The error printed is that of the rounded ones.

Arithmetic is mpmath's, with digits enough for the cancellation in (exp r - 1 - r)/r² and its kin.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpmath import mp, mpf

DIGITS = 70
GRID = 800  # even: no point at the middle, where some targets are 0/0
OUTPUT = Path(__file__).parents[1] / "src/anyshape/codegen/llvm/math/coefficients.py"

Real = mpf
Function = Callable[[Real], Real]
Sample = tuple[Real, Real, Real]  # t, target(t), weight(t)


@dataclass(frozen=True)
class Fit:
    """One polynomial: P(t) ≈ target(t) for t in [low, high], `terms` = its length per type."""

    name: str
    law: str  # how the polynomial is used; becomes the comment beside it
    target: Function
    weight: Function
    low: float
    high: float
    terms: dict[str, int]  # "f32", "f64" -> number of coefficients


# --- Remez's exchange ----------------------------------------------------------------------------


def chebyshev_grid(low: float, high: float, count: int) -> list[Real]:
    """Points of [low, high] that crowd at both ends, as the extrema of a minimax error do."""
    middle, radius = (low + high) / 2, (high - low) / 2
    return [middle - radius * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def horner(coefficients: Sequence[Real], t: Real) -> Real:
    value = mpf(0)
    for c in reversed(coefficients):
        value = value * t + c
    return value


def level_fit(points: Sequence[Sample]) -> list[Real]:
    """The coefficients whose weighted error is ±E, alternating, at the given points."""
    terms = len(points) - 1
    rows = [
        [w * t**k for k in range(terms)] + [mpf((-1) ** i)] for i, (t, _, w) in enumerate(points)
    ]
    right = [w * f for _, f, w in points]
    solution = mp.lu_solve(mp.matrix(rows), mp.matrix(right))
    return [solution[k] for k in range(terms)]


def alternation(errors: Sequence[Real], count: int) -> list[int]:
    """Indices of `count` neighbouring extrema of alternating sign, the largest such run."""
    peaks: list[int] = []
    for i, error in enumerate(errors):
        if peaks and (error > 0) == (errors[peaks[-1]] > 0):
            peaks[-1] = max(peaks[-1], i, key=lambda k: abs(errors[k]))
        else:
            peaks.append(i)
    while len(peaks) > count:
        weaker = 0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1
        peaks.pop(weaker)
    return peaks


def remez(samples: Sequence[Sample], terms: int) -> list[Real]:
    """Minimax coefficients, `terms` of them, over the samples."""
    last = len(samples) - 1
    chosen = [round(last * (1 - mp.cos(mp.pi * i / terms)) / 2) for i in range(terms + 1)]
    coefficients: list[Real] = []
    for _ in range(30):
        coefficients = level_fit([samples[i] for i in chosen])
        errors = [w * (f - horner(coefficients, t)) for t, f, w in samples]
        peaks = alternation(errors, terms + 1)
        if len(peaks) <= terms or peaks == chosen:
            break
        chosen = peaks
    return coefficients


# --- rounding ------------------------------------------------------------------------------------


def rounded(value: Real, kind: str) -> float:
    if kind == "f64":
        return float(value)
    return struct.unpack("f", struct.pack("f", float(value)))[0]


def fitted(fit: Fit, kind: str) -> tuple[list[float], Real]:
    """The rounded coefficients and their largest weighted error."""
    grid = chebyshev_grid(fit.low, fit.high, GRID)
    samples = [(t, fit.target(t), fit.weight(t)) for t in grid]
    numbers = [rounded(c, kind) for c in remez(samples, fit.terms[kind])]
    exact = [mpf(c) for c in numbers]
    return numbers, max(abs(w * (f - horner(exact, t))) for t, f, w in samples)


# --- what is fitted ------------------------------------------------------------------------------

# Ends of the intervals. Each is a little beyond what reduction leaves, as that rounds too.
HALF_LN2 = 0.347
S_MAX = 0.1716  # (√2 - 1) / (√2 + 1)
QUARTER_PI = 0.8
TANH_SPLIT = 0.6
ERF_SPLIT = 1.0
ERF_END = {"f32": 4.0, "f64": 6.0}  # erf rounds to 1 from here on

# The denominator of erf in f32: of the best quotient of two polynomials of six terms, found once by
# weighted least squares, times a number for which the coefficients round well. All are positive.
# The numerator is fitted to it below.
ERF_DENOMINATOR = (1.5766997, 0.79600966, 0.18187284, 0.023977384, 0.0018693056, 5.9000482e-05)


def root(function: Function) -> Function:
    """The same function of z = t²."""
    return lambda z: function(mp.sqrt(z))


def atanh_tail(s: Real) -> Real:
    return 2 * (mp.atanh(s) - s) / s**3


def erf_denominator(x: Real) -> Real:
    return horner([mpf(rounded(c, "f32")) for c in ERF_DENOMINATOR], x**2)


FITS = (
    Fit(
        "EXP",
        "exp(r) = 1 + r + r² P(r), |r| <= ln(2)/2",
        lambda r: (mp.expm1(r) - r) / r**2,
        lambda r: r**2 / mp.exp(r),
        -HALF_LN2,
        HALF_LN2,
        {"f32": 5, "f64": 10},
    ),
    Fit(
        "LOG",
        "log((1+s)/(1-s)) = 2s + s³ P(s²), |s| <= 0.1716",
        root(atanh_tail),
        root(lambda s: s**3 / (2 * mp.atanh(s))),
        0.0,
        S_MAX**2,
        {"f32": 3, "f64": 7},
    ),
    Fit(
        "POW32_LOG",
        "as LOG, to 2**-40: what pow needs of f32",
        root(atanh_tail),
        root(lambda s: s**3 / (2 * mp.atanh(s))),
        0.0,
        S_MAX**2,
        {"f64": 5},
    ),
    Fit(
        "POW64_LOG",
        "log((1+s)/(1-s)) = 2s + s³ (2/3 + s² P(s²)), to 2**-68",
        root(lambda s: (atanh_tail(s) - mpf(2) / 3) / s**2),
        root(lambda s: s**5 / (2 * mp.atanh(s))),
        0.0,
        S_MAX**2,
        {"f64": 9},
    ),
    Fit(
        "TANH",
        "tanh(x) = x + x³ P(x²), |x| <= 0.6",
        root(lambda x: (mp.tanh(x) - x) / x**3),
        root(lambda x: x**3 / mp.tanh(x)),
        0.0,
        TANH_SPLIT**2,
        {"f32": 5, "f64": 11},
    ),
    Fit(
        "ERF",
        "erf(x) = x + x P(x²), |x| <= 1",
        root(lambda x: mp.erf(x) / x - 1),
        root(lambda x: x / mp.erf(x)),
        0.0,
        ERF_SPLIT**2,
        {"f64": 14},
    ),
    Fit(
        "ERF_TAIL",
        "log(1 - erf(1 + t)) = P(t)",
        lambda t: mp.log(mp.erfc(ERF_SPLIT + t)),
        lambda t: mp.erfc(ERF_SPLIT + t) / mp.erf(ERF_SPLIT + t),
        0.0,
        ERF_END["f64"] - ERF_SPLIT,
        {"f64": 22},
    ),
    Fit(
        "ERF_NUMERATOR",
        "erf(x) = x (1/4 + P(x²) / ERF_DENOMINATOR(x²)), |x| <= 4",
        root(lambda x: (mp.erf(x) / x - mpf(1) / 4) * erf_denominator(x)),
        root(lambda x: x / mp.erf(x) / erf_denominator(x)),
        0.0,
        ERF_END["f32"] ** 2,
        {"f32": 6},
    ),
    Fit(
        "SIN",
        "sin(r) = r + r³ P(r²), |r| <= π/4",
        root(lambda r: (mp.sin(r) - r) / r**3),
        root(lambda r: r**3 / mp.sin(r)),
        0.0,
        QUARTER_PI**2,
        {"f32": 3, "f64": 6},
    ),
    Fit(
        "COS",
        "cos(r) = 1 - r²/2 + r⁴ P(r²), |r| <= π/4",
        root(lambda r: (mp.cos(r) - 1 + r**2 / 2) / r**4),
        root(lambda r: r**4 / mp.cos(r)),
        0.0,
        QUARTER_PI**2,
        {"f32": 3, "f64": 6},
    ),
)

# --- constants in parts --------------------------------------------------------------------------

TWO_OVER_PI_WORDS = 21  # 64 zero bits, then what an f64 of exponent 1023 can reach


def truncated(value: Real, bits: int) -> Real:
    """`value` with the given number of significant bits, so that small multiples are exact."""
    scale = mpf(2) ** (bits - 1 - mp.floor(mp.log(abs(value), 2)))
    return mp.floor(value * scale) / scale


def parts(value: Real, kind: str, count: int, first_bits: int | None = None) -> list[float]:
    """Numbers of the type whose sum is `value` to `count` times the type's precision."""
    result: list[float] = []
    for i in range(count):
        first = i == 0 and first_bits is not None
        part = float(truncated(value, first_bits)) if first else rounded(value, kind)
        result.append(part)
        value = value - mpf(part)
    return result


def two_over_pi() -> list[int]:
    with mp.workprec(64 * TWO_OVER_PI_WORDS + 64):
        digits = int(mp.floor(2 / mp.pi * mpf(2) ** (64 * (TWO_OVER_PI_WORDS - 1))))
    mask = (1 << 64) - 1
    return [(digits >> (64 * (TWO_OVER_PI_WORDS - 1 - i))) & mask for i in range(TWO_OVER_PI_WORDS)]


def constants() -> dict[str, dict[str, list[float]]]:
    ln2, half_pi = mp.log(2), mp.pi / 2
    return {
        # the exponent has 8 or 11 bits: with as many zeros below, e * LN2[0] is exact
        "LN2": {"f32": parts(ln2, "f32", 2, 15), "f64": parts(ln2, "f64", 2, 41)},
        "HALF_PI": {"f32": parts(half_pi, "f32", 3), "f64": parts(half_pi, "f64", 3)},
        "ERF_DENOMINATOR": {"f32": [rounded(mpf(c), "f32") for c in ERF_DENOMINATOR]},
        "TWO_THIRDS": {"f64": parts(mpf(2) / 3, "f64", 2)},
    }


# --- the file ------------------------------------------------------------------------------------

HEADER = '''"""Coefficients and constants, written by `tools/fit_math.py`; edit that instead.

A polynomial is listed lowest power first; the comment says what it is a part of, and the largest
relative error of that function, rounding aside. Numbers of f32 are exact in f32.
"""

from typing import Final

Table = dict[str, tuple[float, ...]]  # by format: "f32", "f64"
'''


def entry(kind: str, numbers: Sequence[float], note: str) -> list[str]:
    comment = [f"    # {note}"] if note else []
    return [*comment, f'    "{kind}": (', *(f"        {c!r}," for c in numbers), "    ),"]


def table(name: str, law: str, entries: Sequence[str]) -> str:
    comment = f"# {law}\n" if law else ""
    return f"\n{comment}{name}: Final[Table] = {{\n" + "\n".join(entries) + "\n}\n"


def fitted_tables() -> str:
    entries: dict[str, list[str]] = {}
    laws: dict[str, str] = {}
    for fit in FITS:
        laws[fit.name] = fit.law
        for kind in fit.terms:
            numbers, error = fitted(fit, kind)
            note = f"error 2**{float(mp.log(error, 2)):.1f}"
            print(f"{fit.name:10} {kind} {len(numbers):2} terms, {note}", flush=True)
            entries.setdefault(fit.name, []).extend(entry(kind, numbers, note))
    return "".join(table(name, laws[name], lines) for name, lines in entries.items())


def constant_tables() -> str:
    text = "\n# Constants as sums of parts, largest first; of ERF_DENOMINATOR, as coefficients.\n"
    for name, kinds in constants().items():
        lines = [line for kind, numbers in kinds.items() for line in entry(kind, numbers, "")]
        text += table(name, "", lines)
    words = "".join(f"    0x{word:016X},\n" for word in two_over_pi())
    text += "\n# The binary digits of 2/π, 64 to a word, after one word of zeros.\n"
    return text + f"TWO_OVER_PI: Final[tuple[int, ...]] = (\n{words})\n"


def file_text() -> str:
    """The whole of coefficients.py; mpmath is left at the precision it had."""
    with mp.workdps(DIGITS):
        return HEADER + fitted_tables() + constant_tables()


def main() -> None:
    OUTPUT.write_text(file_text())
    print(f"wrote {OUTPUT}")


if __name__ == "__main__":
    main()
