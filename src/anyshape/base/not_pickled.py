"""What holds machine code and memory of this process: it is copied as itself, and not pickled."""

from __future__ import annotations

from typing import ClassVar, NoReturn, Self

from anyshape.base.errors import NotPicklableError


class CopiedAsItself:
    """Nothing of it changes that callers see, so a copy is the same object. A subclass whose calls
    do change something makes copies of its own."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


class NotPickled(CopiedAsItself):
    """What has no form as bytes."""

    pickle_instead: ClassVar[str] = (
        "pickle the model, and compile it in the other process: its kernels are found on disk"
    )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise NotPicklableError(type(self).__name__, self.pickle_instead)
