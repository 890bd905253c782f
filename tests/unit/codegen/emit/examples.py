"""Kernels of the kinds that lowering makes, written by hand."""

from __future__ import annotations

from tests.unit.codegen.emit.harness import J, at, buffer, each, kernel, op, put

from anyshape.ir.types import DType, bool_, f32, i64
from anyshape.loop import (
    Accumulator,
    Bind,
    For,
    Guard,
    Kernel,
    Let,
    Literal,
    Local,
    Number,
    Update,
)
from anyshape.sym import Dim, DimLike, Less, LessEqual, Symbol

INNER = Symbol("i")
TOTAL, PEAK, MEAN = Local("total", f32), Local("peak", f32), Local("mean", f32)


def reduce_kernel(name: str, dtype: DType, *, vector: bool = True) -> Kernel:
    """One result per row."""
    x, out = buffer("x", dtype, ["n0", "n1"]), buffer("out", dtype, ["n0"], written=True)
    total = Local("total", dtype)
    loop = For(
        J, Dim.of("n1"), (Update(total, at(x, "t", "j")),), (Accumulator(total, name),), vector
    )
    return kernel([x, out], loop, put(out, ["t"], total))


def column_kernel(name: str, dtype: DType) -> Kernel:
    """One result per column: the outer loop is the one worth vectorising."""
    x, out = buffer("x", dtype, ["n0", "n1"]), buffer("out", dtype, ["n1"], written=True)
    total = Local("total", dtype)
    inner = For(
        INNER, Dim.of("n0"), (Update(total, at(x, "i", "j")),), (Accumulator(total, name),), True
    )
    return kernel([x, out], each(inner, put(out, ["j"], total)), tasks=1)


def reduce_both_kernel() -> Kernel:
    """Everything into one number: a vectorised loop adds to its outer loop's accumulator."""
    x, out = buffer("x", f32, ["n0", "n1"]), buffer("out", f32, [1], written=True)
    inner = each(Update(TOTAL, at(x, "i", "j")))
    outer = For(INNER, Dim.of("n0"), (inner,), (Accumulator(TOTAL, "add"),))
    return kernel([x, out], outer, put(out, [0], TOTAL), tasks=1)


def running_sum_kernel(dtype: DType = f32) -> Kernel:
    x = buffer("x", dtype, ["n0", "n1"])
    out = buffer("out", dtype, ["n0", "n1"], written=True)
    total = Local("total", dtype)
    body = (Update(total, at(x, "t", "j")), put(out, ["t", "j"], total))
    return kernel([x, out], For(J, Dim.of("n1"), body, (Accumulator(total, "add"),), True))


def softmax_kernel() -> Kernel:
    x, out = (buffer("x", f32, ["n0", "n1"]), buffer("out", f32, ["n0", "n1"], written=True))
    peak = For(J, Dim.of("n1"), (Update(PEAK, at(x, "t", "j")),), _over(PEAK, "maximum"), True)
    e = Local("e", f32)
    exps = (
        Let(e, op("exp", op("sub", at(x, "t", "j"), PEAK))),
        put(out, ["t", "j"], e),
        Update(TOTAL, e),
    )
    total = For(J, Dim.of("n1"), exps, _over(TOTAL, "add"), True)
    inverse = Local("inverse", f32)
    scale = each(put(out, ["t", "j"], op("mul", at(out, "t", "j"), inverse)))
    one = Let(inverse, op("div", Literal.of(1.0, f32), TOTAL))
    return kernel([x, out], peak, total, one, scale)


def workspace_kernel(width: DimLike = "n1") -> Kernel:
    """Each row reversed, through scratch of one row."""
    x, out = buffer("x", f32, ["n0", "n1"]), buffer("out", f32, ["n0", "n1"], written=True)
    row = buffer("row", f32, [width])
    keep = each(put(row, ["j"], op("neg", at(x, "t", "j"))))
    back = each(put(out, ["t", "j"], at(row, Dim.of("n1") - Dim.of("j") - 1)))
    return kernel([x, out], keep, back, scratch=(row,))


def layer_norm_kernel() -> Kernel:
    x, w, b = buffer("x", f32, ["n0", "n1"]), buffer("w", f32, ["n1"]), buffer("b", f32, ["n1"])
    out = buffer("out", f32, ["n0", "n1"], written=True)
    count = op("cast", Number(Dim.of("n1")), dtype=f32)
    d, scale = Local("d", f32), Local("scale", f32)
    sums = For(J, Dim.of("n1"), (Update(TOTAL, at(x, "t", "j")),), _over(TOTAL, "add"), True)
    square = (Let(d, op("sub", at(x, "t", "j"), MEAN)), Update(PEAK, op("mul", d, d)))
    variance = For(J, Dim.of("n1"), square, _over(PEAK, "add"), True)
    small = Literal.of(1e-5, f32)
    centred = op("mul", op("sub", at(x, "t", "j"), MEAN), scale)
    return kernel(
        [x, w, b, out],
        sums,
        Let(MEAN, op("div", TOTAL, count)),
        variance,
        Let(scale, op("rsqrt", op("add", op("div", PEAK, count), small))),
        each(put(out, ["t", "j"], op("add", op("mul", centred, at(w, "j")), at(b, "j")))),
    )


def _over(local: Local, name: str) -> tuple[Accumulator, ...]:
    return (Accumulator(local, name),)


