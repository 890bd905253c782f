"""Programs whose parts do not fit together, or have another form, are refused when they are made.

Whatever is put in place of a part, in whatever attribute: the refusal says where, and nothing else
happens.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.unit.runtime.graphs import temporary, with_conflicts
from tests.unit.runtime.handmade import F32, Handmade, add_kernel, double_kernel, matrices

from anyshape.program import (
    Address,
    AliasStore,
    ArenaStore,
    Buffer,
    ConstantStore,
    Immediate,
    InputStore,
    KernelAddress,
    Output,
    OutputStore,
    ProgramDescription,
    Store,
    Variant,
    Word,
)
from anyshape.runtime.failures import ImpossibleSizeError, MalformedProgramError
from anyshape.runtime.options import RunOptions
from anyshape.runtime.program import Program


def sound() -> ProgramDescription:
    made = Handmade()
    sizes = matrices(made, ["a", "b"])
    t = temporary(made, sizes)
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    s0 = made.step(add_kernel(), [0, 1, t], sizes.count, sizes.tasks)
    made.step(double_kernel(), [t, out], sizes.count, sizes.tasks, [s0])
    return with_conflicts(made).description()


SOUND = sound()


def complete() -> ProgramDescription:
    """The same with a store and a source of every kind."""
    first = replace(SOUND.steps[0], block=(*SOUND.steps[0].block, Immediate(7)))
    added = (Buffer(ConstantStore(0), 3), Buffer(AliasStore(4, 0), 0))
    return replace(
        SOUND,
        constants=(SOUND.bind,),
        buffers=(*SOUND.buffers, *added),
        steps=(first, *SOUND.steps[1:]),
    )


COMPLETE = complete()


def problem(**changes) -> str:
    with pytest.raises(MalformedProgramError) as caught:
        Program(replace(SOUND, **changes))
    assert isinstance(caught.value, ValueError)
    return caught.value.problem


def changed(items: tuple, index: int, item) -> tuple:
    return (*items[:index], item, *items[index + 1 :])


def with_store(store: Store[int], nbytes: int = 0) -> str:
    return problem(buffers=changed(SOUND.buffers, 2, Buffer(store, nbytes)))


def with_step(**changes) -> str:
    return problem(steps=changed(SOUND.steps, 1, replace(SOUND.steps[1], **changes)))


def test_the_sound_ones():
    Program(SOUND)
    Program(COMPLETE)


def test_functions():
    assert problem(bind=0) == "there is no bind function"
    assert problem(shape=0) == "there is no shape function"
    assert problem(kernels=(add_kernel(), 0)) == "kernel 1 has no address"
    assert problem(constants=(0,)) == "constant 0 has no address"
    assert problem(words=1 << 30) == "too many words"
    assert problem(window=0) == "the program: a window of no steps"


def test_buffers():
    assert with_store(InputStore(0), 9) == "buffer 2: bytes word 9 is not one of 5"
    assert with_store(InputStore(2)) == "buffer 2: input 2 is not one of 2"
    assert with_store(OutputStore(1)) == "buffer 2: output 1 is not one of 1"
    assert with_store(OutputStore(0)) == "buffer 2: another buffer is that output's"
    assert with_store(ConstantStore(0)) == "buffer 2: constant 0 is not one of 0"
    late = "buffer 2: an alias of a buffer that is not before it"
    assert with_store(AliasStore(2)) == with_store(AliasStore(3)) == late
    assert with_store(AliasStore(0, offset=9)) == "buffer 2: offset word 9 is not one of 5"
    assert with_store(ArenaStore(1, 0)) == "buffer 2: it dies before it is born"
    assert with_store(ArenaStore(1, 2)) == "buffer 2: last step 2 is not one of 2"
    assert with_store(ArenaStore(0, 1, (2,))) == "buffer 2: it conflicts with itself"
    stranger = "buffer 2: it conflicts with buffer 1, which is not in the arena"
    assert with_store(ArenaStore(0, 1, (1,))) == stranger
    missing = "buffer 2: conflicting buffer 7 is not one of 4"
    assert with_store(ArenaStore(0, 1, (7,))) == missing


def test_outputs():
    def with_output(*fields) -> str:
        return problem(outputs=(Output(F32, *fields),))

    assert with_output((9,), 3) == "output 0: dim word 9 is not one of 5"
    assert with_output((0, 1), 4) == "buffer 3: another buffer is that output's"
    assert with_output((0,) * 65, 3) == "output 0: a rank beyond 64"


def test_orders():
    def of_input(order: tuple[int, ...]) -> str:
        return problem(inputs=changed(SOUND.inputs, 0, replace(SOUND.inputs[0], order=order)))

    def of_output(order: tuple[int, ...]) -> str:
        return problem(outputs=(replace(SOUND.outputs[0], order=order),))

    assert of_input((0, 2)) == "input 'a': axis 2 is not one of 2"
    assert of_input((1, 1)) == "input 'a': an order that names an axis twice"
    assert of_input((0,)) == "input 'a': an order of other axes"
    assert of_output((1, 0, 1)) == "output 0: an order that names an axis twice"


def test_starts():
    def of_output(start: int) -> str:
        return problem(outputs=(replace(SOUND.outputs[0], start=start),))

    assert of_output(2) == "output 0: start 2 is not one of 2"
    other = changed(SOUND.inputs, 0, replace(SOUND.inputs[0], dtype=np.dtype(np.int32)))
    begun = (replace(SOUND.outputs[0], start=0),)
    assert problem(inputs=other, outputs=begun) == (
        "output 0: it begins with an input of another type"
    )
    made = Handmade()
    sizes = matrices(made, ["a"])
    for _ in range(2):
        made.output([sizes.m, sizes.n], sizes.nbytes)
    made.outputs = [replace(output, start=0) for output in made.outputs]
    with pytest.raises(MalformedProgramError) as caught:
        made.program()
    assert caught.value.problem == "output 1: another output begins with the same input"


def test_steps():
    assert with_step(variants=()) == "step 1 (step1): it has no kernel"
    assert with_step(variants=(Variant(2),)) == "step 1 (step1): kernel 2 is not one of 2"
    both = (Variant(0), Variant(1))
    assert with_step(variants=both) == "step 1 (step1): several kernels and no word that chooses"
    assert with_step(variant=5) == "step 1 (step1): variant word 5 is not one of 5"
    assert with_step(tasks=5) == "step 1 (step1): tasks word 5 is not one of 5"
    assert with_step(cost=5) == "step 1 (step1): cost word 5 is not one of 5"
    late = (Variant(0, start=9),)
    assert with_step(variants=late) == "step 1 (step1): a kernel's words are not there"
    for wait in (1, 2):
        late = f"step 1 (step1): it waits for step {wait}, which is not before it"
        assert with_step(waits=(wait,)) == late
    assert with_step(block=(Word(5),)) == "step 1 (step1): word 5 is not one of 5"
    assert with_step(block=(Address(4),)) == "step 1 (step1): buffer 4 is not one of 4"


# ---- another form --------------------------------------------------------------------------------


def test_numbers():
    assert problem(words=-1) == "words: a number out of range"
    assert problem(symbols=1 << 40) == "symbols: a number out of range"
    assert problem(window=1 << 100_000) == "window: a number out of range"
    assert problem(words=5.0) == "words: expected a number, found float"
    assert problem(words=np.int64(5)) == "words: expected a number, found numpy.int64"
    assert with_step(block=(KernelAddress(9),)).startswith(
        "step 1 (step1): kernel 9 is not one of "
    )
    assert with_step(block=(Word(0), Address(-1))) == (
        "steps[1].block[1].buffer: a number out of range"
    )
    huge = (Immediate(1 << 63),)
    assert with_step(block=huge) == "steps[1].block[0].value: a number out of range"
    assert with_store(ArenaStore(0, 1, (0, -1))) == (
        "buffers[2].store.conflicts[1]: a number out of range"
    )
    assert problem(kernels=(1 << 64,)) == "kernels[0]: a number out of range"


def test_kinds():
    assert problem(inputs=None) == "inputs: expected a tuple, found NoneType"
    assert problem(steps=list(SOUND.steps)) == "steps: expected a tuple, found list"
    assert with_store(None) == "buffers[2].store: expected a store, found NoneType"
    assert with_store(Word(0)) == "buffers[2].store: expected a store, found Word"
    assert with_step(block=(InputStore(0),)) == (
        "steps[1].block[0]: expected a source, found InputStore"
    )
    assert with_step(block=(5,)) == "steps[1].block[0]: expected a source, found int"
    assert with_step(name=5) == "steps[1].name: expected a string, found int"
    per_worker = ArenaStore(0, 1, (), 1)
    assert with_store(per_worker) == "buffers[2].store.per_worker: expected a bool, found int"
    surrogate = with_step(name="\ud800")
    assert surrogate.startswith("steps[1].name: UnicodeEncodeError(")
    typed = changed(SOUND.inputs, 1, replace(SOUND.inputs[1], dtype=np.float32))
    assert problem(inputs=typed) == "inputs[1].dtype: expected a NumPy dtype, found type"
    typed = changed(SOUND.inputs, 1, replace(SOUND.inputs[1], dtype=np.dtype(object)))
    assert problem(inputs=typed) == "inputs[1].dtype: KeyError('O')"


def test_missing_attributes():
    missing = "inputs[0].name: AttributeError(\"'int' object has no attribute 'name'\")"
    assert problem(inputs=(5,)) == missing
    with pytest.raises(MalformedProgramError) as caught:
        Program(SimpleNamespace(bind=SOUND.bind))
    assert caught.value.problem.startswith("shape: AttributeError(")


def test_options():
    def with_options(**changes: Any) -> str:
        with pytest.raises(MalformedProgramError) as caught:
            Program(SOUND, options=RunOptions(**changes))
        return caught.value.problem

    assert with_options(threads="two") == "threads: expected a number, found str"
    assert with_options(threads=1 << 40) == "threads: a number out of range"
    assert with_options(cache_bytes=-1) == "cache_bytes: a number out of range"
    assert with_options(wait_for_team=1) == "wait_for_team: expected a bool, found int"
    assert with_options(memory_limit=1.5) == "memory_limit: expected a number of bytes, found float"
    Program(SOUND, options=RunOptions(memory_limit=1 << 100))


@dataclass(frozen=True)
class Raises:
    """What a description can be at worst: an object whose attributes raise."""

    error: type[BaseException]

    def __getattr__(self, name: str) -> object:
        raise self.error(name)


def test_errors_of_attributes():
    assert problem(inputs=(Raises(LookupError),)) == "inputs[0].name: LookupError('name')"
    for error in (KeyboardInterrupt, MemoryError):  # not about the description
        with pytest.raises(error):
            Program(Raises(error))


# ---- anything anywhere ---------------------------------------------------------------------------

Change = Callable[[Any], Any]
ODD = (
    None, True, -1, 0, 1, 4, 5, 1 << 24, 1 << 32, 1 << 63, -(1 << 63), 1 << 200, 0.5, "", "x", b"x",
    (), [], {}, (0,), (0, 0), (None,), (1 << 31,) * 3, object(), InputStore(0), OutputStore(0),
    ArenaStore(0, 0), AliasStore(0), AliasStore(1, 0), ConstantStore(0), Word(0), Address(0),
    Immediate(-1), Variant(0), F32, np.dtype("O"), np.dtype("U3"), np.dtype("c16"), np.float32,
    Raises(ValueError),
)  # fmt: skip


def parts_of(value: object, change: Change, name: str = "") -> Iterator[tuple[str, Change]]:
    """Everything inside of a value: its name, and a function that puts something in its place."""
    yield name, change
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from parts_of(item, lambda new, index=index: change(changed(value, index, new)))
    elif is_dataclass(value):
        for field in fields(value):
            yield from parts_of(
                getattr(value, field.name),
                lambda new, name=field.name: change(replace(value, **{name: new})),
                f"{type(value).__name__}.{field.name}",
            )


def test_every_attribute_is_read():
    """But those by which Python alone tells variants apart."""
    unread: set[str] = set()
    for name, change in parts_of(COMPLETE, lambda new: new):
        try:
            Program(change(object()))
            unread.add(name)
        except MalformedProgramError:
            pass
    assert unread == {"Variant.name", "Variant.cost"}


def test_odd_values_everywhere():
    """Each part is replaced by each odd value: the program is made, or refused by that error."""
    refused = made = 0
    for _, change in parts_of(COMPLETE, lambda new: new):
        for odd in ODD:
            try:
                Program(change(odd))
                made += 1
            except MalformedProgramError:
                refused += 1
    assert refused > 5 * made > 0


def test_many_odd_values_at_once():
    """Two or three parts at a time; whatever passes has a level 2 or an error of its own."""
    rng = random.Random(1)
    for _ in range(2000):
        description: Any = COMPLETE
        for _ in range(rng.randint(2, 3)):
            changes = [change for _, change in parts_of(description, lambda new: new)]
            description = rng.choice(changes[1:] or changes)(rng.choice(ODD))
        try:
            program = Program(description)
        except MalformedProgramError:
            continue
        same = ("bind", "shape", "symbols", "words")  # code that writes so many words
        if all(getattr(description, name) is getattr(SOUND, name) for name in same):
            with suppress(ImpossibleSizeError):
                program.specialize([4, 4])
