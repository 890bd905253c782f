"""Experts of `transformers` that are computed one by one, in a form that can be traced.

`transformers` has the experts of a model in several implementations. The eager one loops over those
that have tokens, so that its Python code needs the data. The grouped one computes the same of rows
sorted by expert.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

ATTRIBUTE: Final = "_experts_implementation"
EAGER, GROUPED = "eager", "grouped_mm"


@contextmanager
def grouped_experts(module: Any) -> Generator[None]:
    """Within, experts that would be computed one by one are computed as groups."""
    configs = {id(config): config for config in map(_config_of_experts, module.modules()) if config}
    for config in configs.values():
        setattr(config, ATTRIBUTE, GROUPED)
    try:
        yield
    finally:
        for config in configs.values():
            setattr(config, ATTRIBUTE, EAGER)


def _config_of_experts(module: Any) -> Any:
    """The configuration of a module of experts that is set to eager; None of any other module."""
    config = getattr(module, "config", None)
    is_experts = hasattr(module, "is_transposed") and hasattr(module, "has_gate")
    return config if is_experts and getattr(config, ATTRIBUTE, None) == EAGER else None
