"""Programs of the runtime from records: code is mapped, constants are read where the file is."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from anyshape.base.errors import CodeError, DamagedFileError
from anyshape.runtime.code import Code, load_code, native_kernel
from anyshape.runtime.failures import MalformedProgramError
from anyshape.runtime.options import RunOptions
from anyshape.runtime.program import Program
from anyshape.saved.codec import RecordError, decoded
from anyshape.saved.container import SavedFile
from anyshape.saved.records import OWN, ArrayRecord, Function, ProgramRecord, Root
from anyshape.saved.targets import SavedTarget

T = TypeVar("T")


class FileCode:
    """An open file whose code may be mapped: each piece once."""

    def __init__(
        self,
        file: SavedFile,
        target: SavedTarget,
        threads: int = 0,
        running: RunOptions | None = None,
    ) -> None:
        """`running` has what the process chooses: threads, memory, how much of level 2 is kept."""
        self.file = file
        self.target = target
        self.threads = threads
        self.running = running or RunOptions()
        self._codes: dict[int, Code] = {}
        self._programs: dict[int, Program] = {}
        self._bytes = np.frombuffer(file.memory, np.uint8)

    def root(self) -> Root:
        """What the file holds for its target."""
        return self.decoded(cast(Any, Root), self.file.json(self.target.root))

    def decoded(self, kind: type[T], value: object) -> T:
        try:
            return decoded(kind, value)
        except RecordError as error:
            raise self.damaged(str(error)) from None

    def damaged(self, problem: str) -> DamagedFileError:
        return DamagedFileError(self.file.name, f"is damaged: {problem}")

    def code(self, blob: int) -> Code:
        if blob not in self._codes:
            try:
                self._codes[blob] = load_code(bytes(self.file.blob(blob)))
            except CodeError as error:
                raise self.damaged(str(error)) from None
        return self._codes[blob]

    def address(self, function: Function) -> int:
        try:
            if function.blob == OWN:
                return native_kernel(function.name)
            return self.code(function.blob).address(function.name)
        except (CodeError, KeyError):
            raise self.damaged(f"it has no function '{function.name}'") from None

    def array(self, record: ArrayRecord) -> NDArray[Any]:
        """As it lies in the file: one in panels is a row of elements."""
        content = self.file.blob(record.blob)
        size = math.prod(record.shape) * record.dtype.itemsize
        if record.packing is None and len(content) != size:
            raise self.damaged(f"blob {record.blob} is no array of {list(record.shape)}")
        if len(content) % record.dtype.itemsize:
            raise self.damaged(f"blob {record.blob} is no array of {record.dtype}")
        flat = np.frombuffer(content, np.uint8) if len(content) else self._bytes[:0]
        found = flat.view(record.dtype)
        return found if record.packing else found.reshape(record.shape)

    def program(self, record: ProgramRecord) -> Program:
        """The same for the same record."""
        known = self._programs.get(id(record))
        if known is None:
            known = self._programs[id(record)] = self._made(record)
        return known

    def _made(self, record: ProgramRecord) -> Program:
        arrays = tuple(map(self.array, record.constants))
        description = replace(
            record.description,
            bind=self.address(record.bind),
            shape=self.address(record.shape),
            kernels=tuple(map(self.address, record.kernels)),
            constants=tuple(array.ctypes.data for array in arrays),
        )
        # Not this object, which has the program: what native code keeps, no collector sees.
        keep = (self.file, *self._codes.values(), *arrays)
        try:
            return Program(description, keep, self.options(record))
        except MalformedProgramError as error:
            raise self.damaged(str(error)) from None

    def options(self, record: ProgramRecord) -> RunOptions:
        """As it was compiled, with no more threads than that or than are wanted."""
        wanted = record.threads, self.threads, self.running.threads
        own_limit = record.memory_limit
        return replace(
            self.running,
            threads=min(filter(None, wanted), default=0),
            wait_for_team=record.wait_for_team,
            memory_limit=self.running.memory_limit if own_limit is None else own_limit,
        )
