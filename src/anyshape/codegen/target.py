"""What a target is: all of a program that depends on where it runs, behind one interface.

A target decides how work is divided (its tiling, which knows the caches), where buffers, weights
and arenas are (its memory), and what a kernel and a shape program become (its code). Nothing above
this layer knows another way to either; nothing below it knows a machine, but for the sizes in a
`Tiling`. A new target is a folder beside this file, and an entry in `targets.py`.

Code is functions with the signatures of `csrc/core/program.h`, whatever they are made of:

    kernel   (block, first task, last task, worker)     of a `Kernel`
    bind     (sizes, symbols) -> check                  of a `ShapeProgram`
    shape    (symbols, words) -> check
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import ClassVar, Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

from anyshape.codegen.cache import ObjectCache
from anyshape.level2 import ShapeProgram
from anyshape.loop import Kernel
from anyshape.lower.tiling import Tiling

Source: TypeAlias = Kernel | ShapeProgram
"""What code is made of. Kernels of the runtime's own have none to make."""

KERNEL: Final = "kernel"
BIND: Final = "bind"
SHAPE: Final = "shape"


class MemoryKind(Enum):
    """Where a target's buffers are. Others come with a target that has them."""

    HOST = "host"  # what the process itself reads and writes


class Code(Protocol):
    """Functions of one source, in this process. Addresses are valid as long as the object lives."""

    def address(self, name: str) -> int:
        """Of a function; `CodeError` if there is none of that name."""
        ...

    @property
    def mapped_bytes(self) -> int:
        """How much memory the code takes."""
        ...


@runtime_checkable
class SavableCode(Code, Protocol):
    """Code that a file can hold."""

    @property
    def elf_object(self) -> bytes:
        """Position-independent, without external symbols."""
        ...


class Origins(NamedTuple):
    """Where distinct pieces of code came from."""

    memory: int = 0  # this process had them
    disk: int = 0
    compiled: int = 0


class Loaded(NamedTuple):
    """The code of each source, in order."""

    codes: tuple[Code, ...]
    origins: Origins


class Generator(Protocol):
    """Makes code. Safe to use from any thread, not from a child of a fork."""

    def code(self, sources: Sequence[Source]) -> Loaded:
        """The code of each source; equal ones share it."""
        ...


Load: TypeAlias = Callable[[bytes], Code]
"""Maps object code into this process; `CodeError` if it cannot be."""

Guard: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Around a native call: raises what functions of the target raised in it."""


Progress: TypeAlias = Callable[[int, int], None]
"""Called as progress(done, total) when a piece of code was made, in any thread."""


class Setup(NamedTuple):
    """What making code may use: the runtime's loader, processes, and a place to keep objects."""

    load: Load
    jobs: int = 1
    cache: ObjectCache | None = None
    progress: Progress | None = None


class Host(NamedTuple):
    """The machine of this process, as the runtime sees it."""

    isa: str  # its best instruction set
    cpu: str  # identifies it: equal where the same code suits
    byte_products: bool = False  # whether it has VNNI in its best instruction set
    second_level: int = 0  # bytes of a CPU's own cache; 0: unknown


class Target(Protocol):
    """Where programs run. Immutable, and equal if code for one is code for the other."""

    name: ClassVar[str]
    """As options call it."""

    memory: ClassVar[MemoryKind]
    """Where buffers, weights and arenas are."""

    most_threads: ClassVar[int | None]
    """How many may run its code at once; None: as many as there are."""

    is_measured: ClassVar[bool]
    """Whether its kernels are timed to learn what things cost; if not, costs are as given."""

    is_machine_code: ClassVar[bool]
    """Whether native code calls its functions by itself, without Python in between."""

    @property
    def isa(self) -> str:
        """The instruction set of its kernels."""
        ...

    @property
    def tiling(self) -> Tiling:
        """How wide its vectors are, and how work is divided for them and for its caches."""
        ...

    @property
    def guard(self) -> Guard | None:
        """What calls into its code need around them, if its functions can raise."""
        ...

    def generator(self, setup: Setup) -> Generator:
        """What makes code for it."""
        ...

    def listing(self, kernel: Kernel, form: str) -> str:
        """A kernel's code as text, in one of the forms that it takes on its way; `NoListingError`
        names those that there are."""
        ...


def described(target: Target) -> str:
    """For reports."""
    return f"{target.name} target ({target.isa}, {target.memory.value} memory)"
