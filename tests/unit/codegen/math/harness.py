"""Compiles one math function into a loop over arrays, for tests and benchmarks.

Speaks to llvmlite directly, so that a failure here is a failure of the math and nothing else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from anyshape.codegen.llvm.math import arity, emit
from anyshape.codegen.llvm.math.boundary import new_module
from anyshape.codegen.llvm.math.software import SOFTWARE

TYPES = {
    np.dtype(np.float16): ir.HalfType(),
    np.dtype(np.float32): ir.FloatType(),
    np.dtype(np.float64): ir.DoubleType(),
}
Compute = Callable[[ir.IRBuilder, list[ir.Value]], ir.Value]
I64, PTR = ir.IntType(64), ir.PointerType()


@dataclass(frozen=True)
class Machine:
    """What to compile for; the default is the processor that runs the tests."""

    triple: str
    cpu: str
    features: str = ""
    software: bool = False  # computes what plain x86-64 has no instruction for


SSE2 = Machine("x86_64-linux-gnu", "x86-64", software=True)
AVX2 = Machine("x86_64-linux-gnu", "haswell")
AVX512 = Machine("x86_64-linux-gnu", "skylake-avx512")
NEON = Machine("aarch64-linux-gnu", "neoverse-n1")


def host() -> Machine:
    features = llvm.get_host_cpu_features().flatten()
    return Machine(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


def loop_module(name: str, dtype: np.dtype, lanes: int, *, software: bool = False) -> ir.Module:
    """void kernel(count, out, in0, ...): out[i] = name(in0[i], ...), `lanes` at a time."""
    module = new_module(name, SOFTWARE if software else {})
    write_loop(module, lambda b, values: emit(b, name, *values), arity(name), lanes, dtype, dtype)
    return module


def write_loop(
    module: ir.Module, compute: Compute, inputs: int, lanes: int, dtype: np.dtype, to: np.dtype
) -> None:
    """A kernel around any code."""
    element, result = TYPES[dtype], TYPES[to]
    vector = element if lanes == 1 else ir.VectorType(element, lanes)
    kind = ir.FunctionType(ir.VoidType(), [I64, *[PTR] * (inputs + 1)])
    function = ir.Function(module, kind, "kernel")
    count, out, *arrays = function.args
    entry, loop, done = (function.append_basic_block(n) for n in ("entry", "loop", "done"))
    ir.IRBuilder(entry).branch(loop)

    b = ir.IRBuilder(loop)
    i = b.phi(I64)

    def at(base: ir.Value, kind: ir.Type) -> ir.Value:
        return b.gep(base, [i], source_etype=kind)

    values = [b.load(at(p, element), typ=vector, align=dtype.itemsize) for p in arrays]
    b.store(compute(b, values), at(out, result), align=to.itemsize)
    following = b.add(i, I64(lanes))
    i.add_incoming(I64(0), entry)
    i.add_incoming(following, b.block)
    b.cbranch(b.icmp_signed("<", following, count), loop, done)
    ir.IRBuilder(done).ret_void()


@cache
def initialise() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def optimised(module: ir.Module, machine: Machine) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    initialise()
    target = llvm.Target.from_triple(machine.triple).create_target_machine(
        cpu=machine.cpu, features=machine.features, opt=3, reloc="pic", codemodel="small"
    )
    module.triple = machine.triple
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(parsed, builder)
    return parsed, target


def object_code(name: str, dtype: np.dtype, lanes: int, machine: Machine) -> bytes:
    module = loop_module(name, dtype, lanes, software=machine.software)
    parsed, target = optimised(module, machine)
    return target.emit_object(parsed)


@cache
def compiled(
    name: str, dtype: np.dtype, lanes: int, machine: Machine | None = None
) -> Callable[..., NDArray]:
    """name as a function of arrays, running `lanes` elements at a time."""
    machine = machine or host()
    module = loop_module(name, dtype, lanes, software=machine.software)
    return loaded(module, machine, lanes, arity(name), dtype)


def loaded(
    module: ir.Module, machine: Machine, lanes: int, inputs: int, to: np.dtype
) -> Callable[..., NDArray]:
    """The kernel of a module as a function of arrays."""
    parsed, target = optimised(module, machine)
    engine = llvm.create_mcjit_compiler(parsed, target)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (inputs + 1))
    kernel = kind(engine.get_function_address("kernel"))

    def run(*given: NDArray, out: NDArray | None = None) -> NDArray:
        assert engine  # it owns the code
        arrays = np.broadcast_arrays(*given)
        size = arrays[0].size
        padded = [np.ascontiguousarray(np.resize(a, -(-size // lanes) * lanes)) for a in arrays]
        out = np.empty(padded[0].shape, to) if out is None else out
        kernel(len(out), out.ctypes.data, *(a.ctypes.data for a in padded))
        return out[:size]

    run.kernel = kernel
    return run
