"""Numbers with an axis: torch takes axis 0 or -1 of a tensor without axes, as if it had one element
along one. So do entries whose ops have an argument `dim`; the result is what torch says it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from anyshape.frontend.aten.calls import TABLE, Call, Entry
from anyshape.frontend.builder.tensor import Tensor

NAMES = (
    "softmax.int", "_softmax.default", "log_softmax.int", "_log_softmax.default",
    "_safe_softmax.default", "max.dim", "min.dim", "gather.default", "index_select.default",
    "scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce",
    "scatter_add.default", "scatter_reduce.two", "squeeze.dim", "squeeze.dims", "prod.dim_int",
    "sum.dim_IntList", "mean.dim", "amax.default", "amin.default", "any.dim", "any.dims",
    "all.dim", "all.dims", "argmax.default", "argmin.default", "logsumexp.default",
    "var.correction", "var.dim", "var_mean.correction", "sort.default", "sort.stable",
    "topk.default", "cumsum.default", "cumprod.default", "cummax.default",
    "cummin.default", "nansum.default", "nanmean.default", "flip.default",
    "linalg_vector_norm.default",
)  # fmt: skip


def _of_one_element(entry: Entry) -> Entry:
    def apply(call: Call, x: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(x, Tensor) or x.ndim:
            return entry(call, x, *args, **kwargs)
        known = call.node.meta["val"]
        found = entry(call, _vector(x), *map(_vector, args), **kwargs)
        if isinstance(found, (list, tuple)):
            several = cast(Sequence[Any], found)
            return [_like(*pair) for pair in zip(several, known, strict=True)]
        return _like(found, known)

    return apply


def _vector(argument: Any) -> Any:
    is_number = isinstance(argument, Tensor) and not argument.ndim
    return argument.reshape(1) if is_number else argument


def _like(found: Any, known: Any) -> Any:
    return found if found is None or found.ndim == known.dim() else found.reshape(())


for _name in NAMES:
    if f"aten.{_name}" in TABLE:
        TABLE[f"aten.{_name}"] = _of_one_element(TABLE[f"aten.{_name}"])
