"""A part of `make fuzz-saved`: files that somebody has made up, recompiled or refused."""

import random
from collections import Counter
from pathlib import Path

from tests.fuzz.saved_files import changed_file, originals, outcome

FILES = 60


def test_made_up_files_are_compiled_or_refused(tmp_path: Path) -> None:
    """Anything but an executable or an error of ours fails here by itself."""
    files, found = originals(tmp_path), Counter[str]()
    for number in range(FILES):
        chance = random.Random(f"test {number}")
        found[outcome(changed_file(chance.choice(files), chance))] += 1
    assert found["DamagedFileError"] >= FILES // 6, found
    assert found["compiled"] >= FILES // 6, found
