"""Makes a failing program small: fewer instructions and inputs, simpler types, sizes and calls.

A candidate is kept if it fails in the same way. An instruction is cut by making its result an
input, so programs shrink from both ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from tests.fuzz.against_numpy.check import Failure, Tally, Variant, check, simple
from tests.fuzz.against_numpy.dtypes import NoMeaning
from tests.fuzz.against_numpy.inputs import LAYOUTS, arrays_of
from tests.fuzz.against_numpy.isolate import Ended, alone
from tests.fuzz.against_numpy.program import Input, Program, meaning, size_of

ATTEMPTS = 300
"""How many candidates are tried at most."""


def fails_like(kind: str, program: Program, variant: Variant) -> Failure | None:
    """The failure of a candidate, if it is of the same kind."""
    found = alone(_attempt, (program, variant))
    if isinstance(found, Ended):
        found = Failure(found.how, found.how, program, variant, dict(program.bindings[-1]))
    return found if found is not None and found.kind == kind else None


def _attempt(job: tuple[Program, Variant]) -> Failure | None:
    """What a candidate does; one that has become no program at all does nothing."""
    program, variant = job
    try:
        return check(program, [variant], Tally())
    except Exception:
        return None


Fails = Callable[[str, Program, Variant], Failure | None]


def shrunk(failure: Failure, fails: Fails = fails_like) -> Failure:
    """As small as the steps below make it, while it `fails` in the same way."""
    best = fails(failure.kind, simple(failure).program, failure.variant) or failure
    left, skipped = ATTEMPTS, 0
    while left > 0:
        # Steps that did not help are not the first to be tried again.
        candidates = list(_candidates(best))
        skipped = skipped % max(len(candidates), 1)
        for at in range(len(candidates)):
            place = (skipped + at) % len(candidates)
            left -= 1
            found = fails(best.kind, *candidates[place])
            if found is not None:
                best, skipped = found, place
                break
        else:
            return best
    return best


def _candidates(failure: Failure) -> Iterator[tuple[Program, Variant]]:
    program, variant = failure.program, failure.variant
    for smaller in _smaller(program):
        yield _tidy(smaller), variant
    for simpler in _simpler_variants(variant):
        yield program, simpler


def _smaller(program: Program) -> Iterator[Program]:
    if len(program.bindings) > 1:
        yield from (replace(program, bindings=(sizes,)) for sizes in program.bindings)
    if len(program.returns) > 1:
        yield from (replace(program, returns=(name,)) for name in program.returns)
        for name in program.returns:
            yield replace(program, returns=tuple(n for n in program.returns if n != name))
    yield from _earlier_results(program)
    yield from _cut(program)
    yield from _simpler_inputs(program)
    yield from _smaller_sizes(program)


def _earlier_results(program: Program) -> Iterator[Program]:
    """What the last instruction reads is the result."""
    for instruction in program.instructions:
        if set(instruction.results) & set(program.returns):
            yield from (replace(program, returns=(name,)) for name in sorted(instruction.uses))


def _cut(program: Program) -> Iterator[Program]:
    """One instruction less: its results are inputs, whose sizes have no name."""
    if len(program.bindings) > 1:
        return
    sizes = program.bindings[0]
    try:
        values = meaning(program, arrays_of(program, sizes), sizes)
    except NoMeaning:
        return
    for index, instruction in enumerate(program.instructions):
        inputs, more = list(program.inputs), dict(sizes)
        for name in instruction.results:
            names = [f"s{len(more) + axis}" for axis in range(values[name].ndim)]
            more |= dict(zip(names, values[name].shape, strict=True))
            shape = tuple(f"?{axis}" for axis in names)
            inputs.append(Input(name, values[name].dtype, shape))
        rest = (*program.instructions[:index], *program.instructions[index + 1 :])
        yield replace(program, inputs=tuple(inputs), instructions=rest, bindings=(more,))


def _simpler_inputs(program: Program) -> Iterator[Program]:
    for index, given in enumerate(program.inputs):
        for simpler in _simpler(given, program):
            others = list(program.inputs)
            others[index] = simpler
            yield program.with_inputs(*others)


def _simpler(given: Input, program: Program) -> Iterator[Input]:
    if given.layout != "dense":
        yield replace(given, layout="dense")
    if given.fill in ("wild", "normal"):
        yield replace(given, fill="grid")
    if given.dtype not in ("f32", "i64", "bool"):
        yield replace(given, dtype="f32")
    if len(program.bindings) == 1:
        for axis, text in enumerate(given.shape):
            if not text.isdigit() and not text.isalpha():
                size = str(size_of(text, program.bindings[0]))
                yield replace(given, shape=(*given.shape[:axis], size, *given.shape[axis + 1 :]))


def _smaller_sizes(program: Program) -> Iterator[Program]:
    if len(program.bindings) > 1:
        return
    sizes = program.bindings[0]
    used = {axis for given in program.inputs for text in given.shape for axis in _axes(text)}
    for axis in sorted(used & set(sizes)):
        for size in sorted({0, 1, 2, 3, sizes[axis] // 2, sizes[axis] - 1}):
            if 0 <= size < sizes[axis]:
                yield replace(program, bindings=({**sizes, axis: size},))


def _axes(text: str) -> set[str]:
    letters = "".join(c if c.isalnum() else " " for c in text)
    return set(letters.split())


def _tidy(program: Program) -> Program:
    """Without instructions and inputs that nothing reads."""
    needed, kept = set(program.returns), []
    for instruction in reversed(program.instructions):
        if needed & set(instruction.results):
            kept.insert(0, instruction)
            needed |= instruction.uses
    inputs = tuple(given for given in program.inputs if given.name in needed)
    return replace(program, instructions=tuple(kept), inputs=inputs)


def _simpler_variants(variant: Variant) -> Iterator[Variant]:
    plain = Variant()
    for name in ("threads", "executor", "donate", "result_cache", "call"):
        if getattr(variant, name) != getattr(plain, name):
            yield replace(variant, **{name: getattr(plain, name)})


# --- what is printed ------------------------------------------------------------------------------


def snippet(failure: Failure) -> str:
    """A file of a few lines that shows the failure."""
    program, sizes = failure.program, failure.sizes
    lines = ["import numpy as np", "import ml_dtypes", "import anyshape as ash", ""]
    lines += [f"@ash.jit({failure.variant.as_text()})", program.source(), ""]
    try:
        arrays = arrays_of(program, sizes)
    except NoMeaning:
        arrays = {}
    layouts = {given.name: given.layout for given in program.inputs}
    for name, array in arrays.items():
        odd = "" if layouts[name] == "dense" else f"  # {LAYOUTS[layouts[name]].__name__}"
        lines.append(f"{name} = {_array_text(array)}{odd}")
    lines.append(f"print(f({', '.join(arrays)}))  # call: {failure.variant.call}, sizes: {sizes}")
    problem = "\n".join(f"# {line}" for line in failure.text.splitlines())
    return "\n".join([*lines, f"# {failure.kind}, seed {program.seed}", problem])


def _array_text(array: np.ndarray) -> str:
    dtype = "ml_dtypes.bfloat16" if array.dtype.name == "bfloat16" else f"np.{array.dtype}"
    if array.size > 40:
        return f"np.ones({array.shape}, {dtype})  # of other values"
    nested = str(array.astype(object).tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.array({nested}, {dtype.replace('bool', 'bool_')}).reshape({array.shape})"
