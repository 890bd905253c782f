"""What comes of an op's samples: compiled with every size above 1 as an axis, compared with eager
mode at the sample's sizes, at others and with other strides; with fixed sizes where axes are
refused.

All samples of an op are first tried as one program, which takes a third of the time. Only where
that does not come through are they tried one by one. Code that branches on sizes is captured for
the sample's case alone: the cases of several samples would multiply.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from tests.e2e.op_samples.core import core_op
from tests.e2e.op_samples.samples import (
    COUNTS,
    FEWER,
    Sample,
    all_ops,
    apart,
    copies,
    grown,
    samples_of,
)

import anyshape as ash
from anyshape.base.errors import AnyshapeError

CLOSE = {
    torch.float32: (2e-4, 2e-5), torch.complex64: (2e-4, 2e-5), torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (2e-2, 2e-2), torch.float64: (1e-6, 1e-7), torch.complex128: (1e-6, 1e-7),
}  # fmt: skip
"""How far results may be from eager's: a part of each, and as a number."""

NO_VALUES = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
    | {"resize_", "resize_as_"}
)
"""Ops that give memory as it is."""

OPEN_PLACES = frozenset({"sort", "argsort", "msort", "topk", "kthvalue", "mode", "median"})
"""Ops that may give the place of any of several equal elements: places are not compared."""

READS_MEMORY = frozenset(
    {"as_strided", "as_strided.partial_views", "as_strided_copy", "as_strided_scatter", "view"}
)
"""Ops that depend on strides: they are not tried with others than the sample's."""

OTHER_SIZES_MEAN_NOTHING = frozenset({"nn.functional.embedding_bag"})
"""Ops of whose arguments some must ascend, so that they cannot begin anew."""

NATIVE, HOST, REFUSED, WRONG = "native", "host", "refused", "wrong"


@dataclass(frozen=True)
class Tried:
    """One sample, or several that came through together."""

    result: str
    count: int = 1
    host: frozenset[str] = frozenset()
    why: str = ""
    any_size: bool = False


@dataclass(frozen=True)
class Outcome:
    """An op."""

    name: str
    tried: tuple[Tried, ...]

    @property
    def count(self) -> int:
        return sum(each.count for each in self.tried)

    def having(self, result: str) -> int:
        return sum(each.count for each in self.tried if each.result == result)

    @property
    def any_size(self) -> int:
        return sum(each.count for each in self.tried if each.any_size)

    @property
    def host(self) -> list[str]:
        return sorted(frozenset[str]().union(*(each.host for each in self.tried)))

    @property
    def reasons(self) -> list[str]:
        return sorted({each.why for each in self.tried if each.why})

    @property
    def result(self) -> str:
        """The worst of its samples."""
        return next((r for r in (WRONG, REFUSED, HOST) if self.having(r)), NATIVE)


def outcome_of(
    name: str, counts: Mapping[torch.dtype, int] | None = None, executor: Any = "native"
) -> Outcome:
    """Tries the samples of an op: so many of each dtype."""
    info = all_ops()[name]
    counts = counts or (COUNTS if core_op(info) else FEWER)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        samples = samples_of(info, counts)
        together = _tried(name, samples, executor, dynamic=True) if len(samples) > 1 else None
        if together is not None and together.result in (NATIVE, HOST):
            return Outcome(name, (together,))
        return Outcome(name, tuple(_alone(name, each, executor) for each in samples))


def _alone(name: str, sample: Sample, executor: Any) -> Tried:
    found = _tried(name, [sample], executor, dynamic=True)
    refused = found.result == REFUSED
    return _tried(name, [sample], executor, dynamic=False) if refused else found


