"""A mixture of experts: every token goes to the two experts that its router likes best.

The function is the loop that papers print: for each expert, find its tokens, run it on them, add
what it says. Compiled, the loop is gone: tokens are sorted by expert once, and one product goes
from expert to expert. Experts without tokens cost nothing, and neither do tokens that all want the
same one. How many tokens an expert has is data, so there is no capacity and nothing is dropped.
"""

from functools import partial
from typing import Any

import numpy as np
from _show import heading, seconds

import anyshape as ash

WIDTH, HIDDEN, EXPERTS, ACTIVE = 64, 128, 8, 2

random = np.random.default_rng(0)


def array(*shape: int) -> Any:
    return (random.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)


ROUTER = array(WIDTH, EXPERTS)
UP, DOWN = array(EXPERTS, WIDTH, HIDDEN), array(EXPERTS, HIDDEN, WIDTH)


@ash.jit
def mixture(tokens: ash.f32["tokens", WIDTH], bias: ash.f32[EXPERTS]):
    """The bias is added to what the router says: it can make everybody want one expert."""
    scores, chosen = ash.topk(ash.softmax(tokens @ ROUTER + bias), ACTIVE)
    out = ash.zeros_like(tokens)
    for expert in range(EXPERTS):
        mine, choice = ash.nonzero(chosen == expert)
        spoken = ash.silu(tokens[mine] @ UP[expert]) @ DOWN[expert]
        out[mine] += spoken * scores[mine, choice][:, None]
    return out, ash.bincount(chosen.ravel(), minlength=EXPERTS)


def plain(tokens: Any, bias: Any) -> Any:
    """Token by token, in NumPy."""
    out = np.zeros(tokens.shape)
    for number, token in enumerate(tokens.astype(np.float64)):
        scores = np.exp(token @ ROUTER + bias)
        scores /= scores.sum()
        for expert in np.argsort(-scores)[:ACTIVE]:
            hidden = token @ UP[expert]
            out[number] += scores[expert] * (hidden / (1 + np.exp(-hidden)) @ DOWN[expert])
    return out


def main() -> None:
    compiled = ash.compile(mixture, strict=True)
    heading("Any number of tokens, and wherever they go")
    print(f"{'tokens':<8}{'time':<12}{'difference to NumPy':<22}tokens of each expert")
    for count in (0, 1, 7, 131):
        tokens = random.standard_normal((count, WIDTH)).astype(np.float32)
        for bias in (np.zeros(EXPERTS, np.float32), np.eye(EXPERTS, dtype=np.float32)[3] * 30):
            out, loads = compiled(tokens, bias)
            spent = min(seconds(partial(compiled, tokens, bias)) for _ in range(20))
            off = np.abs(out - plain(tokens, bias)).max(initial=0)
            print(f"{count:<8}{f'{1e6 * spent:.0f} µs':<12}{off:<22.1e}{loads.tolist()}")
    heading("What became of the loop")
    text = compiled.as_text()
    counts = {op: text.count(f" = {op}(") for op in ("worklist", "grouped_dot", "late_size")}
    print(", ".join(f"{count} × {op}" for op, count in counts.items()))
    print(compiled.explain().kernels)


if __name__ == "__main__":
    main()
