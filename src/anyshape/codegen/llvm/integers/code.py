"""Straight-line integer code for dims, as LLVM text.

Semantics are Python's: `//` and `%` round down. A product or sum that does not fit 64 bits sets a
flag instead of wrapping around unseen, and a division by zero gives zero: such sizes are refused by
the checks that the same function makes. Estimates refuse nothing: they stop at the largest number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import count, starmap
from typing import assert_never

from anyshape.level2.long_sums import HeldSums, Sums, is_long, taken_apart
from anyshape.sym import (
    Broadcastable,
    Dim,
    Divisible,
    Equal,
    Less,
    LessEqual,
    NotEqual,
    Predicate,
    Symbol,
)
from anyshape.sym.factor import Bcast, Factor, FloorDiv, Max, Min, Mod

LARGEST = (1 << 63) - 1


class IntegerCode:
    """The body of one function under construction. Every value is an i64 in an SSA name.

    Symbols that it does not define itself are loaded from `%symbols`, where `stored` says, and
    dims that are `held` from `%words`. Where there are any, symbols are sizes that were checked.
    """

    def __init__(
        self, stored: Mapping[Symbol, int] | None = None, held: HeldSums | None = None
    ) -> None:
        self.lines: list[str] = []
        self._stored = stored or {}
        self._held = held or HeldSums()
        self._sizes = self._stored.keys() if held else frozenset[Symbol]()
        self._numbers = count()
        self._symbols: dict[Symbol, str] = {}
        self._values: dict[Dim, str] = {}
        self._estimates: dict[Dim, str] = {}
        self._factors: dict[tuple[Factor, bool], str] = {}
        self._pure: dict[str, str] = {}
        self._is_estimate = False
        self.overflow = "false"  # whether a number so far did not fit

    def emit(self, operation: str) -> str:
        """The result of an operation that depends on its operands alone; it is computed once."""
        if operation not in self._pure:
            self._pure[operation] = self.perform(operation)
        return self._pure[operation]

    def perform(self, operation: str) -> str:
        name = f"%v{next(self._numbers)}"
        self.lines.append(f"  {name} = {operation}")
        return name

    def define(self, symbol: Symbol, value: str) -> None:
        self._symbols[symbol] = value

    # --- memory -------------------------------------------------------------------------------

    def load(self, array: str, index: int | str) -> str:
        """An index is a number, or a value."""
        place = self.emit(f"getelementptr i64, ptr {array}, i64 {index}")
        return self.perform(f"load i64, ptr {place}, align 8")

    def store(self, value: str, array: str, index: int | str) -> None:
        place = self.emit(f"getelementptr i64, ptr {array}, i64 {index}")
        self.lines.append(f"  store i64 {value}, ptr {place}, align 8")

    def _symbol(self, symbol: Symbol) -> str:
        if symbol in self._held.meaning:
            return self.dim(self._held.meaning[symbol])
        if symbol not in self._symbols:
            self.define(symbol, self.load("%symbols", self._stored[symbol]))
        return self._symbols[symbol]

    # --- dims ---------------------------------------------------------------------------------

    def dim(self, dim: Dim) -> str:
        """The value of a dim, computed once."""
        known = self._estimates if self._is_estimate else self._values
        if dim not in known:
            word = self._sums.words.get(dim)
            known[dim] = self._sum(dim) if word is None else self.load("%words", word)
        return known[dim]

    @property
    def _sums(self) -> Sums:
        return self._held.estimates if self._is_estimate else self._held.exact

    def _sum(self, dim: Dim) -> str:
        if is_long(dim):
            return self._long_sum(dim)
        terms = [self._term(monomial, c) for monomial, c in dim.terms]
        return reduce(self.add, terms) if terms else "0"

    def _long_sum(self, dim: Dim) -> str:
        whole, factor, number = taken_apart(dim)
        if whole is dim:
            return reduce(self.add, starmap(self._times, self._sums.parts(dim)))
        value = self._times(whole, factor)
        return value if number == 0 else self.add(value, str(number))

    def _times(self, dim: Dim, factor: int) -> str:
        value = self.dim(dim)
        return value if factor == 1 else self.multiply(value, str(factor))

    def estimate(self, dim: Dim) -> str:
        """The value of a dim that is not negative, or the largest number if it does not fit."""
        self._is_estimate = True
        value = self.dim(dim)
        self._is_estimate = False
        return value

    def least(self, values: Sequence[str]) -> str:
        """The index of the least value, of equal ones the first."""
        best, index = values[0], "0"
        for number, value in enumerate(values[1:], 1):
            less = self.compare("slt", value, best)
            best, index = self.select(less, value, best), self.select(less, str(number), index)
        return index

    def element(self, values: Sequence[str], index: str) -> str:
        """The value at an index."""
        found = values[0]
        for number, value in enumerate(values[1:], 1):
            found = self.select(self.compare("eq", index, str(number)), value, found)
        return found

    def _term(self, monomial: Sequence[tuple[Factor, int]], coefficient: int) -> str:
        factors = [self._known(factor) for factor, power in monomial for _ in range(power)]
        if not factors:
            return str(coefficient)
        product = reduce(self.multiply, factors)
        return product if coefficient == 1 else self.multiply(product, str(coefficient))

    def _known(self, factor: Factor) -> str:
        """The value of a factor, computed once."""
        key = factor, self._is_estimate
        if key not in self._factors:
            word = self._sums.words.get(Dim.of_factor(factor))
            value = self._factor(factor) if word is None else self.load("%words", word)
            self._factors[key] = value
        return self._factors[key]

    def _factor(self, factor: Factor) -> str:
        match factor:
            case Symbol():
                return self._symbol(factor)
            case FloorDiv():
                num, den = factor.args
                return self.quotient(self.dim(num), self.dim(den), self._least(den))
            case Mod():
                num, den = factor.args
                return self.remainder(self.dim(num), self.dim(den), self._least(den))
            case Min():
                return reduce(self._smaller, map(self.dim, factor.args))
            case Max():
                return reduce(self._larger, map(self.dim, factor.args))
            case Bcast():
                return reduce(self._broadcast, map(self.dim, factor.args))
            case _:
                assert_never(factor)

    def _smaller(self, left: str, right: str) -> str:
        return self.emit(f"call i64 @llvm.smin.i64(i64 {left}, i64 {right})")

    def _larger(self, left: str, right: str) -> str:
        return self.emit(f"call i64 @llvm.smax.i64(i64 {left}, i64 {right})")

    def _broadcast(self, left: str, right: str) -> str:
        return self.select(self.compare("eq", left, "1"), right, left)

    # --- arithmetic ---------------------------------------------------------------------------

    def add(self, left: str, right: str) -> str:
        return self._checked("sadd", left, right)

    def subtract(self, left: str, right: str) -> str:
        return left if right == "0" else self._checked("ssub", left, right)

    def multiply(self, left: str, right: str) -> str:
        return self._checked("smul", left, right)

    def _checked(self, operation: str, left: str, right: str) -> str:
        call = f"@llvm.{operation}.with.overflow.i64(i64 {left}, i64 {right})"
        pair = self.emit(f"call {{i64, i1}} {call}")
        flag = self.emit(f"extractvalue {{i64, i1}} {pair}, 1")
        value = self.emit(f"extractvalue {{i64, i1}} {pair}, 0")
        if self._is_estimate:
            return self.select(flag, str(LARGEST), value)
        self.refuse_if(flag)
        return value

    def refuse_if(self, flag: str) -> None:
        """Sizes for which the flag is set are too large."""
        self.overflow = flag if self.overflow == "false" else self.any(self.overflow, flag)

    def quotient(self, num: str, den: str, least: int | None = None) -> str:
        """Rounded down; by zero, it is zero. `least` is a number that `den` is never below."""
        if den == "1":
            return num
        if den == "-1":
            return self.subtract("0", num)
        if (shift := _power_of_two(den)) is not None:
            return self.emit(f"ashr i64 {num}, {shift}")
        safe, nothing, negates = self._divisor(den, least)
        quotient, rest = self.emit(f"sdiv i64 {num}, {safe}"), self.emit(f"srem i64 {num}, {safe}")
        lower = self.emit(f"sub i64 {quotient}, 1")
        floor = self.select(self._is_below(rest, safe), lower, quotient)
        if negates is not None:
            negated = self.subtract("0", self.select(negates, num, "0"))
            floor = self.select(negates, negated, floor)
        return floor if nothing is None else self.select(nothing, "0", floor)

    def remainder(self, num: str, den: str, least: int | None = None) -> str:
        """Of the division that rounds down; by zero, it is zero."""
        if den in ("1", "-1"):
            return "0"
        if _power_of_two(den) is not None:
            return self.emit(f"and i64 {num}, {int(den) - 1}")
        safe, nothing, _ = self._divisor(den, least)
        rest = self.emit(f"srem i64 {num}, {safe}")
        higher = self.emit(f"add i64 {rest}, {safe}")
        remainder = self.select(self._is_below(rest, safe), higher, rest)
        return remainder if nothing is None else self.select(nothing, "0", remainder)

    def _divisor(self, den: str, least: int | None) -> tuple[str, str | None, str | None]:
        """What to divide by, and whether the divisor is zero, or -1; None if it never is.

        A quotient by -1 need not fit, and CPUs do not divide then: they end the process.
        """
        if (den.lstrip("-").isdigit() and den != "0") or (least is not None and least > 0):
            return den, None, None
        nothing = self.compare("eq", den, "0")
        if least is not None:
            return self.select(nothing, "1", den), nothing, None
        negates = self.compare("eq", den, "-1")
        return self.select(self.any(nothing, negates), "1", den), nothing, negates

    def _least(self, divisor: Dim) -> int | None:
        """A number that the value of a divisor is never below, even if something does not fit."""
        factor = _only_factor(divisor)
        if isinstance(factor, Symbol) and factor in self._sizes:
            return 0
        if isinstance(factor, Max):
            return max((c for arg in factor.args if (c := arg.constant) is not None), default=None)
        return None

    def _is_below(self, rest: str, den: str) -> str:
        """Whether a division that rounds towards zero is one above the one that rounds down."""
        differ = self.compare("slt", self.emit(f"xor i64 {rest}, {den}"), "0")
        return self.emit(f"and i1 {differ}, {self.compare('ne', rest, '0')}")

    def compare(self, test: str, left: str, right: str) -> str:
        return self.emit(f"icmp {test} i64 {left}, {right}")

    def select(self, condition: str, yes: str, no: str) -> str:
        return self.emit(f"select i1 {condition}, i64 {yes}, i64 {no}")

    def any(self, *conditions: str) -> str:
        return reduce(lambda a, b: self.emit(f"or i1 {a}, {b}"), conditions)

    # --- predicates ---------------------------------------------------------------------------

    def holds(self, predicate: Predicate) -> str:
        left, right = map(self.dim, predicate.sides)
        match predicate:
            case Equal():
                return self.compare("eq", left, right)
            case NotEqual():
                return self.compare("ne", left, right)
            case LessEqual():
                return self.compare("sle", left, right)
            case Less():
                return self.compare("slt", left, right)
            case Divisible():
                # Zero divides only zero; the remainder by zero is given as zero.
                exact = self.compare("eq", self.remainder(left, right), "0")
                by_zero = self.compare("eq", right, "0")
                empty = self.compare("eq", left, "0")
                sound = self.any(self.emit(f"xor i1 {by_zero}, true"), empty)
                return self.emit(f"and i1 {exact}, {sound}")
            case Broadcastable():
                return self.any(
                    self.compare("eq", left, right),
                    self.compare("eq", left, "1"),
                    self.compare("eq", right, "1"),
                )
            case _:
                assert_never(predicate)

    def first_failure(self, checks: Mapping[int, str], overflow: int) -> str:
        """-1, or the number of the first check that fails, or `overflow`."""
        result = "-1"
        for number in sorted(checks, reverse=True):
            result = self.select(checks[number], result, str(number))
        return self.select(self.overflow, str(overflow), result)


DECLARATIONS = "\n".join(
    (
        *(
            f"declare {{i64, i1}} @llvm.{operation}.with.overflow.i64(i64, i64)"
            for operation in ("sadd", "ssub", "smul")
        ),
        *(f"declare i64 @llvm.{operation}.i64(i64, i64)" for operation in ("smin", "smax")),
    )
)


def _only_factor(dim: Dim) -> Factor | None:
    """The factor that a dim is, if it is nothing else."""
    match dim.terms:
        case ((((factor, 1),), 1),):
            return factor
        case _:
            return None


def _power_of_two(value: str) -> int | None:
    """The exponent of a constant that is one."""
    number = int(value) if value.isdigit() else 0
    return number.bit_length() - 1 if number > 0 and number & (number - 1) == 0 else None
