"""Speculative decoding: a small model guesses a few tokens, a large one checks them in one call.

The large model reads its weights once for all guesses, which is what a token costs. It keeps those
that it would have written itself and adds one of its own, so the text is the one that it writes
alone, token by token.

Everything is one graph and one native call: a loop inside a loop, whose caches of keys and values
grow with each token and shrink again by the guesses that were wrong. How many tokens are guessed,
and how many of them stay, are sizes that data decide.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import anyshape as ash

Caches = tuple[Any, ...]  # keys and values of each layer: [tokens, width]


@dataclass(frozen=True)
class Layer:
    qkv: Any
    out: Any
    up: Any
    down: Any


@dataclass(frozen=True)
class Weights:
    words: Any
    head: Any
    layers: tuple[Layer, ...]
    heads: int


@dataclass(frozen=True)
class Model:
    """A decoder. Heads are 64 wide at most; after a token comes, most likely, another certain one.

    `seed` is what models agree about: which token follows which. Layers disturb that by `noise`.
    """

    layers: int
    width: int
    noise: float
    words: int = 256
    seed: int = 0

    @property
    def heads(self) -> int:
        return max(1, self.width // 64)

    def random(self, part: int, *shape: int) -> Any:
        made = np.random.default_rng((self.seed, part)).standard_normal(shape, np.float32)
        return made / np.float32(np.sqrt(shape[0]))

    def weights(self) -> Weights:
        """Words that mean the same to all models, in as many numbers as each of them has."""
        wide = np.random.default_rng(self.seed).standard_normal((self.words, 1024), np.float32)
        words = np.ascontiguousarray(wide[:, : self.width])
        following = np.random.default_rng(self.seed).permutation(self.words)
        head = np.empty_like(words)
        head[following] = words
        width, noise = self.width, np.float32(self.noise)
        layers = tuple(
            Layer(
                self.random(4 * n, width, 3 * width),
                self.random(4 * n + 1, width, width) * noise,
                self.random(4 * n + 2, width, 4 * width),
                self.random(4 * n + 3, 4 * width, width) * noise,
            )
            for n in range(self.layers)
        )
        return Weights(words, head.T.copy(), layers, self.heads)

    def empty(self) -> Caches:
        return tuple(ash.zeros((0, self.width)) for _ in range(2 * self.layers))


# --- a model in the graph -------------------------------------------------------------------------


def logits_of(weights: Weights, tokens: Any, caches: Caches) -> tuple[Any, Caches]:
    """What may follow each new token, and the caches with the new ones behind the old."""
    x = ash.take(weights.words, tokens, axis=0)
    longer: list[Any] = []
    for layer, *cached in zip(weights.layers, caches[::2], caches[1::2], strict=True):
        q, *new = ash.split(ash.layer_norm(x) @ layer.qkv, 3, axis=1)
        keys, values = (ash.concat(pair) for pair in zip(cached, new, strict=True))
        x = x + attend(q, keys, values, weights.heads) @ layer.out
        x = x + ash.gelu(ash.layer_norm(x) @ layer.up) @ layer.down
        longer += [keys, values]
    return ash.layer_norm(x) @ weights.head, tuple(longer)


def attend(q: Any, k: Any, v: Any, heads: int) -> Any:
    """Each of the last tokens attends to all before it and to itself."""
    q, k, v = (t.reshape(1, t.shape[0], heads, -1).swapaxes(1, 2) for t in (q, k, v))
    mixed = ash.attention(q, k, v, causal="bottom_right")
    return mixed.swapaxes(1, 2).reshape(q.shape[2], -1)


def best(logits: Any) -> Any:
    return ash.argmax(logits, axis=-1)


# --- two ways to write ----------------------------------------------------------------------------


def greedy(model: Model) -> Any:
    """`write(prompt, length)`: one token after the other."""
    weights = model.weights()

    @ash.jit(axes=[ash.Axis("prompt", min=1)])
    def write(prompt: ash.i64["prompt"], length: ash.i64[()]):
        def more(text: Any, caches: Any) -> Any:
            return text.shape[0] < length

        def longer(text: Any, caches: Any) -> Any:
            new = text[caches[0].shape[0] :]
            logits, caches = logits_of(weights, new, caches)
            return ash.concat([text, best(logits[-1:])]), caches

        text, _ = ash.while_loop(more, longer, prompt, model.empty())
        return text

    return write


def speculative(draft: Model, target: Model, most: int, sure: float) -> Any:
    """`write(prompt, length)`: the draft guesses at most so many tokens, as long as it is sure;
    also gives how many rounds there were, and how many tokens were guessed."""
    small, large = draft.weights(), target.weights()

    def guessed(text: Any, caches: Caches) -> tuple[Any, Caches]:
        """The text with guesses behind it, and the draft's caches."""
        start = text.shape[0]

        def more(text: Any, likely: Any, caches: Any) -> Any:
            return ash.logical_and(ash.asarray(text.shape[0] - start) < most, likely >= sure)

        def longer(text: Any, likely: Any, caches: Any) -> Any:
            logits, caches = logits_of(small, text[caches[0].shape[0] :], caches)
            last = ash.softmax(logits[-1:])
            return ash.concat([text, best(last)]), last.max(), caches

        text, _, caches = ash.while_loop(more, longer, text, ash.asarray(np.float32(1)), caches)
        return text, caches

    @ash.jit(axes=[ash.Axis("prompt", min=1)])
    def write(prompt: ash.i64["prompt"], length: ash.i64[()]):
        def more(text: Any, rounds: Any, guesses: Any, drafts: Any, caches: Any) -> Any:
            return text.shape[0] < length

        def longer(text: Any, rounds: Any, guesses: Any, drafts: Any, caches: Any) -> Any:
            known = text.shape[0]
            longer, drafts = guessed(text, drafts)
            count = longer.shape[0] - known
            logits, caches = logits_of(large, longer[caches[0].shape[0] :], caches)
            wanted = best(logits[logits.shape[0] - count - 1 :])  # one more than were guessed
            right = ash.cumprod((longer[known:] == wanted[:count]).astype(ash.i64)).sum()
            kept = (known + right).item()
            text = ash.concat([longer[:kept], wanted[right.item() :][:1]])
            drafts, caches = (tuple(c[:kept] for c in each) for each in (drafts, caches))
            return text, rounds + 1, guesses + count, drafts, caches

        zero = ash.asarray(0)
        initial = prompt, zero, zero, draft.empty(), target.empty()
        text, rounds, guesses, *_ = ash.while_loop(more, longer, *initial)
        return text[: length.item()], rounds, guesses

    return write


