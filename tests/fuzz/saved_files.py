"""Saved files that somebody has made up: every hash is right, and what is hashed is not.

Only `recompile=True` reads files that nobody vouches for: records of the chosen target, texts of
graphs, and weights. Whatever these say, there is an executable or an error of ours, in bounded
time; code in the file is never mapped.

    python -m tests.fuzz.saved_files [--files 1000] [--seed 0]
"""

import argparse
import json
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import anyshape as ash
from anyshape.base.errors import AnyshapeError
from anyshape.loaded.recompile import recompiled
from anyshape.saved.container import Blobs, SavedFile, fold, packed, sha256

WEIGHT = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
NUMBERS = (-1, 0, 1, 2, 7, 255, 1 << 20, 1 << 31, 1 << 63, -(1 << 63), 10**30)
WORDS = ("", "n", "%0", "@w0", "f32[n]", "f32[-1]", "}", "axes {", "\0", "é", "dot", "9" * 40)


@ash.jit
def plain(x: ash.f32["batch", "seq", 16]):
    return ash.softmax(x @ WEIGHT), ash.sum(x, axis=1)


@ash.jit
def looped(x: ash.f32["n"]):
    found = ash.nonzero(x > 0)[0]
    either = ash.cond(ash.sum(x) > 0, lambda a: a + 1, lambda a: a - 1, x)
    return ash.take(x, found), either


def originals(folder: Path) -> list[SavedFile]:
    """Files as they are saved."""
    for name, jitted in (("plain", plain), ("looped", looped)):
        jitted.executable.save(folder / f"{name}.ash")
    return [SavedFile.open(folder / f"{name}.ash") for name in ("plain", "looped")]


# --- changes --------------------------------------------------------------------------------------


def changed_record(record: Any, chance: random.Random) -> Any:
    """JSON with one value changed, somewhere in it."""
    if isinstance(record, list) and record and chance.random() < 0.97:
        place = chance.randrange(len(record))
        if chance.random() < 0.04:
            return record[:place] + record[place + 1 :]
        return [
            changed_record(each, chance) if number == place else each
            for number, each in enumerate(record)
        ]
    if isinstance(record, bool) or not isinstance(record, (int, str)):
        return chance.choice((None, [], {}, True, 1.5, *NUMBERS, *WORDS))
    if isinstance(record, int):
        return record + chance.choice((-1, 1)) if chance.random() < 0.5 else chance.choice(NUMBERS)
    return changed_text(record, chance)


def changed_text(text: str, chance: random.Random) -> str:
    """Some characters or words taken out, put in, or moved."""
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(len(text) + 1)
        end = min(len(text), place + chance.choice((1, 1, 3, 12)))
        inside = chance.choice(
            (chance.choice(WORDS), text[end : end + 4], str(chance.choice(NUMBERS)))
        )
        text = text[:place] + inside + text[end:]
    return text


def changed_file(file: SavedFile, chance: random.Random) -> SavedFile:
    """A file that is whole, and whose records or texts are changed."""
    contents = [bytes(file.blob(number)) for number in range(len(file))]
    (target,) = file.manifest["targets"]
    root = json.loads(contents[target[3]])
    texts = root[2:4]  # numbers of the graph before and after the passes
    if chance.random() < 0.5:
        number = chance.choice(texts)
        contents[number] = changed_text(contents[number].decode(), chance).encode()
    else:
        contents[target[3]] = json.dumps(changed_record(root, chance)).encode()
    sums = [(sha256, fold)[kind.startswith("fold")] for _, _, kind in file.manifest["blobs"]]
    blobs = Blobs(contents, [total(each) for total, each in zip(sums, contents, strict=True)])
    about = {name: file.manifest[name] for name in ("runtime", "targets")}
    return SavedFile("made-up.ash", memoryview(b"".join(packed(about, blobs))))


def outcome(file: SavedFile) -> str:
    """What becomes of it: "compiled", or the name of the error."""
    try:
        recompiled(file, {"threads": 1})
    except AnyshapeError as error:
        return type(error).__name__
    return "compiled"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        files = originals(Path(folder))
        for number in range(options.files):
            chance = random.Random(f"{options.seed} {number}")
            try:
                found[outcome(changed_file(chance.choice(files), chance))] += 1
            except BaseException:
                print(f"file {number} of seed {options.seed}")
                raise
    print(dict(found.most_common()))


if __name__ == "__main__":
    main()
