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
from zipfile import BadZipFile

import numpy as np

from anyshape.api import CompiledModule, Jitted, compile
from anyshape.base.errors import InputError, OptionError, UntrustedFileError
from anyshape.cli.mistakes import CommandError
from anyshape.cli.sizes import Given
from anyshape.execute import Executable
from anyshape.execute.example_arrays import example_arrays, usual_binding
from anyshape.ir.graph import Graph
from anyshape.ir.types import Array, TensorType
from anyshape.loaded import load
from anyshape.loaded.from_file import FromFile

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
        return saved.targets if isinstance(saved, FromFile) else ()

    def shapes(self) -> dict[str, list[str]]:
        """Of each input, in the names of its axes."""
        return {name: [str(dim) for dim in type_.shape] for name, type_ in self.inputs}

    def binding(self, given: Given, files: Mapping[str, Array] | None = None) -> dict[str, int]:
        """A size for each axis: that of the array that has it, or as it is given, or else likely,
        or else small."""
        named = given.by_axis(self.shapes())
        names = [axis.name for axis in self.executable.axes]
        if unknown := sorted(named.keys() - set(names)):
            fix = f"--bind {','.join(f'{name}=...' for name in names)}" if names else "leave it out"
            raise CommandError(f"the model has no axis '{unknown[0]}'", fix)
        sizes = {name: size.usual for name, size in named.items()}
        for name, size in self._sizes_of(files or {}).items():
            if sizes.setdefault(name, size) != size:
                problem = f"axis '{name}' is given as {sizes[name]}, and has {size} in a file"
                raise CommandError(problem, f"leave out {name}, or pass other arrays")
        binding = {**usual_binding(self.executable), **sizes}
        self._check_shapes(given, binding)
        return binding

    def _sizes_of(self, files: Mapping[str, Array]) -> dict[str, int]:
        """Of the axes that dims of these arrays are; what does not fit is refused at the call."""
        dims = self.shapes()
        names = {axis.name for axis in self.executable.axes}
        found: dict[str, int] = {}
        for name, array in files.items():
            if name in dims and len(dims[name]) == array.ndim:
                pairs = zip(dims[name], array.shape, strict=True)
                found |= {dim: size for dim, size in pairs if dim in names}
        return found

    def _check_shapes(self, given: Given, binding: Mapping[str, int]) -> None:
        """Sizes that an input was given where it has numbers, or expressions of axes."""
        symbols = {axis.symbol: binding[axis.name] for axis in self.executable.axes}
        for name, type_ in self.inputs:
            shape = [dim.evaluate(symbols) for dim in type_.shape]
            for n, size in enumerate(given.inputs.get(name, ())):
                if size is not None and not size.low <= shape[n] <= size.high:
                    problem = f"input '{name}' has size {shape[n]} at axis {n}, not {size.usual}"
                    fix = f"pass {'x'.join(map(str, shape))}, or ? for what the model decides"
                    raise CommandError(problem, fix)

    def arrays(
        self, binding: Mapping[str, int], files: Mapping[str, Array], seed: int
    ) -> list[Array]:
        """From files where there are some, else random."""
        names = [name for name, _ in self.inputs]
        for name in files.keys() - set(names):
            raise InputError(name, "is no input of the model", f"pass {', '.join(names)}")
        try:
            return example_arrays(self.executable, binding, files, seed)
        except (MemoryError, ValueError, OverflowError):  # what NumPy says of sizes beyond all
            sizes = ", ".join(f"{name}={size}" for name, size in binding.items())
            problem = f"inputs at {sizes} do not fit into memory"
            raise CommandError(problem, "choose smaller sizes") from None


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
    program = _exported_program(path)
    return cast(CompiledModule, compile(program, threads=threads))


def _exported_program(path: str) -> Any:
    torch: Any = import_module("torch")
    try:
        return torch.export.load(path)
    except Exception as error:  # of zip, of pickle, of torch: whatever the bytes are
        why = str(error).partition("\n")[0]
        problem = f"{path} is no exported program: {type(error).__name__}: {why}"
        raise CommandError(problem, "pass what torch.export.save has written") from error


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
        held = _read(path if equals else text)
        if isinstance(held, dict) != (not equals):
            raise CommandError(f"{text} is not NAME=FILE.npy, nor FILE.npz", "name each .npy file")
        found |= held if isinstance(held, dict) else {name: held}
    return found


def _read(path: str) -> Array | dict[str, Array]:
    """What NumPy reads of a file: an array, or several by name."""
    try:
        held: Any = np.load(path, allow_pickle=False)
        if not hasattr(held, "files"):
            return held
        with held as archive:
            return {key: archive[key] for key in archive.files}
    except (ValueError, EOFError, BadZipFile):
        fix = "pass numbers that np.save or np.savez has written"
        raise CommandError(f"{path} holds no arrays that can be read", fix) from None
