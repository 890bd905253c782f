"""Every message says what to do: it ends in a line that begins with `fix:`."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import anyshape
from anyshape.base import errors
from anyshape.base.errors import AnyshapeError, ShapeError
from anyshape.runtime.failures import RuntimeFailure

SOURCES = Path(anyshape.__file__).parent

NEVER_RAISED = {AnyshapeError, ShapeError}
"""Bases of others."""


def error_types() -> list[type[AnyshapeError]]:
    found = [v for v in vars(errors).values() if isinstance(v, type)]
    return [v for v in found if issubclass(v, AnyshapeError) and v not in NEVER_RAISED]


@pytest.mark.parametrize("error", error_types(), ids=lambda e: e.__name__)
def test_the_message_of_a_type_has_a_fix(error: type[AnyshapeError]):
    """In what composes it: own methods, and those that it inherits."""
    composing = [c for c in error.__mro__ if issubclass(c, AnyshapeError) and c not in NEVER_RAISED]
    assert any("fix: " in inspect.getsource(c) for c in composing)


def calls_of(names: set[str]) -> Iterator[tuple[str, ast.Call]]:
    """Where in our sources something is called by one of these names."""
    for file in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in names:
                    yield f"{file.relative_to(SOURCES)}:{node.lineno}", node


def with_fix() -> dict[str, int]:
    """Types that are given their fix, and where among the arguments it is."""
    found: dict[str, int] = {}
    for error in error_types():
        parameters = list(inspect.signature(error.__init__).parameters)[1:]  # without self
        if "fix" in parameters:
            found[error.__name__] = parameters.index("fix")
    return found


def test_no_fix_is_empty_or_left_out():
    positions = with_fix()
    assert {"DimError", "DimTooLargeError", "TraceError", "InputError"} <= positions.keys()
    lacking: list[str] = []
    for place, call in calls_of(set(positions)):
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        default = inspect.signature(getattr(errors, name).__init__).parameters["fix"].default
        given = {k.arg: k.value for k in call.keywords}
        if len(call.args) > positions[name]:
            given["fix"] = call.args[positions[name]]
        starred = any(isinstance(arg, ast.Starred) for arg in call.args) or None in given
        fix = given.get("fix")
        is_empty = isinstance(fix, ast.Constant) and not fix.value
        is_missing = fix is None and not starred and default in ("", inspect.Parameter.empty)
        if is_empty or is_missing:
            lacking.append(place)
    assert lacking == []


def test_failures_of_the_runtime_are_for_those_who_build_programs_by_hand():
    """They have fields and no fix: `execute/` raises errors with words of the model instead."""
    assert not any(issubclass(error, RuntimeFailure) for error in error_types())
