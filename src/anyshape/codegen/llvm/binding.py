"""The one door to LLVM: llvmlite's binding, imported on first use, behind types of our own.

llvmlite has no annotations. These protocols state what we use of it, and nothing else of it may
be used outside this file. LLVM is a shared library of 170 MB: only a process that compiles loads
it, hence the import inside a function.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cache
from importlib import import_module
from threading import RLock  # noqa: TID251  as a type
from typing import Protocol, cast

from anyshape.base.fork_lock import LOADING, take_at_forks


class Resource(Protocol):
    """Something of LLVM's. Close it before what it was made from, and at once.

    Left to the garbage collector, which takes the members of a cycle in any order, a module may
    outlive its context, and disposing of it then is a crash.
    """

    def close(self) -> None: ...


class Context(Resource, Protocol):
    """Owns types and constants; whatever is linked together shares one."""


class Value(Protocol):
    """A function or a global variable of a module."""

    name: str
    visibility: str
    linkage: Enum
    is_declaration: bool

    def add_function_attribute(self, attr: str) -> None: ...


class Module(Resource, Protocol):
    """A unit of LLVM IR."""

    triple: str
    data_layout: str
    functions: Iterable[Value]
    global_variables: Iterable[Value]

    def verify(self) -> None: ...
    def link_in(self, other: Module) -> None: ...


class TargetMachine(Resource, Protocol):
    """A code generator for one CPU."""

    target_data: object  # prints as the data layout

    def emit_object(self, module: Module) -> bytes: ...
    def emit_assembly(self, module: Module) -> str: ...


class TuningOptions(Resource, Protocol):
    """Switches of the optimiser."""

    loop_vectorization: bool
    slp_vectorization: bool


class PassManager(Protocol):
    """A pipeline of passes. To be freed by `free_pass_manager`."""

    def run(self, module: Module, builder: PassBuilder) -> object: ...
    def detach(self) -> None: ...


class PassBuilder(Resource, Protocol):
    """Makes pipelines."""

    def getModulePassManager(self) -> PassManager: ...  # noqa: N802 - llvmlite's name


class TargetFactory(Protocol):
    """LLVM's description of an instruction set."""

    def create_target_machine(
        self, *, cpu: str, features: str, opt: int, reloc: str, codemodel: str
    ) -> TargetMachine: ...


class TargetRegistry(Protocol):
    """Finds an instruction set by triple."""

    def from_triple(self, triple: str) -> TargetFactory: ...


class CpuFeatures(Protocol):
    """Which instructions this machine has."""

    def flatten(self) -> str: ...


class CallLock(Protocol):
    """What llvmlite holds during each call. The lock itself is inside; a fork must wait for it."""

    _lock: RLock


class Library(Protocol):
    """LLVM's functions, each behind the same lock."""

    _lock: CallLock


class ForeignFunctions(Protocol):
    """The module `llvmlite.binding.ffi`."""

    lib: Library


class PassManagerClass(Protocol):
    """What llvmlite's pass managers inherit their methods from."""

    def _dispose(self, manager: PassManager) -> None: ...


class NewPassManagers(Protocol):
    """The module `llvmlite.binding.newpassmanagers`."""

    NewPassManager: PassManagerClass


class Binding(Protocol):
    """The module `llvmlite.binding`. Every call takes one global lock."""

    ffi: ForeignFunctions
    newpassmanagers: NewPassManagers
    Target: TargetRegistry
    llvm_version_info: tuple[int, int, int]

    def set_option(self, name: str, option: str) -> None: ...
    def initialize_all_targets(self) -> None: ...
    def initialize_all_asmprinters(self) -> None: ...
    def get_host_cpu_name(self) -> str: ...
    def get_host_cpu_features(self) -> CpuFeatures: ...
    def create_context(self) -> Context: ...
    def parse_assembly(self, llvmir: str, context: Context) -> Module: ...
    def create_pipeline_tuning_options(self, speed_level: int) -> TuningOptions: ...
    def create_pass_builder(self, tm: TargetMachine, pto: TuningOptions) -> PassBuilder: ...


@cache
def load_llvm() -> Binding:
    """LLVM, loaded and ready to generate code for every target that it was built with.

    Forks wait for the end of a call that another thread makes: in the child LLVM is whole, and its
    lock is free.
    """
    with LOADING:
        llvm = cast("Binding", import_module("llvmlite.binding"))
        _leave_out_checksums(llvm)
    take_at_forks(llvm.ffi.lib._lock._lock)  # pyright: ignore[reportPrivateUsage]  no other way
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


@cache
def _leave_out_checksums(llvm: Binding) -> None:
    """LLVM 22 looks for checksums in loops of 8, 16, ... turns, and for that along every way
    through an expression: there are exponentially many where an operand is used twice and that
    again, as in a polynomial with cases, and compiling does not end.

    An option that a version does not know, or that is given twice, ends the process: hence the
    version, and once.
    """
    if llvm.llvm_version_info[0] == 22:
        llvm.set_option("anyshape", "-disable-loop-idiom-hashrecognize")


def free_pass_manager(llvm: Binding, manager: PassManager) -> None:
    """Frees a pass manager, some thirty kilobytes, which its own `close` does not.

    `close` calls `_dispose`, and of the two base classes that have one the first does nothing.
    """
    free = llvm.newpassmanagers.NewPassManager._dispose  # pyright: ignore[reportPrivateUsage]
    free(manager)
    manager.detach()
