"""LLVM IR in, relocatable object code out.

The object is position-independent, constant and closed: all its symbols are defined and hidden, so
it needs no dynamic linker, no global offset table and no C library. `csrc/core/object.h` loads it.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from anyshape.base.errors import CompileError, UndefinedSymbolError
from anyshape.codegen.llvm.binding import (
    Binding,
    Module,
    Resource,
    TargetMachine,
    free_pass_manager,
    load_llvm,
)
from anyshape.codegen.llvm.elf import undefined_symbols
from anyshape.codegen.llvm.memory_calls import memory_call, memory_calls_text
from anyshape.codegen.llvm.one_lane_stores import (
    may_have_one_lane_stores,
    without_one_lane_stores,
)
from anyshape.codegen.llvm.target import LlvmTarget

_R = TypeVar("_R", bound=Resource)


@dataclass(frozen=True, slots=True)
class Tuning:
    """Switches of LLVM's optimiser. They change the code, so they are part of its cache key."""

    loop_vectorize: bool = True
    slp_vectorize: bool = True


DEFAULT_TUNING = Tuning()


def compile_object(
    llvm_text: str, target: LlvmTarget, tuning: Tuning = DEFAULT_TUNING, *, optimize: bool = True
) -> bytes:
    """Compile one module. Raises `CompileError` with the name of its first public function."""
    with _finished(llvm_text, target, tuning, optimize) as (machine, module):
        elf_object = machine.emit_object(module)
    if undefined := undefined_symbols(elf_object):
        raise UndefinedSymbolError(kernel_name(llvm_text), undefined)
    return elf_object


def optimized_text(llvm_text: str, target: LlvmTarget, tuning: Tuning = DEFAULT_TUNING) -> str:
    """LLVM IR as object code is made from it."""
    with _finished(llvm_text, target, tuning) as (_, module):
        return str(module)


def assembly_text(llvm_text: str, target: LlvmTarget, tuning: Tuning = DEFAULT_TUNING) -> str:
    """The instructions of the object code."""
    with _finished(llvm_text, target, tuning) as (machine, module):
        return machine.emit_assembly(module)


@contextmanager
def _finished(
    llvm_text: str, target: LlvmTarget, tuning: Tuning, optimize: bool = True
) -> Generator[tuple[TargetMachine, Module]]:
    """A module that is closed, and optimised unless it should not be; and what makes code of it."""
    with _errors_name(kernel_name(llvm_text)), _Session(load_llvm(), target, tuning) as session:
        module = session.parse(llvm_text)
        if optimize:
            session.optimize(module)
        module = session.with_plain_stores(module)
        if calls := _memory_calls(module):
            module.link_in(session.parse(memory_calls_text(calls)))
        yield session.machine, module


def kernel_name(llvm_text: str) -> str:
    """The first function that is defined for use from outside."""
    match = _PUBLIC_FUNCTION.search(llvm_text)
    return match.group(1) if match else "(no public function)"


_PUBLIC_FUNCTION = re.compile(r'^define (?!internal |private )[^@\n]*@"?([^"(]+)', re.MULTILINE)


@contextmanager
def _errors_name(kernel: str) -> Generator[None]:
    """llvmlite reports whatever LLVM says as RuntimeError."""
    try:
        yield
    except RuntimeError as error:
        raise CompileError(kernel, str(error).strip()) from error


@cache
def _host_cpu(llvm: Binding) -> tuple[str, str]:
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _target_machine(llvm: Binding, target: LlvmTarget) -> TargetMachine:
    cpu, features = _host_cpu(llvm) if target.host else (target.cpu, target.features)
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="small"
    )


class _Session(ExitStack):
    """What the modules that become one object share; closes all that it made, the last first."""

    def __init__(self, llvm: Binding, target: LlvmTarget, tuning: Tuning) -> None:
        super().__init__()
        self.llvm = llvm
        self.target = target
        self.tuning = tuning

    def __enter__(self) -> _Session:
        self.context = self._own(self.llvm.create_context())
        self.machine = self._own(_target_machine(self.llvm, self.target))
        return self

    def _own(self, resource: _R) -> _R:
        self.callback(resource.close)
        return resource

    def parse(self, llvm_text: str) -> Module:
        module = self._own(self.llvm.parse_assembly(llvm_text, self.context))
        module.verify()
        module.triple = self.target.triple
        module.data_layout = str(self.machine.target_data)
        _hide(module)
        return module

    def optimize(self, module: Module) -> None:
        options = self._own(self.llvm.create_pipeline_tuning_options(speed_level=3))
        options.loop_vectorization = self.tuning.loop_vectorize
        options.slp_vectorization = self.tuning.slp_vectorize
        builder = self._own(self.llvm.create_pass_builder(self.machine, options))
        manager = builder.getModulePassManager()
        self.callback(free_pass_manager, self.llvm, manager)
        manager.run(module, builder)

    def with_plain_stores(self, module: Module) -> Module:
        """See `one_lane_stores`."""
        if not may_have_one_lane_stores([function.name for function in module.functions]):
            return module
        changed = without_one_lane_stores(str(module))
        return module if changed is None else self.parse(changed)


def _hide(module: Module) -> None:
    """Make definitions invisible to other objects, so that they are reached without a GOT.

    Kernels do not throw; saying so leaves out the tables for unwinding.
    """
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.linkage.name not in ("internal", "private"):
            value.visibility = "hidden"
    for function in module.functions:
        if not function.is_declaration:
            function.add_function_attribute("nounwind")


def _memory_calls(module: Module) -> set[str]:
    """Which of memcpy, memmove and memset the code may call and does not define."""
    declared = (function.name for function in module.functions if function.is_declaration)
    return {call for name in declared if (call := memory_call(name))}
