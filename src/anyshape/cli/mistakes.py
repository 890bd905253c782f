"""What mistakes on a command line are told as: the problem and a line `fix:`, no traceback."""

from __future__ import annotations

import errno
from typing import Final

from anyshape.base.errors import AnyshapeError


class CommandError(AnyshapeError):
    """Arguments that a command cannot use."""

    def __init__(self, problem: str, fix: str) -> None:
        super().__init__(problem, fix)
        self.problem = problem
        self.fix = fix

    def message(self) -> str:
        return f"{self.problem}\nfix: {self.fix}"


EXPECTED: Final = (AnyshapeError, OSError, ImportError, MemoryError, ValueError)
"""Everything else is our own mistake, and has a traceback."""

_FILES: Final = {
    errno.ENOENT: "check the path, and that its folder is there",
    errno.EISDIR: "name a file, not a folder",
    errno.ENOTDIR: "check the path: a part of it is a file",
    errno.EACCES: "check the permissions of the file and of its folder",
    errno.ENOSPC: "make room, or write elsewhere",
}
_MODULE: Final = "install it, or start where the file is: modules are looked for there, too"


def told(error: BaseException) -> str:
    """The message of one of those."""
    match error:
        case AnyshapeError():
            return str(error)
        case OSError():
            name = error.filename2 or error.filename
            problem = f"{error.strerror or error}" + (f": {name!r}" if name else "")
            fix = _FILES.get(error.errno or 0, "check the path, and the file there")
        case ImportError():
            problem, fix = str(error), _MODULE
        case ValueError():
            problem, fix = str(error), "check the arguments: anyshape --help"
        case _:
            problem = f"memory does not suffice: {error}".removesuffix(": ")
            fix = "choose smaller sizes"
    return str(CommandError(problem, fix))
