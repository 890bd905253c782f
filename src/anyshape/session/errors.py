"""What a session raises, under onnxruntime's names and with the texts that people look for."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import ClassVar

from anyshape.base.errors import (
    AnyshapeError,
    CancelledError,
    DTypeError,
    InputError,
    InvalidModelError,
    MissingPackageError,
    ModelFileError,
    ShapeError,
    UnsupportedError,
    UnsupportedModelError,
)


class SessionError(AnyshapeError):
    """An error of a session: a status, and what is wrong."""

    code: ClassVar[int] = 1
    status: ClassVar[str] = "FAIL"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def message(self) -> str:
        return f"[anyshape] : {self.code} : {self.status} : {self.problem}"


class Fail(SessionError):  # noqa: N818 - the names are onnxruntime's
    """Anything that has no name of its own."""


class InvalidArgument(SessionError):  # noqa: N818
    """Arguments of a call that the model cannot take."""

    code, status = 2, "INVALID_ARGUMENT"


class NoSuchFile(SessionError):  # noqa: N818
    """A path without a file."""

    code, status = 3, "NO_SUCHFILE"


class NoModel(SessionError):  # noqa: N818
    """A session without a model."""

    code, status = 4, "NO_MODEL"


class RuntimeException(SessionError):  # noqa: N818
    """A call that failed while it ran."""

    code, status = 6, "RUNTIME_EXCEPTION"


class InvalidProtobuf(SessionError):  # noqa: N818
    """Bytes that are no model."""

    code, status = 7, "INVALID_PROTOBUF"


class NotImplemented(SessionError):  # noqa: N818
    """A model with parts that nobody knows."""

    code, status = 9, "NOT_IMPLEMENTED"


class InvalidGraph(SessionError):  # noqa: N818
    """A model that breaks the rules of its format."""

    code, status = 10, "INVALID_GRAPH"


class NotFound(SessionError):  # noqa: N818
    """Something that was asked for by a name that nothing has."""

    code, status = 14, "NOT_FOUND"


_LOADING: tuple[tuple[type[AnyshapeError], type[SessionError]], ...] = (
    (ModelFileError, NoSuchFile),
    (InvalidModelError, InvalidGraph),
    (UnsupportedModelError, NotImplemented),
    (UnsupportedError, NotImplemented),
    (ShapeError, InvalidGraph),
    (AnyshapeError, Fail),
)
_RUNNING: tuple[tuple[type[AnyshapeError], type[SessionError]], ...] = (
    (ShapeError, InvalidArgument),
    (DTypeError, InvalidArgument),
    (InputError, InvalidArgument),
    (AnyshapeError, RuntimeException),
)


@contextmanager
def while_loading() -> Generator[None]:
    """Within, errors of reading and compiling a model get their names here."""
    try:
        yield
    except (SessionError, MissingPackageError):
        raise
    except AnyshapeError as error:
        if isinstance(error, InvalidModelError) and not error.parsed:
            raise InvalidProtobuf(str(error)) from error
        raise _named(error, _LOADING) from error


@contextmanager
def while_running() -> Generator[None]:
    """Within, errors of a call get their names here."""
    try:
        yield
    except CancelledError as error:
        raise Fail("Exiting due to terminate flag being set to true.") from error
    except AnyshapeError as error:
        raise _named(error, _RUNNING) from error


def _named(
    error: AnyshapeError, kinds: tuple[tuple[type[AnyshapeError], type[SessionError]], ...]
) -> SessionError:
    made = next(kind for known, kind in kinds if isinstance(error, known))
    return made(str(error))
