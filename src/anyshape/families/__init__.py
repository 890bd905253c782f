"""Families of kernels: a folder each. Fusion and lowering ask them in the order of `FAMILIES`."""

from __future__ import annotations

from typing import Any, Final

from anyshape.families.attention.family import Attention
from anyshape.families.check.family import Check
from anyshape.families.compact.family import Compact
from anyshape.families.conv.family import Conv
from anyshape.families.cumulative.family import Cumulative
from anyshape.families.dot.family import Dot
from anyshape.families.family import Family
from anyshape.families.fourier.family import Fourier
from anyshape.families.grouped_dot.family import GroupedDot
from anyshape.families.map.family import Map
from anyshape.families.nms.family import Nms
from anyshape.families.row.family import Row
from anyshape.families.scatter.family import Scatter
from anyshape.families.search.family import Search
from anyshape.families.sort.family import Sort
from anyshape.families.worklist.family import Worklist

FAMILIES: Final[tuple[Family[Any], ...]] = (
    Sort(),  # first: a function of the runtime, with nothing else in its kernel
    Check(),  # likewise
    Compact(),  # likewise
    Worklist(),  # likewise
    Nms(),  # likewise
    Fourier(),  # likewise
    Search(),  # likewise
    Scatter(),  # likewise alone
    Attention(),  # before its decomposition, which is two products and a softmax
    GroupedDot(),  # before dots, which it would be for each group
    Conv(),  # before rows, which compute a convolution one element at a time
    Dot(),  # before rows, which compute any sum of products one element at a time
    Cumulative(),  # before rows too: it stores as it goes
    Map(),  # what has no loop of its own
    Row(),  # last: whatever is left has loops, and lowers element by element
)