# --- all of it ------------------------------------------------------------------------------------

TARGET = Model(layers=6, width=192, noise=1.6)
DRAFT = Model(layers=1, width=64, noise=0.2)


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    alone = ash.compile(greedy(TARGET), strict=True)
    together = ash.compile(speculative(DRAFT, TARGET, most=5, sure=0.05), strict=True)
    titles = f"{'prompt':<8}{'text':<7}{'calls':<8}{'guessed':<10}{'right':<8}{'alone':<12}"
    print(f"{titles}with a draft")
    for size, length in ((1, 40), (7, 131), (50, 200)):
        prompt = np.random.default_rng(size).integers(0, TARGET.words, size)
        given = prompt, np.array(length)
        (expected,), (text, rounds, guesses) = alone(*given), together(*given)
        np.testing.assert_array_equal(text, expected)
        new = length - size
        right = (new - int(rounds)) / max(int(guesses), 1)
        times = [1e3 * seconds(partial(each, *given)) for each in (alone, together)]
        print(
            f"{size:<8}{length:<7}{int(rounds):<8}{int(guesses):<10}{f'{right:.0%}':<8}"
            f"{f'{times[0]:.1f} ms':<12}{times[1]:.1f} ms, the same text"
        )


if __name__ == "__main__":
    main()
