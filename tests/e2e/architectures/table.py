"""All architectures, and their table in `docs/models.md`."""

from __future__ import annotations

import re
from pathlib import Path

from tests.e2e.architectures.images_and_sound import IMAGES, SOUNDS
from tests.e2e.architectures.text import TEXT_MODELS

ALL = (*TEXT_MODELS, *IMAGES, *SOUNDS)
DOCUMENT = Path(__file__).parents[3] / "docs" / "models.md"

_TABLE = re.compile(r"^\| architecture .*(?:\n\|.*)*", re.MULTILINE)


def with_table(text: str, table: str) -> str:
    """The document with another table."""
    return _TABLE.sub(lambda _: table, text, count=1)


def recorded_rows(text: str) -> dict[str, str]:
    """The rows of the document by architecture."""
    found = _TABLE.search(text)
    lines = found.group().splitlines()[2:] if found else []
    return {line.split("`")[1]: line for line in lines}
