"""A folder that only we can write to: what is read from it is later executed.

It is opened once and then used through its descriptor, so nobody can put another folder in its
place between the check and the use.
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

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
    with _opened(folder, name) as file:
        return file.read()


def map_file(folder: int, name: str) -> memoryview:
    """The same as memory that processes share. Files are replaced and removed, never changed, so
    it stays as it is."""
    with _opened(folder, name) as file:
        empty = os.fstat(file.fileno()).st_size == 0
        return memoryview(b"" if empty else mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))


def _opened(folder: int, name: str) -> BinaryIO:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe must not block us
    file = open(os.open(name, flags, dir_fd=folder), "rb")  # noqa: SIM115 - whoever asks closes it
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        file.close()
        raise PermissionError(f"{name} is not a file of ours")
    return file


def write_file(folder: int, name: str, *parts: bytes | memoryview) -> None:
    """Write a file that others see whole or not at all, whoever else writes the same one."""
    partial = f"{os.getpid()}-{os.urandom(8).hex()}{PARTIAL_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(partial, flags, 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            for part in parts:
                file.write(part)
        os.rename(partial, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        remove_file(folder, partial)
        raise


PARTIAL_SUFFIX = ".partial"


def remove_file(folder: int, name: str) -> None:
    """Remove a file if it is still there."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
