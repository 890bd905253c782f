"""Reads mutated models, with little memory and time. Prints a line before each, and what it was."""

from __future__ import annotations

import random
import resource
import signal
import sys
import traceback
import warnings
from functools import cache

from tests.conformance.cases import cases
from tests.fuzz.onnx_models.mutate import mutated

from anyshape.base.errors import AnyshapeError
from anyshape.frontend.onnx.importer import StaticInputNamesError, import_model
from anyshape.frontend.onnx.model_file import read_model

SECONDS = 20
"""Of the CPU, for one model: those that are read in time take less than one."""
BYTES = 6 << 30
LARGEST_SEED = 20_000


@cache
def seeds() -> tuple[bytes, ...]:
    """Models of the node tests, which have every op and every kind of attribute."""
    made = (case.model.SerializeToString() for _, case in sorted(cases().items()))
    return tuple(each for each in made if len(each) < LARGEST_SEED)


def model_of(number: int) -> bytes:
    rng = random.Random(number)
    return mutated(rng.choice(seeds()), rng)


def outcome(content: bytes) -> str:
    """`read`, `refused`, or the error that is none of ours."""
    try:
        import_model(read_model(content))
    except StaticInputNamesError:
        return "read"
    except AnyshapeError as error:
        return "refused" if "\nfix: " in str(error) else f"no fix: {error}".replace("\n", " ")
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
        return f"fails: {type(error).__name__} at {where}: {error}".replace("\n", " ")[:300]
    return "read"


def main(first: int, count: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    for number in range(first, first + count):
        content = model_of(number)
        print("begins", number, flush=True)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        found = outcome(content)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        print("ends", number, found, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
