"""What a value of a padded graph is in the ragged one that is made of it.

The ragged graph has all tokens as one long sequence: where the padded one has [batch, seq, ...], it
has [1, tokens, ...]. Ops that leave tokens to themselves are the same nodes there. Of values that
are no tokens, more is known:

    Free      depends on neither axis: the same value
    Tokens    a row for each token that is no padding
    Rows      one row for each sequence, [batch, ...]
    Shared    one row that all sequences have, where the padded value repeats it
    Mask      one number where there is a token, another where there is padding
    Count     what counts positions: a multiple of the batch's index and one of the position
    Size      a size of the padded graph, as a number
    FlatMask  a mask whose two axes are one, as indices of elements see it
"""

from __future__ import annotations

from dataclasses import dataclass

from anyshape.frontend.builder.tensor import Tensor
from anyshape.ir.types import Array, DType
from anyshape.sym import Dim


@dataclass(frozen=True, slots=True)
class Free:
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Tokens:
    """`batch` and `seq` are its axes; `batch` is None where the padded value had none. `padding` is
    the number that the padded value has where there is no token, if that is known."""

    tensor: Tensor
    batch: int | None
    seq: int
    padding: float | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    tensor: Tensor
    batch: int


@dataclass(frozen=True, slots=True)
class Shared:
    """Its axis of sequences has one element."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Mask:
    """Numbers of rank 0; the same if it does not matter where there is padding."""

    valid: Array
    padded: Array
    rank: int
    batch: int | None
    seq: int | None

    @property
    def is_constant(self) -> bool:
        return bool(self.valid == self.padded)


@dataclass(frozen=True, slots=True)
class FlatMask:
    mask: Mask


@dataclass(frozen=True, slots=True)
class Count:
    """`of_batch` times the index of the sequence, plus `of_seq` times the position in it."""

    of_batch: Dim
    of_seq: Dim
    dtype: DType
    rank: int
    batch: int | None
    seq: int | None


@dataclass(frozen=True, slots=True)
class Size:
    dim: Dim
    dtype: DType


Place = Free | Tokens | Rows | Shared | Mask | FlatMask | Count | Size
