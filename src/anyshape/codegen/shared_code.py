"""The code of this process: equal sources share it, as long as somebody uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias
from weakref import WeakValueDictionary

from anyshape.base.fork_lock import fork_lock
from anyshape.codegen.target import Code, Loaded, Origins

_LOCK = fork_lock()
_SHARED: WeakValueDictionary[str, Code] = WeakValueDictionary()

Make: TypeAlias = Callable[[Sequence[str]], tuple[Mapping[str, Code], Origins]]
"""The code of some keys, and where it came from."""


def shared_code(keys: Sequence[str], make: Make) -> Loaded:
    """The code of each key, made if nobody has it. Equal keys must mean equal code."""
    codes = {key: code for key in keys if (code := _SHARED.get(key)) is not None}
    known = len(codes)
    made, origins = make([key for key in dict.fromkeys(keys) if key not in codes])
    codes |= {key: _shared(key, code) for key, code in made.items()}
    return Loaded(tuple(codes[key] for key in keys), origins._replace(memory=known))


def _shared(key: str, code: Code) -> Code:
    """The first that was made, if two threads made the same."""
    with _LOCK:
        return _SHARED.setdefault(key, code)
