"""Constants: small ones inside the IR as bytes, large ones as references to weight buffers.

The IR never holds a buffer. A `WeightRef` names content by its digest (`digest.py`); a
`WeightStore` handed along with the graph knows where the bytes are (often a memory-mapped file).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from weakref import WeakValueDictionary, ref

import numpy as np

from anyshape.base.errors import WeightError
from anyshape.ir.digest import Digest
from anyshape.ir.types import Array, DType, TensorType, dtype_of, f32, f64
from anyshape.sym import Dim

INLINE_LIMIT = 32
"""A constant of up to this many elements is kept, and printed, in the IR itself."""


@dataclass(frozen=True, slots=True)
class TensorLiteral:
    """A small constant; compared bit by bit, so -0.0 is not 0.0 and NaN equals itself."""

    dtype: DType
    shape: tuple[int, ...]
    data: bytes

    @staticmethod
    def of(array: Array) -> TensorLiteral:
        dtype = dtype_of(array, "constant")
        return TensorLiteral(dtype, array.shape, _one_nan(array).tobytes())

    @property
    def array(self) -> Array:
        return np.frombuffer(self.data, self.dtype.numpy).reshape(self.shape)

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype, tuple(Dim.of(size) for size in self.shape))

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def _one_nan(array: Array) -> Array:
    """All NaNs made the same NaN: text has only one."""
    if not dtype_of(array).is_float:
        return array
    wide = f64 if array.dtype == f64.numpy else f32
    return np.where(np.isnan(array.astype(wide.numpy)), np.array(np.nan, array.dtype), array)


@dataclass(frozen=True, slots=True)
class WeightRef:
    """A large constant, named by its content."""

    name: str = field(compare=False)
    dtype: DType
    shape: tuple[int, ...]
    digest: Digest

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype, tuple(Dim.of(size) for size in self.shape))

    def __repr__(self) -> str:
        return f"@{self.name}"


@dataclass(slots=True, weakref_slot=True, eq=False)
class _Content:
    """How the elements of a weight are read, and other forms of it that someone holds; one for all
    stores that have the weight."""

    read: Callable[[], Array]
    digest: Digest = field(init=False)
    forms: WeakValueDictionary[Hashable, Array] = field(
        default_factory=WeakValueDictionary[Hashable, Array]
    )

    def __post_init__(self) -> None:
        weak = ref(self)  # the digest, and with it the IR, holds no buffer
        self.digest = Digest.of(self.read(), lambda: alive.read() if (alive := weak()) else None)


class WeightStore:
    """Weight buffers by digest. Adding the same content twice keeps one buffer, also where the
    second store is a subset of the first, or of the same one."""

    def __init__(self) -> None:
        self._contents: dict[Digest, _Content] = {}
        self._family = WeakValueDictionary[Digest, _Content]()  # those of all subsets
        self._names: dict[Digest, str] = {}
        self._next = 0  # names are not used again after a buffer was left out

    def add(self, array: Array) -> WeightRef:
        """Keeps a read-only view of `array`; no copy when it is contiguous already."""
        contiguous = np.asarray(array, order="C").view()
        contiguous.flags.writeable = False
        new = _Content(lambda: contiguous)
        content = self._contents.setdefault(new.digest, self._family.get(new.digest) or new)
        self._family.setdefault(content.digest, content)
        if content.digest not in self._names:
            self._names[content.digest] = f"w{self._next}"
            self._next += 1
        name = self._names[content.digest]
        return WeightRef(name, dtype_of(array, "constant"), array.shape, content.digest)

    def array(self, ref: WeightRef) -> Array:
        found = self._content(ref).read()
        if found.shape != ref.shape or found.dtype != ref.dtype.numpy:
            raise WeightError(f"@{ref.name}", f"is {found.dtype}{list(found.shape)} in the store")
        return found

    def move(self, ref: WeightRef, read: Callable[[], Array]) -> None:
        """Lets go of the buffer, also for the stores that share it: `read` makes the same elements
        from where they are now."""
        self._content(ref).read = read

    def form(self, ref: WeightRef, key: Hashable, make: Callable[[Array], Array]) -> Array:
        """The weight in another form: as somebody holds it already, or made now."""
        content = self._content(ref)
        known = content.forms.get(key)
        if known is None:
            known = content.forms[key] = make(self.array(ref))
        return known

    def _content(self, ref: WeightRef) -> _Content:
        found = self._contents.get(ref.digest)
        if found is None:
            raise WeightError(f"@{ref.name}", f"no buffer with sha256:{str(ref.digest)[:12]}…")
        return found

    def subset(self, refs: Iterable[WeightRef]) -> WeightStore:
        """A store of the buffers that `refs` name, not copied, under the same names."""
        kept = WeightStore()
        kept._next, kept._family = self._next, self._family
        digests = {ref.digest for ref in refs}
        kept._contents = {key: c for key, c in self._contents.items() if key in digests}
        kept._names = {digest: self._names[digest] for digest in kept._contents}
        return kept

    def __len__(self) -> int:
        return len(self._contents)


def literal_or_weight(array: Array, store: WeightStore) -> TensorLiteral | WeightRef:
    return TensorLiteral.of(array) if array.size <= INLINE_LIMIT else store.add(array)
