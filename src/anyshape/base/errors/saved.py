"""Saved executables and other files that cannot be written, or must not be loaded."""

from __future__ import annotations

from collections.abc import Mapping

from anyshape.base.errors.common import AnyshapeError, joined


class NotSavableError(AnyshapeError):
    """Something of an executable that a file cannot hold."""

    def __init__(self, name: str, causes: Mapping[str, int], fix: str) -> None:
        super().__init__(name, dict(causes), fix)
        self.name = name
        self.causes = dict(causes)
        self.fix = fix

    def message(self) -> str:
        parts = (f"{what} ({count} times)" if count > 1 else what for what, count in self._sorted)
        return joined(
            f"'{self.name}' cannot be saved: it has {', '.join(parts)}", f"fix: {self.fix}"
        )

    @property
    def _sorted(self) -> list[tuple[str, int]]:
        return sorted(self.causes.items())


class SavedFileError(AnyshapeError):
    """A file that is not loaded; nothing of it was executed."""

    fix = "save the executable again, with this version of anyshape on this machine"

    def __init__(self, file: str, problem: str) -> None:
        super().__init__(file, problem)
        self.file = file
        self.problem = problem

    def message(self) -> str:
        return joined(f"{self.file} {self.problem}", f"fix: {self.fix}")


class ForeignFileError(SavedFileError):
    """No saved executable at all."""

    fix = "pass a file that executable.save(...) or `anyshape compile` has written"


class DamagedFileError(SavedFileError):
    """A saved executable that is not as it was written."""

    fix = "copy the file again, or save the executable again"


class SavedVersionError(SavedFileError):
    """Code and descriptions of another version."""

    fix = "compile the model that is in the file: anyshape.load(..., recompile=True)"


class SavedFormatError(SavedFileError):
    """A file that another version has laid out: nothing of it can be read."""

    fix = "save the executable again, with this version of anyshape"


class SavedMachineError(SavedFileError):
    """Code for another CPU."""

    fix = "compile the model that is in the file: anyshape.load(..., recompile=True)"


class UntrustedFileError(AnyshapeError):
    """A file that runs code of its own while it is read, which nobody has vouched for."""

    def __init__(self, file: str, flag: str) -> None:
        super().__init__(file, flag)
        self.file = file
        self.flag = flag

    def message(self) -> str:
        return joined(
            f"{self.file} is not read: torch unpickles exported programs, and a pickle runs "
            "whatever code its maker put there",
            f"fix: if you trust whoever made the file, add {self.flag}; else ask for the model as "
            "an .onnx file, which holds no code",
        )
