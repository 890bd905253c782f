"""Products, norms and sums of products."""

from __future__ import annotations

from tests.fuzz.onnx_graphs.generator import FLOATS, Generator, Unfit
from tests.fuzz.onnx_graphs.moves.reductions import flag
from tests.fuzz.onnx_graphs.moves.windows import image


def fixed_columns(g: Generator, dtypes: tuple[str, ...] = FLOATS, least: int = 1) -> str:
    """A tensor whose last axis has one size everywhere."""
    found = [name for name in g.names(dtypes, range(least, 5)) if len(set(g.size(name, -1))) == 1]
    if found and g.rng.random() < 0.8:
        return g.rng.choice(found)
    dims = (g.random_dim() for _ in range(g.rng.randint(least, 3) - 1))
    return g.input(g.rng.choice(dtypes), *dims, g.rng.choice((1, 3, 4, 8)))


def matmul(g: Generator) -> None:
    x = fixed_columns(g, (*FLOATS, *FLOATS, "int32", "int64", "uint32"))
    rows = g.fixed(x, -1)
    if not rows:
        raise Unfit  # onnxruntime leaves what it finds in memory
    kind = g.rng.randrange(4)
    if kind == 0:
        y = g.input(g.dtype(x), rows, g.random_dim())
    elif kind == 1:
        y = g.random_constant(g.dtype(x), rows)
    elif kind == 2:
        order = list(range(g.rank(x)))
        order[-2:] = order[-2:][::-1]
        y = g.node("Transpose", x, perm=tuple(order))
    else:
        y = g.random_constant(g.dtype(x), rows, g.rng.choice((1, 2, 5, 16)))
    g.node("MatMul", x, y)


def gemm(g: Generator) -> None:
    x = fixed_columns(g, (*FLOATS, "int32", "int64"), 2)
    if g.rank(x) != 2:
        raise Unfit
    rows, columns, turned = g.fixed(x, 1), g.rng.choice((1, 3, 16)), g.rng.choice((0, 1))
    weight = g.random_constant(g.dtype(x), *((columns, rows) if turned else (rows, columns)))
    shape = g.rng.choice(((), (1,), (columns,), (1, columns)))
    bias = (g.random_constant(g.dtype(x), *shape),)
    bias = () if g.opset >= 11 and g.rng.random() < 0.3 else bias
    left, across = x, None
    if g.rng.random() < 0.3:
        left, across = g.node("Transpose", x), 1
    g.node("Gemm", left, weight, *bias, transA=across, transB=turned,
           alpha=g.rng.choice((None, 0.5)), beta=g.rng.choice((None, 2.0, 0.0)))  # fmt: skip


def norm(g: Generator) -> None:
    x = fixed_columns(g)
    size, axis = g.fixed(x, -1), -1
    op = g.rng.choice(("LayerNormalization", "LayerNormalization", "RMSNormalization"))
    scale = g.random_constant(g.dtype(x), size)
    bias = (g.random_constant(g.dtype(x), size),) if op[0] == "L" and g.rng.random() < 0.6 else ()
    g.node(op, x, scale, *bias, axis=axis, epsilon=g.rng.choice((None, 1e-3)))


def channel_norm(g: Generator) -> None:
    x = image(g)
    channels = g.fixed(x, 1)
    scale, bias = (g.random_constant(g.dtype(x), channels) for _ in range(2))
    match g.rng.randrange(4):
        case 0:
            if not all(g.alive) or not all(value.size for value in g.each(x)):
                raise Unfit  # onnxruntime ends the process
            g.node("InstanceNormalization", x, scale, bias, epsilon=g.rng.choice((None, 0.1)))
        case 1:
            mean = g.random_constant(g.dtype(x), channels)
            spread = g.node("Abs", g.random_constant(g.dtype(x), channels))
            g.node("BatchNormalization", x, scale, bias, mean, spread, epsilon=0.1)
        case 2:
            if g.dtype(x) == "float64":
                raise Unfit  # onnxruntime computes it in f32
            groups = g.rng.choice([n for n in (1, 2, channels) if channels % n == 0])
            size = channels if g.opset >= 21 else groups
            parts = (g.random_constant(g.dtype(x), size) for _ in range(2))
            g.node("GroupNormalization", x, *parts, num_groups=groups)
        case _:
            g.node("LRN", x, size=g.rng.choice((1, 3, 5)), alpha=g.rng.choice((None, 0.5)),
                   beta=g.rng.choice((None, 0.5)), bias=g.rng.choice((None, 2.0)))  # fmt: skip


def length(g: Generator) -> None:
    x = g.pick(FLOATS, range(1, 5))
    if g.rng.random() < 0.6:
        g.node("LpNormalization", x, axis=g.axis(x), p=g.rng.choice((None, 1, 2)))
        return
    x = image(g, ranks=(2,))
    if any(value[:1, :1].size == 1 for value in g.each(x)):
        raise Unfit  # the variance of one number is what rounding leaves
    g.node("MeanVarianceNormalization", x)


EQUATIONS = {
    1: ("i->", "i,i->i", "i,j->ij", "i,i->"),
    2: (
        "ij->ji",
        "ij->i",
        "ij,kj->ik",
        "ij,ij->",
        "ij,ij->j",
        "...j->...",
        "ij,lk->iljk",
        "bi,bj->bij",
    ),
    3: ("bij->bji", "bij,bkj->bik", "bij,bij->b", "...ij->...ji", "bij->j", "bhi,bhj->hij"),
}


def einsum(g: Generator) -> None:
    x = g.pick((*FLOATS, "int64", "int32"), (1, 2, 3))
    equation = g.rng.choice(EQUATIONS[g.rank(x)])
    g.node("Einsum", *[x] * (1 + equation.count(",")), equation=equation)


def losses(g: Generator) -> None:
    classes, dims = g.rng.choice((1, 3, 5)), ("m", "k")[: g.rng.choice((0, 0, 1, 2))]
    x = g.input(g.rng.choice(("float32", "float64")), "n", classes, *dims)
    labels = g.node("Abs", g.input("int64", "n", *dims, bound=classes))
    labels = g.node("Mod", labels, g.constant(classes))
    op = g.rng.choice(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"))
    weight = (g.random_constant(g.dtype(x), classes),) if g.rng.random() < 0.4 else ()
    ignored = g.rng.choice((None, None, 0, 1))
    means = (None, "mean") if all(value.size for value in g.each(x)) else ()  # of nothing: NaN here
    reduction = g.rng.choice((*means, "sum", "none"))
    g.node(op, x, labels, *weight, reduction=reduction, ignore_index=ignored)


def transform(g: Generator) -> None:
    x = g.input("float32", "n", g.rng.choice((4, 5, "m")), g.rng.choice((1, 2)))
    inverse = flag(g)
    if g.opset >= 20:
        g.node("DFT", x, "", g.constant(1), inverse=inverse)
    else:
        g.node("DFT", x, axis=1, inverse=inverse)


LAYERS = (
    matmul,
    matmul,
    matmul,
    gemm,
    gemm,
    norm,
    channel_norm,
    channel_norm,
    length,
    einsum,
    losses,
    transform,
)
