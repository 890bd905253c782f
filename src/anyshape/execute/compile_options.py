"""What may be chosen when a graph is compiled: one vocabulary for `compile`, `jit` and the rest.

`CompileOptions` is about one Executable; `Options` is about the process, and where it keeps code.
Whoever takes them as keywords declares `**chosen: Unpack[CompileKeywords]` and hands them on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, cast, get_args

from anyshape.base.errors import OptionError
from anyshape.base.options import byte_count, check_count, check_switch
from anyshape.execute.hot import Hot, hot_option
from anyshape.execute.result_cache import ResultCache

ExecutorName: TypeAlias = Literal["native", "stepwise", "reference"]


class CompileKeywords(TypedDict, total=False):
    """The fields of `CompileOptions`, as keywords of a call."""

    executor: ExecutorName
    threads: int
    strict: bool
    check_indices: bool
    deterministic: bool
    wait_for_team: bool
    memory_limit: int | str | None
    result_cache: int | str | ResultCache | None
    donate: Sequence[str]
    channels_last: Sequence[str]
    without: Sequence[str]
    likely: Mapping[str, Sequence[int]] | None
    hot: bool | Hot | None


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How one Executable is made and run; `anyshape.compile` says what each choice means."""

    executor: ExecutorName = "native"
    threads: int = 0
    strict: bool = False
    check_indices: bool = True
    deterministic: bool = False
    wait_for_team: bool = False
    memory_limit: int | None = None
    result_cache: int | ResultCache | None = None
    donate: Sequence[str] = ()
    channels_last: Sequence[str] = ()
    without: Sequence[str] = ()
    likely: Mapping[str, Sequence[int]] | None = None
    hot: Hot | None = None

    @staticmethod
    def of(**chosen: Unpack[CompileKeywords]) -> CompileOptions:
        """From keywords; one that is unknown is refused as Python does it, with those there are."""
        names = [each.name for each in fields(CompileOptions)]
        for name in chosen.keys() - names:
            raise TypeError(f"there is no option '{name}', only {', '.join(names)}")
        given = cast(dict[str, Any], dict(chosen))
        for name in ("memory_limit", "result_cache"):
            value = given.get(name)
            if value is not None and not isinstance(value, ResultCache):
                given[name] = byte_count(name, value)
        if "hot" in given:
            given["hot"] = hot_option(given["hot"])
        return CompileOptions(**given)

    def __post_init__(self) -> None:
        executors = get_args(ExecutorName)
        if self.executor not in executors:
            raise OptionError("executor", self.executor, f"one of {', '.join(executors)}")
        check_count("threads", self.threads, "a number of threads, or 0 for all CPUs")
        for name in ("strict", "check_indices", "deterministic", "wait_for_team"):
            check_switch(name, getattr(self, name))
        for name in ("memory_limit", "result_cache"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, ResultCache):
                check_count(name, value, "a number of bytes")
        _check_names("donate", self.donate, "inputs")
        _check_names("channels_last", self.channels_last, "inputs")
        _check_names("without", self.without, "passes")
        if self.likely is not None and not isinstance(cast(object, self.likely), Mapping):
            raise OptionError("likely", repr(self.likely), "a dict of sizes: {'seq': [128, 256]}")
        if self.donate and self.result_cache is not None:
            expected = "left out where results are kept: a donated array may be one of them"
            raise OptionError("donate", ", ".join(self.donate), expected)


def _check_names(option: str, names: object, of_what: str) -> None:
    if isinstance(names, str):
        raise OptionError(option, names, f"a tuple of names: ('{names}',)")
    if not isinstance(names, (tuple, list, set, frozenset)):
        raise OptionError(option, repr(names), f"a tuple of names of {of_what}")
    for name in cast(Iterable[object], names):
        if not isinstance(name, str):
            raise OptionError(option, repr(name), f"a tuple of names of {of_what}")