class _Calls(torch.nn.Module):
    """A module that calls an op with each sample's tensors; torch.export wants one at least."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        super().__init__()
        self.samples = samples

    def forward(self, tensors: list[list[Any]], more: Any) -> list[list[Any]]:
        pairs = zip(self.samples, tensors, strict=True)
        return [sample.call(mine) for sample, mine in pairs]


def _tried(name: str, samples: Sequence[Sample], executor: Any, *, dynamic: bool) -> Tried:
    module, count = _Calls(samples), len(samples)
    example = [copies(sample.tensors) for sample in samples]
    axes = {"tensors": [_axes(at, each) for at, each in enumerate(example)]} if dynamic else None
    try:
        fast = ash.compile(module, (example, _MORE), axes=axes, branches=1, executor=executor)
        host = frozenset(op for op, _ in fast.explain().host_ops)
        compared = _Compared(name, module, fast, name in NO_VALUES or any(map(_draws, host)))
        problem = compared.difference(example)
        if not problem and name not in READS_MEMORY:
            problem = compared.difference([apart(s.tensors) for s in samples], legal=False)
    except AnyshapeError as error:
        return Tried(REFUSED, count, why=_reason(error))
    except Exception as error:
        return Tried(WRONG, count, why=f"{type(error).__name__}: {_reason(error)}")
    others = False
    if dynamic and not problem and name not in OTHER_SIZES_MEAN_NOTHING:
        problem, others = compared.at_other_sizes(samples)
    return Tried(WRONG if problem else HOST if host else NATIVE, count, host, problem, others)


_MORE = torch.zeros(1)


def _draws(host_op: str) -> bool:
    """Whether an op that torch computes gives random numbers."""
    namespace, name, overload = host_op.split(".")
    op = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    return torch.Tag.nondeterministic_seeded in op.tags


def _axes(at: int, tensors: Sequence[Any]) -> list[Any]:
    """A name for each size of a sample: equal sizes are one axis."""
    return [
        tuple(f"axis{at}_{size}" if size > 1 else None for size in tensor.shape) or None
        for tensor in tensors
    ]


@dataclass(frozen=True)
class _Compared:
    """An op's samples as eager mode calls them, and compiled."""

    name: str
    module: Any
    fast: Any
    shapes_alone: bool  # what is random differs: torch's samples set seeds of their own

    def at_other_sizes(self, samples: Sequence[Sample]) -> tuple[str, bool]:
        """What is wrong, and whether the program takes all sizes that eager mode takes."""
        takes = True
        for at, sample in enumerate(samples):
            inputs = [each.tensors for each in samples]
            inputs[at] = grown(sample.tensors)
            try:
                problem = self.difference(inputs, legal=False)
            except AnyshapeError:
                takes = False
            except Exception as error:
                return f"at other sizes: {type(error).__name__}: {_reason(error)}", takes
            else:
                if problem:
                    return f"at other sizes: {problem}", takes
        return "", takes

    def difference(self, inputs: Any, *, legal: bool = True) -> str:
        """What is wrong with a call's results; empty if nothing is. Inputs that eager mode refuses
        say nothing, unless they are `legal`."""
        torch.manual_seed(1)
        try:
            wanted = self.module([copies(each) for each in inputs], _MORE)
        except Exception:
            if legal:
                raise
            return ""
        draws = not torch.equal(torch.get_rng_state(), torch.manual_seed(1).get_state())
        found = self.fast([list(each) for each in inputs], _MORE)
        leaves = [list(chain.from_iterable(each)) for each in (found, wanted)]
        alone = draws or self.shapes_alone
        unlike = [self._unlike(*pair, alone=alone) for pair in zip(*leaves, strict=True)]
        if any(unlike) and any(map(_is_short, chain.from_iterable(inputs))):
            exact = self._exact(inputs)
            unlike = [
                "" if text == _OTHER and is_nearer(*pair) else text
                for text, *pair in zip(unlike, *leaves, exact, strict=True)
            ]
        return next(filter(None, unlike), "")

    def _exact(self, inputs: Any) -> list[Any]:
        """The results in f64 of inputs of 16 bits."""
        torch.manual_seed(1)
        wide = [[x.double() if _is_short(x) else x for x in copies(each)] for each in inputs]
        return list(chain.from_iterable(self.module(wide, _MORE)))

    def _unlike(self, found: Any, wanted: Any, *, alone: bool) -> str:
        if not isinstance(wanted, torch.Tensor):
            return "" if found == wanted else f"{found} for {wanted}"
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            return f"{found.dtype} {list(found.shape)} for {wanted.dtype} {list(wanted.shape)}"
        is_place = wanted.dtype == torch.int64 and self.name in OPEN_PLACES
        if alone or is_place:
            return ""
        close = torch.allclose(found, wanted, *CLOSE.get(wanted.dtype, (0.0, 0.0)), equal_nan=True)
        return "" if close else _OTHER


_OTHER = "other values"


def _is_short(tensor: Any) -> bool:
    return tensor.dtype in (torch.float16, torch.bfloat16)


def is_nearer(found: Any, wanted: Any, exact: Any) -> bool:
    """Whether a result is no farther from the exact one than torch's, but for rounding of its
    own. Where torch's is infinite, so is ours."""
    if found.shape != exact.shape or not found.is_floating_point():
        return False
    ours, theirs = ((each.double() - exact.double()).abs() for each in (found, wanted))
    close = ours <= theirs + torch.finfo(found.dtype).eps * exact.double().abs()
    same = (found == wanted) | (found.isnan() & wanted.isnan())
    return bool((same | (close & wanted.isfinite() & found.isfinite())).all())


_PLACE = re.compile(r" ?(?:at |\()?[^ (]*\.py:\d+\)?")


def _reason(error: Exception) -> str:
    """In one line, without places in files."""
    line = " ".join(line.strip() for line in str(error).splitlines() if line.strip())
    return _PLACE.sub("", line).split(" fix: ")[0][:160]
