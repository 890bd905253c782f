"""Options, and the environment variables that set their defaults; nothing else reads those.

`base/knobs.py` says what each of them means, once for docs and for people.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from anyshape.base.errors import OptionError

DEFAULT_CACHE_BYTES = 1 << 30
DEFAULT_SESSION_CACHE_BYTES = 2 << 30
DEFAULT_SPECIALIZATIONS = 1024
DEFAULT_SPECIALIZATION_BYTES = 64 << 20

ISAS = ("avx512", "avx2", "sse2", "neon", "scalar")
"""The instruction sets that kernels are generated for, as `runtime.machine()` names them."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a program may choose about compiling and loading code. No field changes a result,
    but for rounding: instruction sets round products differently, and where the costs of this
    machine choose between kernels, so do these."""

    cache_dir: Path | None = None  # None: keep no compiled kernels on disk
    cache_bytes: int = DEFAULT_CACHE_BYTES
    session_cache_bytes: int = DEFAULT_SESSION_CACHE_BYTES  # of compiled ONNX models; 0: keep none
    perf_map: bool = False
    threads: int = 0  # the most that any Executable may use; 0: the CPUs allowed to the process
    affinity: Sequence[int] = ()  # the CPU of each thread; (): where the operating system says
    memory_limit: int | None = None  # bytes of one call, unless compile or the call says otherwise
    compile_jobs: int = 0  # the most processes that compile, this one included; 0: one per CPU
    target: str = "native"  # what runs kernels, by its name in `codegen/targets.py`
    isa: str = ""  # instruction set of kernels, one that the CPU executes; "": the best of them
    debug: int = 0  # how much compiling shows on stderr: passes, decisions, graphs, kernels
    without: tuple[str, ...] = ()  # passes that are left out, by name
    progress: bool = True  # a line on the terminal for what takes long to compile
    calibrate: bool = True  # measure once what things cost, if there is a folder to keep it in
    specializations: int = DEFAULT_SPECIALIZATIONS  # bindings that an Executable keeps
    specialization_bytes: int = DEFAULT_SPECIALIZATION_BYTES  # and what they may occupy

    def __post_init__(self) -> None:
        folder = cast(object, self.cache_dir)
        if folder is not None and not isinstance(folder, Path):
            raise OptionError(
                "cache_dir", str(folder), "a pathlib.Path, or None to keep no kernels"
            )
        check_count("cache_bytes", self.cache_bytes, "a number of bytes")
        check_count("session_cache_bytes", self.session_cache_bytes, "a number of bytes")
        check_count("threads", self.threads, "a number of threads, or 0 for all CPUs")
        object.__setattr__(self, "affinity", _checked_cpus("affinity", self.affinity))
        if self.memory_limit is not None:
            check_count("memory_limit", self.memory_limit, "a number of bytes")
        check_count("compile_jobs", self.compile_jobs, "a number of processes, or 0 for all CPUs")
        check_count("debug", self.debug, "a number from 0 to 4")
        check_count("specializations", self.specializations, "a number of bindings")
        check_count("specialization_bytes", self.specialization_bytes, "a number of bytes")
        check_switch("perf_map", self.perf_map)
        check_switch("progress", self.progress)
        check_switch("calibrate", self.calibrate)


def check_count(option: str, value: object, expected: str) -> None:
    """Refuses what is no integer, or one below 0; a truth value is no number here."""
    integer = hasattr(value, "__index__") and not isinstance(value, bool)
    if not integer or cast(int, value) < 0:
        raise OptionError(option, str(value), expected)


def byte_count(option: str, value: object) -> int:
    """A number of bytes, which may be written with a unit: 1 GB are 10**9, 1 GiB are 2**30."""
    if isinstance(value, str) and (match := _WITH_UNIT.fullmatch(value.strip())):
        number, prefix, binary = match.groups()
        step = 1024 if binary else 1000
        return int(float(number) * step ** (" KMGT".index(prefix.upper())))
    check_count(option, value, "a number of bytes")
    return cast(int, value)


_WITH_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTkmgt])(i?)B")


def check_switch(option: str, value: object) -> None:
    if not isinstance(value, bool):
        raise OptionError(option, str(value), "True or False")


def options_from_environment(environment: Mapping[str, str] = os.environ) -> Options:
    """The defaults of this process."""
    return Options(
        cache_dir=_cache_dir(environment),
        cache_bytes=_count(
            environment, "ANYSHAPE_CACHE_BYTES", "a number of bytes", DEFAULT_CACHE_BYTES
        ),
        session_cache_bytes=_count(
            environment,
            "ANYSHAPE_SESSION_CACHE_BYTES",
            "a number of bytes",
            DEFAULT_SESSION_CACHE_BYTES,
        ),
        threads=_count(environment, "ANYSHAPE_THREADS", "a number of threads"),
        affinity=_cpus(environment, "ANYSHAPE_AFFINITY"),
        memory_limit=_bytes(environment, "ANYSHAPE_MEMORY_LIMIT"),
        compile_jobs=_count(environment, "ANYSHAPE_COMPILE_JOBS", "a number of processes"),
        perf_map=_switch(environment, "ANYSHAPE_PERF_MAP"),
        target=environment.get("ANYSHAPE_TARGET") or "native",
        isa=_one_of(environment, "ANYSHAPE_ISA", ISAS),
        debug=_digit(environment, "ANYSHAPE_DEBUG", 4),
        without=_names(environment, "ANYSHAPE_WITHOUT"),
        progress=_switch(environment, "ANYSHAPE_PROGRESS", default=True),
        calibrate=_switch(environment, "ANYSHAPE_CALIBRATE", default=True),
        specializations=_count(
            environment,
            "ANYSHAPE_SPECIALIZATIONS",
            "a number of bindings",
            DEFAULT_SPECIALIZATIONS,
        ),
        specialization_bytes=_count(
            environment,
            "ANYSHAPE_SPECIALIZATION_BYTES",
            "a number of bytes",
            DEFAULT_SPECIALIZATION_BYTES,
        ),
    )


def _cache_dir(environment: Mapping[str, str]) -> Path | None:
    chosen = environment.get("ANYSHAPE_CACHE_DIR", "")
    if chosen == "off":
        return None
    return Path(chosen).absolute() if chosen else _default_cache_dir(environment)


def _default_cache_dir(environment: Mapping[str, str]) -> Path | None:
    """XDG says: $XDG_CACHE_HOME if it is absolute, else ~/.cache. No home, no cache."""
    base = Path(environment.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        base = Path(environment.get("HOME", "")) / ".cache"
    return base / "anyshape" if base.is_absolute() else None


def _count(environment: Mapping[str, str], name: str, expected: str, default: int = 0) -> int:
    text = environment.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit()):
        raise OptionError(name, text, expected)
    return int(text)


def _bytes(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "").strip()
    if text in ("", "none"):
        return None
    digits = text.isascii() and text.isdigit()
    return int(text) if digits else byte_count(name, text)


_MOST_CPUS = 1 << 16
"""Numbers of CPUs are below this: a range in a list of them is written out."""


def _cpus(environment: Mapping[str, str], name: str) -> tuple[int, ...]:
    """`0,2-3` as the kernel writes lists of CPUs."""
    text = environment.get(name, "").strip()
    if text in ("", "none"):
        return ()
    cpus: list[int] = []
    for part in text.split(","):
        match = _CPUS.fullmatch(part.strip())
        if match is None or int(match[2] or match[1]) >= _MOST_CPUS:
            raise OptionError(name, text, _A_LIST_OF_CPUS)
        cpus += range(int(match[1]), int(match[2] or match[1]) + 1)
    if not cpus:
        raise OptionError(name, text, _A_LIST_OF_CPUS)
    return _checked_cpus(name, cpus, text)


_CPUS = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_A_LIST_OF_CPUS = "a list of CPUs as in 0,2-3, or none"


def _checked_cpus(option: str, cpus: object, text: str | None = None) -> tuple[int, ...]:
    """Refuses what is no list of CPUs, names one twice, or one that this process may not use."""
    text = repr(cpus) if text is None else text
    if isinstance(cpus, str) or not isinstance(cpus, Sequence):
        raise OptionError(option, str(cpus), "a tuple of CPUs: (0, 2)")
    for cpu in cast(Sequence[object], cpus):
        check_count(option, cpu, "a tuple of CPUs: (0, 2)")
    chosen = tuple(map(int, cast(Sequence[int], cpus)))
    if len(set(chosen)) < len(chosen):
        raise OptionError(option, text, "a list that has each CPU once")
    if chosen and not hasattr(os, "sched_getaffinity"):
        raise OptionError(option, text, "left out: this system puts no thread on a CPU")
    if chosen and not (allowed := os.sched_getaffinity(0)).issuperset(chosen):
        there = ", ".join(map(str, sorted(allowed)))
        raise OptionError(option, text, f"of CPUs that this process may use: {there}")
    return chosen


def _one_of(environment: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    text = environment.get(name, "")
    if text and text not in choices:
        raise OptionError(name, text, f"one of {', '.join(choices)}")
    return text


def _digit(environment: Mapping[str, str], name: str, most: int) -> int:
    text = environment.get(name, "")
    if text not in ("", *map(str, range(most + 1))):
        raise OptionError(name, text, f"a number from 0 to {most}")
    return int(text or 0)


def _names(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    words = (word.strip() for word in environment.get(name, "").split(","))
    return tuple(word for word in words if word)


def _switch(environment: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    text = environment.get(name, "")
    if text not in ("", "0", "1"):
        raise OptionError(name, text, "0 or 1")
    return text == "1" if text else default
