"""Statements that write into tensors: inputs, temporaries and views of either."""

from __future__ import annotations

from tests.fuzz.torch_modules.generator import Generator
from tests.fuzz.torch_modules.moves.numbers import number
from tests.fuzz.torch_modules.program import Statement

WHOLE = (
    "{v}.add_(1)", "{v}.mul_(0.5)", "{v}.copy_({v} * 2)", "{v}.clamp_(min=0)", "{v} += 1",
    "{v} *= {w}", "{v}.masked_fill_({v} > 0.5, 0.0)", "{v}.add_({w})", "{v}.copy_({w})",
    "{v}.neg_()", "{v}.tanh_()", "{v}.fill_(2.0)", "{v}.zero_()", "{v}.sub_({v}.mean())",
    "{v}.relu_()",
)  # fmt: skip
PARTS = (
    "{v}[0] = 1.0", "{v}[..., 0] = 2.0", "{v}[:{a}] = 0.0", "{v}[..., :{a}] = -1.0",
    "{v}[1:] += 1.0", "{v}[..., -1] *= 3.0", "{v}[::2] = 0.5",
    "{v}[..., 1:] = {v}[..., :-1].clone()", "{v}[{v} > 1] = 0.0", "{v}[:1].add_(2)",
    "{v}[-1:].mul_(2)", "{v}.select(0, 0).fill_(3.0)", "{v}.narrow(0, 0, 1).zero_()",
    "{v}.index_fill_(0, torch.arange({v}.shape[0] // 2), 0.5)", "{v}.view(-1)[:2] = 4.0",
    "{v}.transpose(0, -1).add_(1)", "{v}[:{a}].copy_({v}[:{a}] * 2)", "{v}[...] = 1.5",
    "{v}.unsqueeze(0)[0].add_(1)", "{v}.chunk(2)[0].add_(1)", "{v}[1:].copy_({v}[:-1].clone())",
    "{v}.unbind(-1)[0].add_(1)", "{v}.split(2)[0].mul_(3)", "{v}.diagonal(0, 0, -1).fill_(4)",
    "{v}[:{a}] += {v}[:{a}].sum()", "{v}.flatten()[1:].neg_()", "{v}[..., [0]] = 3.0",
    "{v}.movedim(0, -1)[..., 1:].add_(1)",
    "{v}[{v} < 0] += 1", "{v}[{v} > 0] *= {v}[{v} > 0].sum()", "{v}.clamp_(max={w}.sum())",
    "{v}.index_add_(0, torch.arange({v}.shape[0]), {v} * 2)", "{v}.swapdims_(0, -1)",
    "{v}.scatter_(0, torch.zeros_like({v}).long(), 1.0)", "{v}.t_().add_(1)", "{v}.unsqueeze_(0)",
    "{v}.tril_()", "{v}.cumsum_(0)", "{v}.masked_scatter_({v} > 0, {v} * 2)",
)  # fmt: skip
VIEWS = (
    "{v}[1:]",
    "{v}[..., :1]",
    "{v}.view(-1)",
    "{v}.transpose(0, -1)",
    "{v}[..., ::2]",
    "{v}[0]",
    "{v}.chunk(2)[-1]",
    "{v}.select(-1, 0)",
    "{v}.unbind(-1)[-1]",
    "{v}.narrow(0, 0, {v}.shape[0] // 2)",
    "{v}.diagonal(0, 0, -1)",
    "{v}[1:][..., :2]",
    "{v}.flatten()",
    "{v}.movedim(0, -1)[..., 1:]",
    "{v}.unsqueeze(-1).expand(*{v}.shape, 1)",
    "{v}.split(2)[0].transpose(0, -1)",
    "{v}.view_as({v}).detach()",
)


def _update(g: Generator, name: str) -> str | None:
    other = g.pick()
    kinds = WHOLE if g.rng.random() < 0.5 else PARTS
    return g.rng.choice(kinds).format(v=name, w=other, a=number(g, odd=0.04))


def temporary(g: Generator) -> Statement | None:
    name = g.pick(rank=1)
    if name is None:
        return None
    new = g.fresh()
    how = g.rng.choice(("{v}.clone()", "{v} * 1.5", "torch.zeros_like({v})")).format(v=name)
    return Statement(f"{new} = {how}\n{_update(g, new)}")


def anything(g: Generator) -> Statement | None:
    """Of an input, or of what may be a view of one."""
    name = g.pick(rank=1)
    return None if name is None else Statement(f"{_update(g, name)}")


def through_view(g: Generator) -> Statement | None:
    """Both the view and what it is a view of are read later."""
    name = g.pick(rank=1)
    if name is None:
        return None
    base, view = g.fresh(), g.fresh()
    seen = g.rng.choice(VIEWS).format(v=base)
    return Statement(f"{base} = {name}.clone()\n{view} = {seen}\n{_update(g, view)}")


def through_views(g: Generator) -> Statement | None:
    """Two of the same memory, which may overlap; what is written through one is read through the
    other."""
    name = g.pick(rank=1)
    if name is None:
        return None
    base, one, other = g.fresh(), g.fresh(), g.fresh()
    lines = [f"{base} = {name} * 1.5"]
    lines += [f"{view} = {g.rng.choice(VIEWS).format(v=base)}" for view in (one, other)]
    update = _update(g, g.rng.choice((base, other)))
    return Statement("\n".join([*lines, f"{one}.add_({other}.sum())", str(update)]))


def buffer(g: Generator) -> Statement | None:
    """Memory of the module, which each call begins anew."""
    name = g.pick(rank=1)
    if name is None:
        return None
    kept, new = g.layer("torch.nn.Buffer(torch.zeros(4))"), g.fresh()
    writes = ("{b}.add_({v}.sum())", "{b}[1:] = {v}.mean()", "{b}.copy_({b} + {v}.numel())")
    write = g.rng.choice(writes).format(b=kept, v=name)
    return Statement(f"{kept}.zero_()\n{write}\n{new} = {kept} * 2\n{kept} += 1")


def sometimes(g: Generator) -> Statement | None:
    name = g.pick(rank=1)
    if name is None:
        return None
    new = g.fresh()
    return Statement(f"{new} = {name}.clone()\nif {number(g, odd=0)} > 3:\n    {_update(g, new)}")


UPDATES = (
    temporary,
    temporary,
    anything,
    through_view,
    through_views,
    through_views,
    buffer,
    sometimes,
)
