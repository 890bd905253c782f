"""Ops whose result has its operands' axes, or fewer."""

from __future__ import annotations

from tests.fuzz.torch_modules.generator import Generator
from tests.fuzz.torch_modules.moves.numbers import number, real, size_of

UNARY = (
    "torch.tanh({v})", "{v}.sigmoid()", "F.relu({v})", "F.gelu({v})", "F.silu({v})", "-{v}",
    "{v} * 0.5 + 1", "{v}.abs()", "{v}.clamp(-1, 1)", "{v}.tanh().exp()", "{v}.sin()",
    "{v}.square()", "({v} > 0).float()", "{v}.round()", "1 - {v}", "{v}.clone()",
    "{v}.contiguous()", "{v}.to(torch.float32)", "torch.zeros_like({v}) + {v}", "{v}.abs().sqrt()",
    "F.softplus({v})", "torch.ones_like({v})", "{v}.sign()", "F.leaky_relu({v}, 0.1)",
    "{v}.isnan()", "{v}.int()", "{v}.floor()", "{v}.masked_fill({v} > 0.5, 0.0)",
    "torch.where({v} > 0, {v}, -1.0)", "F.dropout({v}, 0.5, training=self.training)",
    "{v}.nan_to_num()", "{v}.detach()", "({v} != 0)", "{v}.type_as({v})", "F.elu({v})",
    "torch.rsqrt({v}.abs() + 1)", "{v} ** 2", "{v}.double() * 2", "{v}.long() // 2",
    "{v}.int() % 3", "{v}.long() >> 1", "~({v} > 0)", "{v}.floor().to(torch.int8)",
    "torch.floor_divide({v}, 2)", "torch.remainder({v}, -2)", "{v}.frac()", "F.hardswish({v})",
    "{v}.erf()", "torch.logaddexp({v}, {v})", "F.mish({v})", "{v}.signbit()", "2 ** ({v} > 0)",
    "{v}.abs().log1p()", "{v}.trunc()", "torch.xlogy(({v} > 0), {v}.abs() + 1)", "{v} // 1",
)  # fmt: skip
BINARY = (
    "{v} + {w}", "{v} * {w}", "{v} - {w}", "torch.maximum({v}, {w})", "{v} / ({w}.abs() + 1)",
    "torch.where({v} > {w}, {v}, {w})", "({v} < {w})", "torch.min({v}, {w})", "({v} == {w})",
    "torch.add({v}, {w}, alpha=2)", "{v}.expand_as({w}) * 2", "{w}.lerp({v}, 0.25)",
    "torch.addcmul({v}, {w}, {v})", "torch.fmax({v}, {w})", "torch.hypot({v}, {w})",
    "torch.fmin({v} > 0, {w} > 0)", "torch.logical_xor({v} > 0, {w} > 0)", "torch.cdist({v}, {w})",
    "torch.fmod({v}, {w}.abs() + 1)", "F.mse_loss({v}, {w})", "({v} > 0) + ({w} > 0)",
    "F.cosine_similarity({v}, {w}, dim=-1)", "{v}.where({w} > 0, 0)", "({v} > 0) & ({w} > 0)",
    "{v}.sub({w}, alpha=0.5)", "torch.clamp({v}, min={w})", "({v} > 0) | ({w} < 0)",
    "{v} * ({w} > 0)", "torch.broadcast_tensors({v}, {w})[0] + 1",
)  # fmt: skip
ALL_OF = (
    "{v}.sum()", "{v}.mean()", "{v}.amax()", "{v}.norm()", "{v}.std()", "{v}.max()", "{v}.any()",
    "({v} > 0).sum()", "{v}.argmax()", "{v}.prod()", "{v}.count_nonzero()", "({v} == {v}).all()",
)  # fmt: skip
ALONG = (
    "{v}.sum({d})", "{v}.mean({d}, keepdim=True)", "{v}.amax({d})", "{v}.amin({d}, keepdim=True)",
    "{v}.var({d})", "{v}.std({d}, unbiased=False)", "{v}.logsumexp({d})", "{v}.norm(dim={d})",
    "{v}.argmax({d})", "{v}.max({d})[0]", "{v}.min({d}).values", "({v} > 0).any({d})",
    "{v}.prod({d})", "({v} > 0).sum({d}, keepdim=True)", "{v}.median({d}).values",
    "{v}.nansum({d})", "torch.std_mean({v}, {d})[1]", "{v}.aminmax(dim={d}).max",
    "{v}.var({d}, correction=2)", "torch.trapezoid({v}, dim={d})", "{v}.norm(1, {d})",
    "{v}.nanmean({d})", "({v} >= 0).all({d})",
)  # fmt: skip
KEEPING = (
    "{v}.softmax({d})", "{v}.log_softmax({d})", "{v}.cummax({d}).values", "{v}.cumprod({d})",
    "{v}.logcumsumexp({d})", "{v}.cummin({d})[0]", "{v}.tanh().renorm(2, {d}, 1.0)",
    "{v}.sort({d}, stable=True).values.flip({d})", "F.softmin({v}, {d})",
    "{v}.cumsum({d})", "F.normalize({v}, dim={d})",
    "{v} - {v}.mean({d}, keepdim=True)", "{v}.sort({d}, stable=True)[0]", "{v}.flip({d})",
    "{v}.sort(dim={d}, descending=True).values", "{v} / ({v}.abs().sum({d}, keepdim=True) + 1)",
    "torch.sort({v}, {d}, stable=True)[1]", "{v}.roll(1, {d})", "{v}.softmax({d}).cumsum({d})",
    "{v}.argsort({d}, stable=True)", "F.softmax({v}, dim={d}) @ torch.ones({v}.shape[-1], 2)",
)  # fmt: skip


