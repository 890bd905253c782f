"""Kernels: the function around the statements.

    void name(const int64_t* block, int64_t first, int64_t last, int64_t worker)

The block holds the address of each buffer, of each workspace, then each size, in the order of the
kernel. All words are read at the start; the rest is a loop over the tasks first..last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from anyshape.codegen.llvm.emit import access, accumulate, streaming
from anyshape.codegen.llvm.emit.condition import all_hold, both, still_open
from anyshape.codegen.llvm.emit.convert import cast
from anyshape.codegen.llvm.emit.copy_matrix import write_copy
from anyshape.codegen.llvm.emit.evaluate import Evaluator
from anyshape.codegen.llvm.emit.frame import Frame, Unit
from anyshape.codegen.llvm.emit.index import index_lanes, scalar_index
from anyshape.codegen.llvm.emit.lanes import Lanes, lift
from anyshape.codegen.llvm.emit.loops import in_range, write_loop
from anyshape.codegen.llvm.emit.multiply import write_multiply
from anyshape.codegen.llvm.emit.safety import made_safe
from anyshape.codegen.llvm.emit.scope import Scope, repeat, when
from anyshape.codegen.llvm.emit.types import I64, POINTER, memory_type, number
from anyshape.codegen.llvm.isa import InstructionSet
from anyshape.codegen.llvm.math.boundary import Builder, Function, Value, constant, ir, new_module
from anyshape.codegen.llvm.math.software import SOFTWARE
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.ir.types import i64
from anyshape.loop import (
    Bind,
    Buffer,
    Copy,
    For,
    Kernel,
    Let,
    Multiply,
    Prepare,
    Statement,
    Store,
    Update,
)
from anyshape.loop.ir import workspace_bytes
from anyshape.loop.verify import facts_of_task
from anyshape.loop.walk import stored_buffers
from anyshape.sym import Answer, Dim, Less, Prover, Symbol, product


def emit_kernel(kernel: Kernel, target: LlvmTarget, name: str = "kernel") -> str:
    """LLVM IR of a module with one public function. Raises VerifyError on a malformed kernel."""
    prover = Prover(kernel.facts.axes, [fact.predicate for fact in kernel.facts.facts])
    safe, checked = made_safe(kernel, prover.extended((), facts_of_task(kernel)))
    isa = target.instruction_set
    function = _function(name, isa)
    stack = ir.IRBuilder(function.append_basic_block("stack"))
    scope = Scope(function.append_basic_block("start"), None)
    scope.prover = prover
    pointers, scope.indices = _read_block(stack, function.args[0], safe)
    pointers |= _scratch(stack, scope, safe, pointers, function.args[3])
    unit = Unit(isa, stack, pointers, checked, _streams(scope, safe))
    _write_tasks(unit, scope, safe, function)
    stack.branch(function.basic_blocks[1])
    return str(function.module)


def _function(name: str, isa: InstructionSet) -> Function:
    module = new_module(name, {missing: SOFTWARE[missing] for missing in isa.software})
    kind = ir.FunctionType(ir.VoidType(), [POINTER, I64, I64, I64])
    function = ir.Function(module, kind, name)
    function.attributes.add("nounwind")
    function.attributes.alignstack = 64  # a spilled vector must not straddle cache lines
    for argument, its_name in zip(function.args, ("block", "first", "last", "worker"), strict=True):
        argument.name = its_name
    return function


def _read_block(
    b: Builder, block: Value, kernel: Kernel
) -> tuple[dict[str, Value], dict[Symbol, Value]]:
    names = [buffer.name for buffer in (*kernel.buffers, *kernel.workspaces)]
    words = iter(range(len(names) + len(kernel.sizes)))
    pointers = {name: _word(b, block, next(words), POINTER) for name in names}
    return pointers, {symbol: _word(b, block, next(words), I64) for symbol in kernel.sizes}


def _scratch(
    stack: Builder, scope: Scope, kernel: Kernel, pointers: dict[str, Value], worker: Value
) -> dict[str, Value]:
    """On the stack, or the worker's part of a workspace."""
    return {
        buffer.name: _on_stack(stack, buffer)
        if kernel.is_on_stack(buffer)
        else _part_of_worker(scope, buffer, pointers[buffer.name], worker)
        for buffer in kernel.scratch
    }


def _part_of_worker(scope: Scope, buffer: Buffer, start: Value, worker: Value) -> Value:
    distance = scope.b.mul(worker, scalar_index(scope, workspace_bytes(buffer)))
    return scope.b.gep(start, [distance], source_etype=ir.IntType(8))


def _on_stack(b: Builder, buffer: Buffer) -> Value:
    """A buffer on the stack, at the start of a cache line."""
    size = product(buffer.shape).evaluate({})
    place = b.alloca(ir.ArrayType(memory_type(buffer.dtype), size))
    place.align, place.type = 64, POINTER
    return place


def _word(b: Builder, block: Value, position: int, kind: object) -> Value:
    address = b.gep(block, [number(position)], source_etype=I64)
    return b.load(address, typ=kind, align=8)


