"""Makes a failing module small: fewer statements, results and inputs, simpler text.

A candidate is kept if it fails in the same way. One that is no module any more (a name is gone)
fails in eager mode at its example, and is no candidate.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from tests.fuzz.against_numpy.isolate import Ended, alone
from tests.fuzz.shrinking import made_small
from tests.fuzz.torch_modules.check import Failure, Tally, check
from tests.fuzz.torch_modules.program import HEADER, Program, Statement

ATTEMPTS = 150

Fails = Callable[[Program, str], Failure | None]


def fails_like(program: Program, kind: str) -> Failure | None:
    """The failure of a candidate, if it is of the same kind."""
    if not _runs(program):
        return None
    found = alone(_attempt, program)
    if isinstance(found, Ended):
        found = Failure(found.how, found.how, program, program.example)
    return found if found is not None and found.kind == kind else None


def _attempt(program: Program) -> Failure | None:
    return check(program, Tally())


def _runs(program: Program) -> bool:
    """Whether eager mode takes its example, and no name is missing at any size."""
    calls = [program.call(sizes) for sizes in (program.example, *program.others)]
    try:
        with torch.no_grad():
            program.module()(*calls[0][0], **calls[0][1])
    except Exception:
        return False
    for args, kwargs in calls[1:]:
        try:
            with torch.no_grad():
                program.module()(*args, **kwargs)
        except NameError:
            return False
        except Exception:  # it raises there, as modules may
            continue
    return True


def shrunk(failure: Failure, fails: Fails = fails_like) -> Failure:
    return made_small(failure, _candidates, fails, ATTEMPTS)


def _candidates(failure: Failure) -> Iterator[Program]:
    program = failure.program
    if len(program.others) > 1:
        yield replace(program, others=(failure.sizes,))
    names = [name for each in program.statements for name in _defined(each)]
    yield from _cut_short(program)
    for name in names:
        if program.result != name:
            yield replace(program, result=name)
    for index in reversed(range(len(program.statements))):
        rest = (*program.statements[:index], *program.statements[index + 1 :])
        yield replace(program, statements=rest)
    yield from _without_definitions(program)
    for index, statement in enumerate(program.statements):
        for simpler in _simpler(statement):
            changed = (*program.statements[:index], simpler, *program.statements[index + 1 :])
            yield replace(program, statements=changed)
    used = program.used_inputs()
    if used != program.inputs:
        yield replace(program, inputs=used)
    if program.executor != "reference":
        yield replace(program, executor="reference")
    if not program.in_file:
        yield replace(program, in_file=True)


def _cut_short(program: Program) -> Iterator[Program]:
    """The first half of the statements, and all but the last."""
    for end in sorted({len(program.statements) // 2, len(program.statements) - 1}):
        for name in _defined(program.statements[end - 1]) if end > 0 else ():
            yield replace(program, statements=program.statements[:end], result=name)


def _without_definitions(program: Program) -> Iterator[Program]:
    """One statement less, with another name in place of what it defined."""
    for index, statement in enumerate(program.statements):
        before = [n for each in program.statements[:index] for n in _defined(each)]
        others = [each.name for each in program.inputs] + before
        for name in _defined(statement):
            for other in [n for n in others if statement.uses(n)]:
                rest = (s.renamed(name, other) for s in program.statements[index + 1 :])
                result = Statement(program.result).renamed(name, other).text
                statements = (*program.statements[:index], *rest)
                yield replace(program, statements=statements, result=result)


def _defined(statement: Statement) -> list[str]:
    found = re.findall(r"^\s*((?:\w+, )*\*?\w+(?:, \w+)*) = ", statement.text, re.MULTILINE)
    return [name.strip("* ") for names in found for name in names.split(",") if "_" not in name]


def _simpler(statement: Statement) -> Iterator[Statement]:
    """Blocks without a line, branches that are taken, calls that are not made."""
    lines = statement.text.splitlines()
    if len(lines) > 1:
        for index, line in enumerate(lines):
            yield replace(statement, text="\n".join(lines[:index] + lines[index + 1 :]))
            if line.startswith("    "):
                yield replace(statement, text=textwrap.dedent(line))
    for found in re.finditer(r"\([^()]*\)|\[[^\[\]]*\]|\.\w+\([^()]*\)", statement.text):
        for instead in ("", "2"):
            text = statement.text[: found.start()] + instead + statement.text[found.end() :]
            if _parses(text):
                yield replace(statement, text=text)


def _parses(text: str) -> bool:
    try:
        compile(text, "<candidate>", "exec")
    except SyntaxError:
        return False
    return True


def snippet(failure: Failure) -> str:
    """A file that shows the failure."""
    program, sizes = failure.program, dict(failure.sizes)
    source = program.source().replace(HEADER, f"{HEADER}\nimport anyshape as ash\n")
    number = ([program.example, *program.others]).index(failure.sizes)
    given = [_call(program, each, n) for each, n in ((program.example, 0), (sizes, number))]
    problem = textwrap.indent(f"{failure.kind}, seed {program.seed}\n{failure.text}", "# ")
    return (
        f"{source}\n\nmodule = Model().eval()\n"
        f"compiled = ash.compile(module, axes={program.axes()}, executor='{program.executor}',\n"
        f"    kwargs={given[0]})\n"
        f"sizes = {given[1]}  # {sizes}\n"
        f"print(module(**sizes))\nprint(compiled(**sizes))\n{problem}"
    )


def _call(program: Program, sizes: object, number: int) -> str:
    texts: list[str] = []
    for each in program.inputs:
        shape = each.shape(sizes)  # pyright: ignore[reportArgumentType]
        made = (
            f"torch.randn({shape})"
            if each.dtype == "float32"
            else f"torch.ones({shape}).{each.dtype}()"
        )
        texts.append(f"'{each.name}': {made.replace('int64', 'long')}")
    return "{" + ", ".join(texts) + "}"
