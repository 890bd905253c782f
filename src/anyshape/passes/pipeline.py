"""Level 1's passes: one tuple, with the reason for each position.

A pass can be left out by its name, to see what it is worth or where an error comes from; results
stay what they are. Those in `REQUIRED` cannot: without them nothing could run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from anyshape.base.errors import OptionError
from anyshape.passes.append_in_place import Append, GrowingAxesFirst
from anyshape.passes.caller_orders import CallerOrders
from anyshape.passes.canonicalize import Canonicalize
from anyshape.passes.causal_masks import CausalMasks
from anyshape.passes.channels_last import ChannelsLast
from anyshape.passes.columns_last import ColumnsLast
from anyshape.passes.compute_constants import ComputeConstants
from anyshape.passes.convolution_weights import ConvolutionWeights
from anyshape.passes.dce import EliminateDead
from anyshape.passes.expand import Expand
from anyshape.passes.expert_loops import ExpertLoops
from anyshape.passes.few_parts import FewParts
from anyshape.passes.fold import Fold
from anyshape.passes.fuse import Fuse, SingleKernels
from anyshape.passes.infra import Pass
from anyshape.passes.known_indices import KnownIndices
from anyshape.passes.known_positions import KnownPositions
from anyshape.passes.late_sizes import LateSizes
from anyshape.passes.long_tasks import LongTasks
from anyshape.passes.loop_invariants import LoopInvariants
from anyshape.passes.narrowing import Narrowing
from anyshape.passes.own_results import OwnResults
from anyshape.passes.quantized_products import QuantizedProducts
from anyshape.passes.recognise_attention import RecogniseAttention
from anyshape.passes.refine import Refine
from anyshape.passes.refine_regions import RefineRegions
from anyshape.passes.reshapes_first import ReshapesFirst
from anyshape.passes.reshapes_last import ReshapesLast
from anyshape.passes.row_products import RowProducts
from anyshape.passes.rows_of_axes import RowsOfAxes
from anyshape.passes.scanned_products import ScannedProducts
from anyshape.passes.segments import Segments
from anyshape.passes.several_results import SeveralResults
from anyshape.passes.share_kernels import ShareKernels
from anyshape.passes.shared_heads import SharedHeads
from anyshape.passes.sibling_maps import SiblingMaps
from anyshape.passes.sibling_products import SiblingProducts
from anyshape.passes.slices_last import SlicesLast
from anyshape.passes.winograd import Winograd
from anyshape.passes.worklists import Worklists

KERNELS: Final[tuple[Pass, ...]] = (
    SlicesLast(),  # before whatever looks for views: a slice is one, a reshape of it is not
    ColumnsLast(),  # transpositions first: they may join what comes before them
    SiblingMaps(),  # behind those that make slices plain: parts of one value, treated alike
    RowsOfAxes(),  # before them: rows with an axis for each that something behind them needs
    ReshapesLast(),  # what follows reshaped rows may join them
    ReshapesFirst(),  # what precedes others may join their readers, if nothing before them took it
    FewParts(),  # no concatenation of more parts than a kernel chooses among
    Fuse(),  # then what is computed together
    SingleKernels(),  # every other op is a kernel too
    LongTasks(),  # kernels whose loops may be long, now that it is plain what they compute
    SeveralResults(),  # behind these, which know kernels with one result
    ShareKernels(),  # last, as nothing changes kernels any more: many that differ in numbers only
)
"""What makes kernels: of the graph, and of the regions of its host nodes."""

SIMPLIFY: Final[tuple[Pass, ...]] = (
    Canonicalize(),  # first: sizes become dims, so that later passes see static shapes
    Fold(),  # constants are explicit and meet few ops
    KnownPositions(),  # and what is one at every position is a constant, too
    Canonicalize(),  # folded constants enable more laws: a neutral element, a known branch
    EliminateDead(),  # last: what the others have stopped using is dropped once
)
"""What makes any graph simpler, whoever runs it."""

PASSES: Final[tuple[Pass, ...]] = (
    Refine(),  # first: whoever compares sizes sees one dim for each
    QuantizedProducts(),  # before weights are folded: those of bytes stay bytes
    Expand(),  # then: what no kernel takes whole becomes primitives
    *SIMPLIFY,
    ChannelsLast(),  # behind the laws of transposes, and before whoever looks at sums or products
    ConvolutionWeights(),  # behind it: what follows a convolution is next to it
    LoopInvariants(),  # before whoever takes products and sizes: outside, they are the graph's own
    ScannedProducts(),  # behind them: what is the same in each iteration is no row's own
    EliminateDead(),  # what loops took along for what is in front of them now
    KnownIndices(),  # before whoever looks for indices: they are what they were made as
    ExpertLoops(),  # before whoever takes products: those of all experts are one
    Worklists(),  # what models and the pass before say about rows by group, in one form
    LateSizes(),  # behind whoever knows `nonzero`, of which few are left; before products
    RowProducts(),  # products of rows, with what follows them in the same shape
    RecogniseAttention(),  # products around a softmax, which later passes need not know
    CausalMasks(),  # attention whose mask need not be made
    SharedHeads(),  # attention in the form that kernels do best, now that it is plain to see
    Narrowing(),  # slices meet products and attention in their final form
    Fold(),  # parts of constants, which are all that is left of some
    Canonicalize(),  # these in their place, and reshapes around attention with those of its readers
    GrowingAxesFirst(),  # before kernels: what it transposes is what they read
    CallerOrders(),  # behind what else may order inputs, and where transposes have their final form
    Append(),  # before fusion: what is appended becomes a kernel's own result
    RefineRegions(),  # behind canonicalization, which sees no difference between equal sizes
    ComputeConstants(),  # before fusion, which would put cheap work on weights into products
    Winograd(),  # behind it, with weights in their final form
    SiblingProducts(),  # behind those that make weights, or fewer rows of some, or a place
    *KERNELS,
    ComputeConstants(growth=0),  # copies of constants that fusion has left, if they replace them
    OwnResults(),  # what callers keep has memory of its own
    Segments(inside=KERNELS),  # last: which kernels run in one native call
)

REQUIRED: Final = frozenset(step.name for step in (Expand(), SingleKernels(), OwnResults()))
"""Passes that cannot be left out, `segments` beside them."""

PIPELINE: Final = "pipeline"
"""No pass, but left out by name like one: chains of steps that rows go through tile by tile, which
the schedule makes (`plan/chains.py`)."""


def pipeline(without: Iterable[str] = ()) -> tuple[Pass, ...]:
    """The passes in order, but for those that are left out by name."""
    left_out = frozenset(without)
    optional = dict.fromkeys(step.name for step in PASSES[:-1] if step.name not in REQUIRED)
    for name in left_out - optional.keys() - {PIPELINE}:
        raise OptionError("without", name, f"one of {', '.join((*optional, PIPELINE))}")
    kept = tuple(step for step in PASSES[:-1] if step.name not in left_out)
    inside = tuple(step for step in KERNELS if step.name not in left_out)
    return (*kept, Segments(inside))
