"""Programs whose parts do not fit together are refused when they are made, and say why."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.runtime.graphs import temporary, with_conflicts
from tests.unit.runtime.handmade import F32, Handmade, add_kernel, double_kernel, matrices

from anyshape.runtime.failures import MalformedProgramError
from anyshape.runtime.program import (
    Address,
    AliasBuffer,
    ArenaBuffer,
    InputBuffer,
    Output,
    OutputBuffer,
    Program,
    ProgramDescription,
    WeightBuffer,
    Word,
)


def sound() -> ProgramDescription:
    made = Handmade()
    sizes = matrices(made, ["a", "b"])
    t = temporary(made, sizes)
    out = made.output([sizes.m, sizes.n], sizes.nbytes)
    s0 = made.step(add_kernel(), [0, 1, t], sizes.count, sizes.tasks)
    made.step(double_kernel(), [t, out], sizes.count, sizes.tasks, [s0])
    return with_conflicts(made).description()


SOUND = sound()


def problem(**changes) -> str:
    with pytest.raises(MalformedProgramError) as caught:
        Program(replace(SOUND, **changes))
    assert isinstance(caught.value, ValueError)
    return caught.value.problem


def changed(items: tuple, index: int, item) -> tuple:
    return (*items[:index], item, *items[index + 1 :])


def with_buffer(buffer, index: int = 2) -> str:
    return problem(buffers=changed(SOUND.buffers, index, buffer))


def with_step(**changes) -> str:
    return problem(steps=changed(SOUND.steps, 1, replace(SOUND.steps[1], **changes)))


def test_the_sound_one():
    Program(SOUND)


def test_functions():
    assert problem(bind=0) == "there is no bind function"
    assert problem(shape=0) == "there is no shape function"
    assert problem(words=1 << 30) == "too many words"
    assert problem(window=0) == "the program: a window of no steps"


def test_buffers():
    assert with_buffer(InputBuffer(2)) == "buffer 2: input 2 is not one of 2"
    assert with_buffer(OutputBuffer(1, 0)) == "buffer 2: output 1 is not one of 1"
    assert with_buffer(OutputBuffer(0, 0)) == "buffer 2: another buffer is that output's"
    assert with_buffer(WeightBuffer(0)) == "buffer 2: a weight without an address"
    late = "buffer 2: an alias of a buffer that is not before it"
    assert with_buffer(AliasBuffer(2)) == with_buffer(AliasBuffer(3)) == late
    assert with_buffer(AliasBuffer(0, offset=9)) == "buffer 2: offset word 9 is not one of 5"
    assert with_buffer(AliasBuffer(0, bytes=9)) == "buffer 2: bytes word 9 is not one of 5"
    assert with_buffer(ArenaBuffer(9, 0, 0)) == "buffer 2: bytes word 9 is not one of 5"
    assert with_buffer(ArenaBuffer(0, 1, 0)) == "buffer 2: it dies before it is born"
    assert with_buffer(ArenaBuffer(0, 1, 2)) == "buffer 2: last step 2 is not one of 2"
    assert with_buffer(ArenaBuffer(0, 0, 1, (2,))) == "buffer 2: it conflicts with itself"
    stranger = "buffer 2: it conflicts with buffer 1, which is not in the arena"
    assert with_buffer(ArenaBuffer(0, 0, 1, (1,))) == stranger
    missing = "buffer 2: conflicting buffer 7 is not one of 4"
    assert with_buffer(ArenaBuffer(0, 0, 1, (7,))) == missing


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
    assert with_step(variants=(0,)) == "step 1 (step1): a kernel without an address"
    both = (add_kernel(), double_kernel())
    assert with_step(variants=both) == "step 1 (step1): several kernels and no word that chooses"
    assert with_step(variant=5) == "step 1 (step1): variant word 5 is not one of 5"
    assert with_step(tasks=5) == "step 1 (step1): tasks word 5 is not one of 5"
    assert with_step(cost=5) == "step 1 (step1): cost word 5 is not one of 5"
    assert with_step(starts=(9,)) == "step 1 (step1): a kernel's words are not there"
    for wait in (1, 2):
        late = f"step 1 (step1): it waits for step {wait}, which is not before it"
        assert with_step(waits=(wait,)) == late
    assert with_step(block=(Word(5),)) == "step 1 (step1): word 5 is not one of 5"
    assert with_step(block=(Address(4),)) == "step 1 (step1): buffer 4 is not one of 4"
    assert with_step(block=(Address(-1),)).startswith("step 1 (step1): buffer")
    assert with_step(block=(Address(0, 5),)) == "step 1 (step1): offset word 5 is not one of 5"


def test_numbers_that_are_not_indices():
    with pytest.raises(TypeError):
        Program(replace(SOUND, words=-1))
    with pytest.raises(TypeError):
        Program(replace(SOUND, symbols=1 << 40))
