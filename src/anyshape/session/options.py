"""Options of sessions and of calls, under onnxruntime's names.

What has a meaning here is applied. Everything else is kept, and named once in a warning if it was
changed.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from anyshape.base.warnings import SessionOptionsWarning
from anyshape.runtime.limits import Cancellation
from anyshape.session.errors import InvalidArgument

if TYPE_CHECKING:
    from anyshape.execute import CompileKeywords


class GraphOptimizationLevel(IntEnum):
    """How much is optimised; everything always is."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """How nodes are run; independent steps always share the threads."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


@dataclass
class SessionOptions:
    """See the module. `intra_op_num_threads`, `use_deterministic_compute` and free dimensions are
    applied; so is the entry `anyshape.strict_names`, "1" for one size for each name of a size, and
    `anyshape.strict`, "1" for no op on the host, `anyshape.executor`, as in `compile`, and
    `anyshape.session_cache`, "0" for a model that is neither kept on disk nor looked for there."""

    intra_op_num_threads: int = 0
    inter_op_num_threads: int = 0
    use_deterministic_compute: bool = False
    graph_optimization_level: int = GraphOptimizationLevel.ORT_ENABLE_ALL
    execution_mode: int = ExecutionMode.ORT_SEQUENTIAL
    enable_profiling: bool = False
    profile_file_prefix: str = "onnxruntime_profile_"
    optimized_model_filepath: str = ""
    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    enable_cpu_mem_arena: bool = True
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    use_per_session_threads: bool = True
    free_dimensions: dict[str, int] = field(default_factory=dict[str, int])
    free_denotations: dict[str, int] = field(default_factory=dict[str, int])
    config: dict[str, str] = field(default_factory=dict[str, str])

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """A number for a named size."""
        if value < 0:
            raise InvalidArgument(f"the size {name} cannot be {value}; fix: use 0 or more")
        self.free_dimensions[name] = value

    def add_free_dimension_override_by_denotation(self, denotation: str, value: int) -> None:
        """A number for the names of sizes with a denotation (`DATA_BATCH`)."""
        if value < 0:
            raise InvalidArgument(f"the size {denotation} cannot be {value}; fix: use 0 or more")
        self.free_denotations[denotation] = value

    def free_sizes(self, file: Any) -> dict[str, int]:
        """The numbers that names of a model's sizes have."""
        dims = (d for v in file.proto.graph.input for d in v.type.tensor_type.shape.dim)
        known = self.free_denotations
        denoted = {d.dim_param: known[d.denotation] for d in dims if d.denotation in known}
        return {**denoted, **self.free_dimensions}

    @property
    def strict_names(self) -> bool:
        return self.config.get("anyshape.strict_names") == "1"

    @property
    def cached(self) -> bool:
        return self.config.get("anyshape.session_cache", "1") == "1"

    @property
    def executor(self) -> Any:
        """A name of the user's; who compiles with it refuses what it does not know."""
        return self.config.get("anyshape.executor", "native")

    def keywords(self) -> CompileKeywords:
        """What a model is compiled with."""
        return {
            "executor": self.executor,
            "threads": self.intra_op_num_threads,
            "deterministic": self.use_deterministic_compute,
            "strict": self.config.get("anyshape.strict") == "1",
        }

    def add_session_config_entry(self, key: str, value: str) -> None:
        self.config[key] = value

    def get_session_config_entry(self, key: str) -> str:
        return self.config[key]

    def without_meaning(self) -> list[str]:
        """Options that were changed and change nothing here."""
        default = SessionOptions()
        names = [name for name in _IDLE if getattr(self, name) != getattr(default, name)]
        return [*names, *(key for key in self.config if key not in CONFIG)]


CONFIG = frozenset(
    {
        "anyshape.strict_names",
        "anyshape.strict",
        "anyshape.executor",
        "anyshape.session_cache",
    }
)

_IDLE = (
    "graph_optimization_level", "execution_mode", "inter_op_num_threads",
    "optimized_model_filepath", "enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse",
    "use_per_session_threads",
)  # fmt: skip


def warn_of(names: list[str], stacklevel: int) -> None:
    """One warning for all options that do nothing."""
    if names:
        warnings.warn(SessionOptionsWarning(names), stacklevel=stacklevel + 1)


class RunOptions:
    """Options of one call, or of several; `terminate` ends those that are running too."""

    def __init__(self) -> None:
        self.logid = ""
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.config: dict[str, str] = {}
        self.cancellation = Cancellation()

    @property
    def terminate(self) -> bool:
        return self.cancellation.cancelled

    @terminate.setter
    def terminate(self, value: bool) -> None:
        if value:
            self.cancellation.cancel()
        elif self.cancellation.cancelled:
            self.cancellation = Cancellation()

    def add_run_config_entry(self, key: str, value: str) -> None:
        self.config[key] = value

    def get_run_config_entry(self, key: str) -> Any:
        return self.config[key]
