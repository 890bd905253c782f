"""A folder that only we can write to: what is read from it is later executed.

It is opened once and then used through its descriptor, so nobody can put another folder in its
place between the check and the use.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def own_folder(shared: Path, purpose: str) -> Path:
    """This user's folder inside one that belongs to somebody else, or to everybody.

    The outer folder is never changed: whoever made it decides who may read it. Users who share it
    have a folder each, since nobody may run code that another user wrote.
    """
    return shared / f"{purpose}-{os.geteuid()}"


@contextmanager
def open_private_folder(path: Path, *, create: bool = False) -> Generator[int]:
    """A descriptor of the folder at `path`. OSError if there is none, or if it is not safe."""
    if create:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _check_private(folder, path)
        yield folder
    finally:
        os.close(folder)


def _check_private(folder: int, path: Path) -> None:
    status = os.fstat(folder)
    if status.st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to user {status.st_uid}, not to us")
    mode = stat.S_IMODE(status.st_mode)
    if mode & _WRITABLE_BY_OTHERS:
        raise PermissionError(
            f"{path} is writable by others (mode {mode:04o}); run chmod 700 on it"
        )
    if mode & 0o077:
        os.fchmod(folder, 0o700)


def read_file(folder: int, name: str) -> bytes:
    """The content of a regular file of our own in the folder."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe must not block us
    descriptor = os.open(name, flags, dir_fd=folder)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise PermissionError(f"{name} is not a file of ours")
        return file.read()


def write_file(folder: int, name: str, content: bytes) -> None:
    """Write a file that others see whole or not at all, whoever else writes the same one."""
    partial = f"{os.getpid()}-{os.urandom(8).hex()}{PARTIAL_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(partial, flags, 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
        os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        remove_file(folder, partial)
        raise


PARTIAL_SUFFIX = ".partial"


def remove_file(folder: int, name: str) -> None:
    """Remove a file if it is still there."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