def _streams(scope: Scope, kernel: Kernel) -> Value | None:
    """Whether results go past the caches; None if the facts say that they never do."""
    most = scope.prover.bounds(kernel.streams)[1]
    if most == 0:
        return None
    return scope.b.icmp_signed("!=", scalar_index(scope, kernel.streams), number(0))


def _write_tasks(unit: Unit, scope: Scope, kernel: Kernel, function: Function) -> None:
    _, first, last, _ = function.args
    some = scope.b.icmp_signed("<", first, last)
    with (
        when(scope, some, facts_of_task(kernel)) as before,
        repeat(before, first, last, 1, in_range(kernel.task, kernel.tasks)) as (body, task),
    ):
        body.indices[kernel.task] = task
        frame = Frame(unit, body, before, stored_buffers(kernel.body))
        write_body(frame, kernel.body)
    if unit.streams is not None and unit.isa.needs_fence:
        with when(scope, unit.streams) as streamed:
            streaming.fence(streamed.b)
    scope.b.ret_void()


# --- statements -----------------------------------------------------------------------------------


def write_body(frame: Frame, body: Sequence[Statement]) -> None:
    for statement in body:
        _write(frame, statement)


def _write(frame: Frame, statement: Statement) -> None:
    match statement:
        case Let(local, value):
            frame.locals[local.name] = Evaluator(frame).value(value)
        case Bind():
            _write_bind(frame, statement)
        case Store():
            _write_store(frame, statement)
        case Update(local, value):
            accumulate.update(frame, frame.slots[local.name], Evaluator(frame).value(value))
        case For():
            write_loop(frame, statement, write_body)
        case Copy() | Multiply():
            _write_matrices(frame, statement)
        case Prepare():
            _write_prepare(frame, statement)
        case _:
            assert_never(statement)


def _write_matrices(frame: Frame, statement: Copy | Multiply) -> None:
    """Nothing is done where a bound that nobody could prove does not hold."""
    tests = still_open(frame.scope, frame.unit.checked.get(id(statement), ()))
    if tests is None:
        return
    if tests:
        holds = all_hold(frame.scope, None, tests).scalar
        with when(frame.scope, holds) as inside:
            _write_matrix(frame.inside(inside, frame.loads, frame.stored), statement)
    else:
        _write_matrix(frame, statement)


def _write_matrix(frame: Frame, statement: Copy | Multiply) -> None:
    if isinstance(statement, Copy):
        write_copy(frame, statement)
    else:
        write_multiply(frame, statement)


def _write_prepare(frame: Frame, statement: Prepare) -> None:
    """Runs for the first task of a call, and whenever a key has changed since the task before."""
    b, is_new = frame.b, constant(ir.IntType(1), 0)
    for symbol in statement.keys:
        key, last = scalar_index(frame.scope, Dim.of(symbol)), frame.unit.reserve(I64)
        frame.unit.stack.store(number(-1), last)  # no index is negative
        is_new = b.or_(is_new, b.icmp_signed("!=", key, b.load(last, typ=I64)))
        b.store(key, last)
    with when(frame.scope, is_new) as inside:
        write_body(frame.inside(inside, frame.loads, frame.stored), statement.body)


def _write_store(frame: Frame, statement: Store) -> None:
    value = Evaluator(frame).value(statement.value)
    offset = statement.buffer.offset(statement.index)
    conditions = frame.unit.checked.get(id(statement), ())
    tests = still_open(frame.scope, conditions)
    if tests is None:
        return
    mask = frame.mask
    if tests:
        holds = all_hold(frame.scope, frame.tile, tests)
        mask = holds if mask is None else both(frame.tile, mask, holds)
    access.store(frame, statement.buffer, offset, value, mask)


def _write_bind(frame: Frame, statement: Bind) -> None:
    """The symbol is defined here, with one value for each lane if the data have one."""
    dtype = statement.value.dtype
    value = Evaluator(frame).value(statement.value)
    size = index_lanes(frame.scope, statement.extent, frame.tile)

    def clamped(b: Builder, x: Value, extent: Value) -> Value:
        index, zero = cast(b, dtype, i64, x), constant(extent.type, 0)
        last = b.sub(extent, constant(extent.type, 1))
        below = b.icmp_unsigned if dtype.kind == "uint" else b.icmp_signed
        index = b.select(below("<", index, last), index, last)
        return b.select(b.icmp_signed("<", index, zero), zero, index)

    _define(frame.scope, statement, lift(frame.tile, clamped, value, size))


def _define(scope: Scope, bind: Bind, index: Lanes) -> None:
    if index.uniform:
        scope.indices[bind.symbol] = index.scalar
    else:
        scope.varying[bind.symbol] = index.parts.__getitem__
    # That it is below its extent would imply that the extent is not 0, unless that is known.
    known = scope.prover.proves(Less(Dim.of(0), bind.extent)) is Answer.TRUE
    facts = in_range(bind.symbol, bind.extent)
    scope.learn(facts if known else facts[:1])
