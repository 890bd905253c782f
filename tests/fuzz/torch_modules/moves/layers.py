"""Layers with weights: what they read has a constant size, wherever the input allows it."""

from __future__ import annotations

from tests.fuzz.torch_modules.generator import Generator


def _of_width(g: Generator, rank: int, axis: int = -1) -> tuple[str, int] | None:
    """A tensor whose size at that axis is a number in every run."""
    names = list(dict.fromkeys(g.tensors(rank=rank, floats=True)))
    widths = [(name, g.constant(name, g.rank(name) + axis)) for name in names]
    found = [(name, width) for name, width in widths if width]
    return g.rng.choice(found) if found else None


def linear(g: Generator) -> str | None:
    found = _of_width(g, 1)
    if found is None:
        return None
    name, width = found
    bias = g.rng.random() < 0.7
    return f"{g.layer(f'torch.nn.Linear({width}, {g.rng.choice((2, 4, 5))}, bias={bias})')}({name})"


def norm(g: Generator) -> str | None:
    found = _of_width(g, 1)
    if found is None:
        return None
    name, width = found
    kinds = ("LayerNorm", "LayerNorm", "RMSNorm")
    return f"{g.layer(f'torch.nn.{g.rng.choice(kinds)}({width})')}({name})"


def functional_norm(g: Generator) -> str | None:
    name = g.pick(rank=1)
    return None if name is None else f"F.layer_norm({name}, {name}.shape[-1:])"


def convolution(g: Generator) -> str | None:
    found = _of_width(g, 3, -2)
    if found is None or g.rank(found[0]) != 3:
        return None
    name, width = found
    more = g.rng.choice(("3, padding=1", "2", "3, stride=2", "3, padding=2, dilation=2", "1"))
    return f"{g.layer(f'torch.nn.Conv1d({width}, {g.rng.choice((2, 4))}, {more})')}({name})"


def embedding(g: Generator) -> str | None:
    name = g.pick(rank=1, floats=False)
    if name is None:
        return None
    ids = f"{name}.long().abs() % 7"
    if g.rng.random() < 0.4:
        ids = f"torch.arange({name}.shape[0]) % 7"
    return f"{g.layer('torch.nn.Embedding(7, 4)')}({ids})"


def attention(g: Generator) -> str | None:
    name = g.pick(rank=2)
    if name is None:
        return None
    return g.rng.choice(
        (
            f"F.scaled_dot_product_attention({name}, {name}, {name})",
            f"F.scaled_dot_product_attention({name}, {name}, {name}, is_causal=True)",
            f"({name} @ {name}.mT / {name}.shape[-1] ** 0.5).softmax(-1) @ {name}",
            f"F.scaled_dot_product_attention({name}, {name}, {name},"
            f" attn_mask=torch.ones({name}.shape[-2], {name}.shape[-2]).tril().bool())",
            f"({name} @ {name}.transpose(-2, -1) * {name}.size(-1) ** -0.5).tanh()",
        )
    )


def heads(g: Generator) -> str | None:
    """Attention layers, and heads split and joined by hand."""
    found = _of_width(g, 3)
    if found is None or found[1] % 2 or g.rank(found[0]) != 3:
        return None
    name, width = found
    if g.rng.random() < 0.5:
        layer = g.layer(f"torch.nn.MultiheadAttention({width}, 2, batch_first=True).eval()")
        return f"{layer}({name}, {name}, {name})[0]"
    split = f"{name}.view({name}.shape[0], {name}.shape[1], 2, {width // 2}).transpose(1, 2)"
    return f"({split} * 2).transpose(1, 2).reshape({name}.shape[0], {name}.shape[1], {width})"


def sequential(g: Generator) -> str | None:
    found = _of_width(g, 1)
    if found is None:
        return None
    name, width = found
    inner = f"torch.nn.Linear({width}, 3), torch.nn.GELU(), torch.nn.Linear(3, {width})"
    return f"{name} + {g.layer(f'torch.nn.Sequential({inner})')}({name})"


def image(g: Generator) -> str | None:
    """Layers of channels and places."""
    found = _of_width(g, 3, -2)
    if found is None or g.rank(found[0]) != 3:
        return None
    name, width = found
    kinds = (
        f"GroupNorm(1, {width})", f"InstanceNorm1d({width})", f"ConvTranspose1d({width}, 2, 3, 2)",
        "MaxPool1d(2)", "AvgPool1d(3, 2, 1)", "AdaptiveAvgPool1d(2)", "AdaptiveMaxPool1d(3)",
        "Upsample(scale_factor=2)", "ReflectionPad1d(1)", "ReplicationPad1d((2, 0))",
        f"BatchNorm1d({width})", "CircularPad1d(1)", "MaxPool1d(3, 1, 1, ceil_mode=True)",
    )  # fmt: skip
    return f"{g.layer(f'torch.nn.{g.rng.choice(kinds)}.eval()')}({name})"


def recurrent(g: Generator) -> str | None:
    found = _of_width(g, 3)
    if found is None or g.rank(found[0]) != 3:
        return None
    name, width = found
    kind = g.rng.choice(("GRU", "LSTM", "RNN"))
    return f"{g.layer(f'torch.nn.{kind}({width}, 3, batch_first=True)')}({name})[0]"


LAYERS = (
    image,
    image,
    recurrent,
    linear,
    linear,
    norm,
    functional_norm,
    convolution,
    embedding,
    attention,
    heads,
    sequential,
)
