"""What MODEL is on a command line: an ONNX file, a `.pt2` exported program, a saved executable, or
`module:function`. Whichever it is, it is an Executable that takes arrays in order."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import numpy as np

from anyshape.api import CompiledModule, Jitted, compile
from anyshape.base.errors import BindingNamesError, InputError, OptionError, UntrustedFileError
from anyshape.cli.sizes import Given
from anyshape.execute import Executable
from anyshape.execute.example_arrays import example_arrays, usual_binding
from anyshape.ir.graph import Graph
from anyshape.ir.types import Array, TensorType
from anyshape.loaded import LoadedExecutable, LoadedModel, load

KINDS = "an .onnx, .pt2 or .ash file, or module:function"

TRUST = "--trust"
"""Says that the file's maker is trusted like that of a program."""


@dataclass(frozen=True)
class Model:
    """A model that is ready to run, and what that took."""

    name: str
    kind: str
    saves: Any  # what has a `save`
    executable: Executable
    seconds: float

    @property
    def inputs(self) -> Sequence[tuple[str, TensorType]]:
        return self.executable.notes.inputs

    @property
    def targets(self) -> tuple[str, ...]:
        """What a file has code for, the one that runs here first."""
        saved = self.saves
        return saved.targets if isinstance(saved, (LoadedExecutable, LoadedModel)) else ()

    def shapes(self) -> dict[str, list[str]]:
        """Of each input, in the names of its axes."""
        return {name: [str(dim) for dim in type_.shape] for name, type_ in self.inputs}

    def binding(self, given: Given) -> dict[str, int]:
        """A size for each axis: as it is given, or else likely, or else small."""
        named = given.by_axis(self.shapes())
        axes = {axis.name: axis for axis in self.executable.axes}
        if unknown := sorted(named.keys() - axes.keys()):
            raise BindingNamesError([], unknown, tuple(axes))
        sizes = {name: size.usual for name, size in named.items()}
        return {**usual_binding(self.executable), **sizes}

    def arrays(
        self, binding: Mapping[str, int], files: Mapping[str, Array], seed: int
    ) -> list[Array]:
        """From files where there are some, else random."""
        names = [name for name, _ in self.inputs]
        for name in files.keys() - set(names):
            raise InputError(name, "is no input of the model", f"pass {', '.join(names)}")
        return example_arrays(self.executable, binding, files, seed)


def model_of(text: str, threads: int = 0, *, trust: bool = False) -> Model:
    """Reads, compiles or loads it. What runs code of its own while it is read takes `trust`."""
    start = perf_counter()
    kind, made = _made(text, threads, trust)
    executable = made if isinstance(made, Executable) else made.executable
    return Model(executable.notes.name, kind, made, executable, perf_counter() - start)


def _made(text: str, threads: int, trust: bool) -> tuple[str, Any]:
    suffix = Path(text).suffix
    if suffix == ".ash":
        return "saved executable", load(text, threads=threads)
    if suffix == ".onnx":
        return "ONNX model", compile(text, threads=threads)
    if suffix == ".pt2":
        return "exported program", _exported(text, threads, trust)
    module, colon, name = text.rpartition(":")
    if colon and module and name.isidentifier():
        return "function", _function(module, name, threads)
    raise OptionError("MODEL", text, KINDS)


def _exported(path: str, threads: int, trust: bool) -> CompiledModule:
    """`torch.export.load` unpickles, and a pickle may run any code: never without being told."""
    if not os.path.exists(path):
        raise FileNotFoundError(2, "No such file or directory", path)
    if not trust:
        raise UntrustedFileError(path, TRUST)
    torch: Any = import_module("torch")
    program: Any = torch.export.load(path)
    return cast(CompiledModule, compile(program, threads=threads))


def _function(module: str, name: str, threads: int) -> Executable:
    sys.path.insert(0, os.getcwd())
    found: Any = getattr(import_module(module), name, None)
    if isinstance(found, Executable):
        return found
    if isinstance(found, Graph):
        return compile(found, threads=threads)
    if isinstance(found, Jitted):
        return compile(cast(Jitted[..., Any], found), threads=threads)
    raise OptionError("MODEL", f"{module}:{name}", "a function with @anyshape.jit, or a Graph")


def arrays_from(files: Sequence[str]) -> dict[str, Array]:
    """`name=file.npy`, or an `.npz` with arrays by name. Nothing is unpickled."""
    found: dict[str, Array] = {}
    for text in files:
        name, equals, path = text.partition("=")
        if not equals:
            with np.load(text, allow_pickle=False) as archive:
                found |= {key: archive[key] for key in archive.files}
        else:
            found[name] = np.load(path, allow_pickle=False)
    return found
