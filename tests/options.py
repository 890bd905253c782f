"""Options of tests: what the process was given, but for what a test is about.

`Options(isa="avx2")` alone would take the defaults for everything else, which are a user's: worker
processes that compile, while the CPUs are busy with other tests, and no folder for kernels, so that
each is compiled again by whoever needs it.
"""

from dataclasses import replace
from typing import Any

from anyshape.base.options import Options, options_from_environment


def options_with(**changes: Any) -> Options:
    """The options of this process with these fields changed."""
    return replace(options_from_environment(), **changes)
