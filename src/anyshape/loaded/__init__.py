"""Saved executables, loaded: `anyshape.load`.

A call of a loaded program needs the runtime and nothing else, so that it is fast to begin with;
neither torch nor onnx nor LLVM is imported, nor what compiles. Everything else that an Executable
can do, reports, errors in the words of the model, specializations, is done by an Executable that is
put together from the same file when it is first asked for (`assemble`).

    programs     programs of the runtime from records
    executable   LoadedExecutable
    model        LoadedModel, for models of frameworks
    ragged_model LoadedRaggedModel, for those that take sequences end to end
    assemble     Executables from records, with all that they can do; models: how models are called
    recompile    the graphs and weights of a file, compiled anew
"""

from __future__ import annotations

import os
from typing import Any

from anyshape.base.errors import OptionError
from anyshape.base.options import options_from_environment
from anyshape.loaded.executable import LoadedExecutable
from anyshape.loaded.model import LoadedModel
from anyshape.loaded.programs import FileCode
from anyshape.loaded.ragged_model import LoadedRaggedModel
from anyshape.runtime.options import RunOptions, run_options
from anyshape.saved.container import SavedFile
from anyshape.saved.records import ModelRecord, RaggedRecord
from anyshape.saved.targets import chosen_target

__all__ = ["LoadedExecutable", "LoadedModel", "LoadedRaggedModel", "from_bytes", "load"]

Loaded = LoadedExecutable | LoadedModel | LoadedRaggedModel


def load(
    path: str | os.PathLike[str], *, threads: int = 0, recompile: bool = False, **chosen: Any
) -> Any:
    """What `save` has written: an executable or a model, ready to run at any shape.

    The file holds machine code, and loading it needs the trust that a shared library needs. A file
    that is damaged, of another version or for other CPUs is refused before anything is executed.

    - `threads`: the most that one call may use, if fewer than when it was compiled.
    - `recompile`: takes the graph and the weights alone, and compiles them for this machine: for
      files of another version or CPU, and for those that nobody vouches for. `chosen` are keywords
      of `compile`.
    """
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError("threads", repr(threads), "a number of threads, or 0 for all")
    file = SavedFile.open(path)
    if recompile:
        from anyshape.loaded.recompile import recompiled  # noqa: PLC0415 - compiles: all of it

        return recompiled(file, {**chosen, "threads": threads})
    if chosen:
        name = next(iter(chosen))
        raise OptionError(name, repr(chosen[name]), "left out, or given with recompile=True")
    return loaded(file, threads)


def from_bytes(content: bytes) -> Loaded:
    """The same of a file in memory."""
    return loaded(SavedFile("these bytes", memoryview(content)))


def loaded(file: SavedFile, threads: int = 0, running: RunOptions | None = None) -> Loaded:
    """What an open file holds, if this process may run it."""
    target = chosen_target(file)
    file.check(target.blobs)
    running = running or run_options(options_from_environment())
    code = FileCode(file, target, threads, running)
    root = code.root()
    if isinstance(root, ModelRecord):
        return LoadedModel(root, code)
    if isinstance(root, RaggedRecord):
        return LoadedRaggedModel(root, code)
    return LoadedExecutable(root, code)
