"""Ops that move elements: parts, joins, views, selections by index."""

from __future__ import annotations

from tests.fuzz.torch_modules.generator import Generator
from tests.fuzz.torch_modules.moves.numbers import number, size_of

VIEWS = (
    "{v}.transpose({d}, {e})", "{v}.unsqueeze({d})", "{v}.squeeze({d})", "{v}.squeeze()",
    "{v}.flatten()", "{v}.reshape(-1)", "{v}.reshape({v}.shape)", "{v}.movedim({d}, 0)",
    "{v}[None]", "{v}[..., None]", "{v}.unsqueeze(0).expand(2, *{v}.shape)", "{v}.flatten(0, {p})",
    "{v}.view({v}.shape)", "{v}.reshape(*{v}.shape[:-1], -1)",
    "{v}.permute(*reversed(range({v}.dim())))", "{v}.reshape({v}.numel())",
    "{v}.reshape(-1, {v}.shape[-1])", "{v}.unflatten({d}, (-1, 1))",
    "{v}.reshape({v}.shape[0], -1)", "{v}.swapaxes(0, -1).contiguous()", "{v}.view(-1)",
    "{v}.unflatten({d}, (2, -1))", "{v}.reshape(*{v}.shape[:-1], 2, {v}.shape[-1] // 2)",
    "{v}.reshape(1, -1, 1)", "{v}.T if {v}.dim() == 2 else {v}",
)  # fmt: skip
PARTS = (
    "{v}.chunk(2, {d})[0]", "{v}.chunk(3, {d})[-1]", "{v}.split(2, {d})[0]",
    "{v}.split(2, {d})[-1]", "{v}.tensor_split(3, {d})[1]",
    "torch.cat(list({v}.split(3, {d}))[::-1], {d})", "{v}.select({d}, 0)", "{v}.select({d}, -1)",
    "{v}.narrow({d}, 0, {s} // 2)", "{v}.narrow({d}, {s} - 1, 1)", "torch.stack({v}.unbind({d}))",
    "torch.stack([p.sum() for p in {v}.chunk(2, {d})])", "{v} * len({v}.chunk(4, {d}))",
    "sum(p.sum() for p in {v}.split({s} // 2 + 1, {d}))", "{v}.unfold({d}, 2, 1)",
    "{v}.diff(dim={d})", "torch.split({v}, [1, {s} - 1], {d})[1]",
    "{v}.diff(n=2, dim={d})", "{v}.diff(dim={d}, prepend={v})", "[*{v}.chunk(2, {d})][-1]",
    "torch.cat([p * (i + 1) for i, p in enumerate({v}.chunk(3, {d}))], {d})",
    "torch.cat([p.flip({d}) for p in {v}.split(2, {d})], {d})",
    "{v}.tensor_split({s} % 3 + 1, {d})[0]",
    "sum((p.sum() * q.sum() for p, q in zip({v}.chunk(2, {d}), {w}.chunk(2))), torch.zeros(()))",
    "dict(enumerate({v}.chunk(2, {d})))[0]", "max({v}.chunk(2, {d}), key=lambda p: p.shape[{d}])",
    "{v}.narrow({d}, {s} // 2, {s} - {s} // 2)", "{v}.split({s} // 2 + 1, {d})[0]",
    "{v}.split([{s} // 2, {s} - {s} // 2], {d})[1]", "{v}.chunk({s}, {d})[0]",
)  # fmt: skip
SLICES = (
    "{v}[:{a}]", "{v}[{a}:]", "{v}[..., :{a}]", "{v}[..., -{a}:]", "{v}[1:]", "{v}[..., ::2]",
    "{v}[:-1]", "{v}[-1:]", "{v}[0]", "{v}[-1]", "{v}[..., 0]", "{v}[1:{a}]", "{v}[{a}:{a} + 2]",
    "{v}[..., 1::2]", "{v}[..., {a} - 2:]", "{v}[:{a}, ...]", "{v}[None, ..., -1]",
)  # fmt: skip
JOINS = (
    "torch.cat([{v}, {w}], {d})", "torch.cat([{v}, {v} * 2], {d})",
    "torch.stack([{v}, {v} + 1], {d})",
    "torch.stack(({v}, {w}))", "{v}.repeat(*[1] * ({r} - 1), 2)", "{v}.repeat(2, *[1] * {r})",
    "{v}.repeat_interleave(2, {d})", "F.pad({v}, (1, 2))", "F.pad({v}, (0, {a}))", "{v}.tile(2)",
    "{v}.roll({a}, {d})", "{v}.flip(0)", "torch.hstack([{v}, {v}])",
    "F.pad({v}, (0, 0, 1, 0), value=1.0)", "torch.cat([{v}[1:], {v}[:1]])",
    "torch.vstack([{v}, {v}])", "torch.block_diag({v}, {w})", "torch.column_stack([{v}, {v}])",
    "torch.broadcast_to({v}, ({a}, *{v}.shape))", "F.pad({v}, (-1, 1))", "torch.dstack([{v}, {v}])",
    "F.pad({v}, (0, {s} - {s0}))", "F.pad({v}, ({a}, -1))", "torch.cat([{v}[:0], {v}])",
    "{v}.expand({a}, *{v}.shape)", "{v}.unsqueeze({d}).repeat_interleave({a}, {d})",
)  # fmt: skip
INDEXED = (
    "{v}.index_select({d}, torch.arange({s}).flip(0))", "{v}[torch.arange({v}.shape[0]) // 2]",
    "{v}.gather({d}, {v}.argsort({d}, stable=True))", "{v}.tril()", "{v}.triu(1)",
    "torch.take_along_dim({v}, {v}.argsort({d}, stable=True), {d})", "{v}.cumsum({d})[..., -1]",
    "{v}.masked_fill(torch.arange({v}.shape[-1]) > 1, 0.0)",
    "{v}[..., torch.arange({v}.shape[-1]) % 2 == 0]",
    "{v}.scatter({d}, torch.zeros_like({v}, dtype=torch.int64), 1.0)",
    "{v}.index_add(0, torch.arange({v}.shape[0]), {v})",
    "{v}.diagonal({a} - 2, 0, {p})", "torch.diag_embed({v}, {a} - 2)", "torch.diag({v}, 1 - {s0})",
    "torch.rot90({v}, 1, [0, -1])", "{v}.masked_select({v} > 0)", "{v}.take(torch.tensor([0, -1]))",
    "{v}.index_fill({d}, torch.tensor([0]), 1.0)", "torch.atleast_3d({v})", "{v}.tril({a} - 3)",
    "{v}.scatter_add({d}, torch.zeros_like({v}).long(), {v})", "{v}[torch.arange({s0})[1:] - 1]",
    "{v}.index_copy({d}, torch.arange({s}).flip(0), {v})", "torch.where({v} > 0)[0]",
    "{v}.unfold({d}, 2, 2).sum(-1)", "{v}[..., None, :].expand(*{v}.shape[:-1], {a}, -1)",
    "torch.where(torch.arange({s0}) > 1, 1, 0)", "{v}.diagonal() if {r} == 2 else {v}",
    "{v}[{v} > 0]", "F.one_hot(torch.arange({s0}) % 3, 3)", "{v}[[0, -1]]", "{v}[:, [0]]",
    "{v}.nonzero()", "torch.meshgrid(torch.arange({s}), torch.arange({s0}))[0]",
)  # fmt: skip


def _formatted(g: Generator, texts: tuple[str, ...]) -> str | None:
    name, other = g.pick(rank=1), g.pick(rank=1)
    if name is None or other is None:
        return None
    rank, axis = g.rank(name), g.axis(name)
    return g.rng.choice(texts).format(
        v=name, w=other, d=axis, e=g.axis(name), r=rank, a=number(g), p=min(1, rank - 1),
        s=size_of(g, name, axis % rank), s0=size_of(g, name, 0),
    )  # fmt: skip


def view(g: Generator) -> str | None:
    return _formatted(g, VIEWS)


def part(g: Generator) -> str | None:
    return _formatted(g, PARTS)


def sliced(g: Generator) -> str | None:
    return _formatted(g, SLICES)


def join(g: Generator) -> str | None:
    return _formatted(g, JOINS)


def indexed(g: Generator) -> str | None:
    return _formatted(g, INDEXED)


MOVEMENT = (view, view, part, part, sliced, sliced, join, join, indexed)
