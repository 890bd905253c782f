"""Random graphs of kernels, as text: chains, branches, values used late, aliases, several results.

Every value is a matrix of [n, m] or its transpose, so that many pairs of operand and result have
the same size and writing in place is a temptation.
"""

from __future__ import annotations

import random

from anyshape.ir import Graph, parse

AXES = "axes { n: 0..   m: 0.. }"
SHAPES = ("f32[n, m]", "f32[m, n]")

UNARY = {"relu": "relu(a0)", "softmax": "softmax(a0) {axis=1}", "exp": "exp(a0)"}


def random_graph(seed: int) -> Graph:
    return parse(random_text(seed))


def random_text(seed: int) -> str:
    rng = random.Random(seed)
    values: list[tuple[str, int]] = [("x", 0), ("y", 1)]  # name, shape
    lines: list[str] = []
    for number in range(rng.randint(2, 14)):
        reach = values[-rng.randint(1, 6) :]
        text, shape = _step(rng, reach)
        lines.append(f"  %{number} = {text} : {SHAPES[shape]}")
        values.append((f"%{number}", shape))
    made = values[2:]
    returned = list(dict.fromkeys([made[-1], *rng.sample(made, rng.randint(0, 2) % len(made))]))
    types = ", ".join(SHAPES[shape] for _, shape in returned)
    results = f"({types})" if len(returned) > 1 else types
    names = ", ".join(name for name, _ in returned)
    params = "x: f32[n, m], y: f32[m, n], w: f32[m, m], v: f32[n, n]"
    body = "\n".join(lines)
    return f"{AXES}\ngraph g({params}) -> {results} {{\n{body}\n  return {names}\n}}\n"


def _step(rng: random.Random, values: list[tuple[str, int]]) -> tuple[str, int]:
    name, shape = rng.choice(values)
    same = [other for other, its_shape in values if its_shape == shape]
    kind = rng.choice(["unary", "add", "transpose", "dot", "residual"])
    type_ = SHAPES[shape]
    if kind == "unary":
        return _kernel([(name, type_)], [rng.choice(list(UNARY.values()))], type_), shape
    if kind == "add":
        other = rng.choice(same)
        return _kernel([(name, type_), (other, type_)], ["add(a0, a1)"], type_), shape
    if kind == "transpose":
        turned = SHAPES[1 - shape]
        return _kernel([(name, type_)], ["transpose(a0) {perm=[1, 0]}"], turned), 1 - shape
    weight = (("w", "f32[m, m]"), ("v", "f32[n, n]"))[shape]
    dot = "dot(a0, a1) {contract=([1], [0])}"
    if kind == "dot":
        return _kernel([(name, type_), weight], [dot], type_), shape
    operands = [(name, type_), weight, (rng.choice(same), type_)]
    return _kernel(operands, [dot, "add(%0, a2)"], type_), shape


def _kernel(operands: list[tuple[str, str]], ops: list[str], type_: str) -> str:
    names = ", ".join(name for name, _ in operands)
    params = ", ".join(f"a{i}: {its_type}" for i, (_, its_type) in enumerate(operands))
    body = "\n".join(f"      %{i} = {op} : {type_}" for i, op in enumerate(ops))
    last = len(ops) - 1
    return (
        f"kernel({names})\n    body({params}) -> {type_} {{\n{body}\n      return %{last}\n    }}"
    )