def unary(g: Generator) -> str | None:
    name = g.pick(floats=g.rng.random() < 0.9)
    return None if name is None else g.rng.choice(UNARY).format(v=name)


def binary(g: Generator) -> str | None:
    left, right = g.pick(), g.pick(floats=g.rng.random() < 0.8)
    return None if not left or not right else g.rng.choice(BINARY).format(v=left, w=right)


def reduction(g: Generator) -> str | None:
    name = g.pick(rank=1)
    if name is None:
        return None
    kinds = ALL_OF if g.rng.random() < 0.2 else ALONG
    return g.rng.choice(kinds).format(v=name, d=g.axis(name))


def keeping(g: Generator) -> str | None:
    name = g.pick(rank=1)
    return None if name is None else g.rng.choice(KEEPING).format(v=name, d=g.axis(name))


def product(g: Generator) -> str | None:
    """Matrices that fit, with the one or the other transposed."""
    left, right = g.pick(rank=2), g.pick(rank=2)
    if left is None or right is None:
        return None
    for x in (left, f"{left}.transpose(-1, -2)"):
        inner = g.size(left, g.rank(left) - (1 if x == left else 2))
        for y, axis in ((right, -2), (f"{right}.mT", -1)):
            if g.size(right, g.rank(right) + axis) == inner:
                both = f"{x} @ {y}", f"torch.matmul({x}, {y}) / {inner[0] or 1}"
                return g.rng.choice(both)
    return f"torch.einsum('...i,...i->...', {left}, {left})"


def topk(g: Generator) -> str | None:
    name = g.pick(rank=1)
    if name is None:
        return None
    axis = g.rng.randrange(g.rank(name))
    count = g.rng.choice(
        (f"min(2, {size_of(g, name, axis)})", f"{size_of(g, name, axis)} // 2", "1")
    )
    return f"{name}.topk({count}, dim={axis}).values"


def scaled(g: Generator) -> str | None:
    """Numbers made of sizes as operands."""
    name = g.pick()
    if name is None:
        return None
    scale = real(g) if g.rng.random() < 0.2 else number(g)
    return g.rng.choice(("{v} * {s}", "{v} / ({s} + 1)", "{v} + {s}", "{s} - {v}")).format(
        v=name, s=scale
    )


def filled(g: Generator) -> str | None:
    """Tensors that are made of sizes alone."""
    a, b = number(g, odd=0.04), number(g, odd=0.04)
    name = g.pick()
    return g.rng.choice(
        (
            "torch.arange({a})", "torch.zeros({a}, {b})", "torch.ones({a})", "torch.eye({a})",
            "torch.full(({a}, {b}), 2.5)", "{v}.new_ones({a})", "torch.arange({a}) * 0.5",
            "torch.arange(1, {a} + 1).flip(0)", "torch.tensor({a})", "torch.arange(0, {a}, 2)",
            "torch.ones({a}, {a}).tril()", "torch.ones({a}, {b}).triu(1)",
            "torch.linspace(0, 1, {a})",
            "{v}.new_zeros(({a}, 2))", "torch.arange({a}).unsqueeze(-1) < torch.arange({b})",
            "{v}.new_tensor([{a}, 2.0])", "torch.as_tensor({a} / 2)", "torch.tensor([{a}, {b}])",
            "torch.full(({a},), {b})", "torch.arange({a}, 0, -1)", "torch.arange({a} - {b}, {a})",
            "torch.empty({a}, 3).fill_(1.0)", "torch.arange({a}, dtype=torch.float32) / {b}",
        )
    ).format(a=a, b=b, v=name)  # fmt: skip


def drawn(g: Generator) -> str | None:
    """Numbers and truths that are taken out of tensors, and torch's own branches on them."""
    name, other = g.pick(), g.pick()
    if name is None or other is None:
        return None
    return g.rng.choice(
        (
            "{w} + {v}.sum().item()", "{v} * ({v} > 0).sum().item()",
            "torch.arange({v}.count_nonzero().item())", "{w} * int({v}.round().sum())",
            "torch.cond({v}.sum() > 0.37, lambda t: t + 1, lambda t: t * 2, ({w},))",
            "torch.cond({a} > 4, lambda t: t.tanh(), lambda t: t - 1, ({v},))",
            "torch.zeros(({v} > 0).sum().item(), 2)", "{v}[({v} > 0).sum().item() // 2 :]",
        )
    ).format(v=name, w=other, a=number(g, odd=0))  # fmt: skip


TENSORS = (unary, binary, binary, reduction, keeping, keeping, product, topk, scaled, filled, drawn)
