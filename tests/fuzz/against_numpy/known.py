"""What a run may meet without failing: refusals that are meant, and defects that are known."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.against_numpy.program import Program

REFUSALS: tuple[tuple[str, str, str], ...] = (
    ("DTypeError", "gt (", "bools have no order here; the message says to cast"),
    ("DTypeError", "ge (", "as above"),
    ("DTypeError", "lt (", "as above"),
    ("DTypeError", "le (", "as above"),
)
"""Error type, a part of its message, and why this refusal is right though NumPy has an answer."""


def allowed_refusal(error: Exception) -> bool:
    return any(type(error).__name__ == kind and part in str(error) for kind, part, _ in REFUSALS)


# --- defects --------------------------------------------------------------------------------------


KNOWN: dict[str, Callable[[Program], bool]] = {}
"""Programs that are left out, and counted, until a defect is mended: its name, and who meets it.
Empty is its natural state."""


def known_defect(program: Program) -> str | None:
    """The defect that a program is known to meet."""
    return next((name for name, meets in KNOWN.items() if meets(program)), None)
