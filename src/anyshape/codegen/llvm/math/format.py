"""The two floating-point formats that math is generated for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A binary floating-point format of IEEE 754."""

    name: str  # "f32", as in the tables of coefficients
    bits: int  # width
    fraction: int  # bits after the leading one

    @property
    def bias(self) -> int:
        """What is added to an exponent when it is stored."""
        return (1 << (self.bits - self.fraction - 2)) - 1

    @property
    def one(self) -> int:
        """The bits of 1.0."""
        return self.bias << self.fraction

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.bits - 1)

    @property
    def tiny(self) -> float:
        """The smallest normal number."""
        return 2.0 ** (1 - self.bias)


F32 = Format("f32", 32, 23)
F64 = Format("f64", 64, 52)