def five_ops_kernel() -> Kernel:
    """relu((x + b[j]) * s[t] - x * 0.5)."""
    x, b, s = buffer("x", f32, ["n0", "n1"]), buffer("b", f32, ["n1"]), buffer("s", f32, ["n0"])
    out = buffer("out", f32, ["n0", "n1"], written=True)
    v = Local("v", f32)
    scaled = op("mul", op("add", v, at(b, "j")), at(s, "t"))
    less = op("sub", scaled, op("mul", v, Literal.of(0.5, f32)))
    result = op("maximum", less, Literal.of(0.0, f32))
    body = (Let(v, at(x, "t", "j")), put(out, ["t", "j"], result))
    return kernel([x, b, s, out], each(*body))


def gelu_kernel() -> Kernel:
    """0.5 * x * (1 + erf(x / sqrt(2)))."""
    x, out = buffer("x", f32, ["n0", "n1"]), buffer("out", f32, ["n0", "n1"], written=True)
    load = at(x, "t", "j")
    half, one, scale = (Literal.of(n, f32) for n in (0.5, 1.0, 0.5**0.5))
    bell = op("add", one, op("erf", op("mul", load, scale)))
    return kernel([x, out], each(put(out, ["t", "j"], op("mul", op("mul", half, load), bell))))


def concat_kernel(dtype: DType = f32) -> Kernel:
    """[n0, n1] beside [n0, n2]."""
    a, b = buffer("a", dtype, ["n0", "n1"]), buffer("b", dtype, ["n0", "n2"])
    out = buffer("out", dtype, ["n0", "n1 + n2"], written=True)
    first = (Less(Dim.of("j"), Dim.of("n1")),)
    value = Guard(first, at(a, "t", "j"), Guard(_not(first), at(b, "t", "j - n1"), _zero(dtype)))
    loop = each(put(out, ["t", "j"], value), extent="n1 + n2")
    return kernel([a, b, out], loop, sizes=("n0", "n1", "n2"))


def _not(conditions: tuple[Less, ...]) -> tuple[LessEqual, ...]:
    return tuple(condition.negation for condition in conditions)


def _zero(dtype: DType) -> Literal:
    return Literal.of(0, dtype)


def pad_kernel(dtype: DType = f32) -> Kernel:
    """n2 sevens on the left, n3 on the right."""
    x = buffer("x", dtype, ["n0", "n1"])
    out = buffer("out", dtype, ["n0", "n1 + n2 + n3"], written=True)
    inside = (LessEqual(Dim.of("n2"), Dim.of("j")), Less(Dim.of("j"), Dim.of("n1 + n2")))
    value = Guard(inside, at(x, "t", "j - n2"), Literal.of(7, dtype))
    loop = each(put(out, ["t", "j"], op("add", value, value)), extent="n1 + n2 + n3")
    return kernel([x, out], loop, sizes=("n0", "n1", "n2", "n3"))


def causal_kernel() -> Kernel:
    """x[t, j] where j <= t, -inf elsewhere: by a select, and by a guard."""
    x = buffer("x", f32, ["n0", "n1"])
    outs = [buffer(name, f32, ["n0", "n1"], written=True) for name in ("selected", "guarded")]
    seen = op("le", Number(Dim.of("j")), Number(Dim.of("t")), dtype=bool_)
    low = Literal.of(float("-inf"), f32)
    selected = op("select", seen, at(x, "t", "j"), low)
    guarded = Guard((LessEqual(Dim.of("j"), Dim.of("t")),), at(x, "t", "j"), low)
    stores = (put(o, ["t", "j"], v) for o, v in zip(outs, (selected, guarded), strict=True))
    return kernel([x, *outs], each(*stores))


def embedding_kernel(dtype: DType = f32, index: DType = i64) -> Kernel:
    """Rows of a table, chosen by data."""
    ids, table = buffer("ids", index, ["n0"]), buffer("table", dtype, ["n2", "n1"])
    out = buffer("out", dtype, ["n0", "n1"], written=True)
    row = Bind(Symbol("row"), at(ids, "t"), Dim.of("n2"))
    loop = each(put(out, ["t", "j"], at(table, "row", "j")))
    return kernel([ids, table, out], row, loop, sizes=("n0", "n1", "n2"))


def take_kernel(dtype: DType = f32, index: DType = i64) -> Kernel:
    """Single elements, chosen by data: each lane has an index of its own."""
    ids, table = buffer("ids", index, ["n0", "n1"]), buffer("table", dtype, ["n2"])
    out = buffer("out", dtype, ["n0", "n1"], written=True)
    where = Bind(Symbol("k"), at(ids, "t", "j"), Dim.of("n2"))
    loop = each(where, put(out, ["t", "j"], at(table, "k")))
    return kernel([ids, table, out], loop, sizes=("n0", "n1", "n2"))


def scatter_kernel(dtype: DType = f32) -> Kernel:
    """The opposite; of equal indices the last one counts."""
    ids, x = buffer("ids", i64, ["n1"]), buffer("x", dtype, ["n1"])
    out = buffer("out", dtype, ["n2"], written=True)
    where = Bind(Symbol("k"), at(ids, "j"), Dim.of("n2"))
    return kernel(
        [ids, x, out], each(where, put(out, ["k"], at(x, "j"))), sizes=("n1", "n2"), tasks=1
    )


ALL = {
    "reduce": reduce_kernel("add", f32),
    "columns": column_kernel("maximum", f32),
    "reduce_both": reduce_both_kernel(),
    "running_sum": running_sum_kernel(),
    "softmax": softmax_kernel(),
    "layer_norm": layer_norm_kernel(),
    "five_ops": five_ops_kernel(),
    "gelu": gelu_kernel(),
    "concat": concat_kernel(),
    "pad": pad_kernel(),
    "causal": causal_kernel(),
    "embedding": embedding_kernel(),
    "take": take_kernel(),
    "scatter": scatter_kernel(),
}
