"""Beam search with a beam that grows: as many hypotheses as are close enough to the best one.

Two sizes change from one iteration to the next: `beam`, which data decide, and `length`. Both are
sizes of what the loop carries, and the search is one native call. A language model of a few
hundred weights stands for the usual one; its state is reordered as the hypotheses are.
"""

from typing import Any

import numpy as np
from _show import heading

import anyshape as ash

LETTERS = "abcdefghijklmnopqrstuvwxyz "
WIDTH, MOST = 24, 12  # of a state; hypotheses

random = np.random.default_rng(3)


def array(*shape: int, scale: float = 1.0) -> Any:
    return (random.standard_normal(shape) * scale / np.sqrt(shape[0])).astype(np.float32)


EMBEDDING = array(len(LETTERS), WIDTH, scale=3.0)
RECURRENT, HEAD = array(WIDTH, WIDTH, scale=1.5), array(WIDTH, len(LETTERS), scale=3.0)


@ash.jit
def search(start: ash.i64[()], steps: ash.i64[()], margin: ash.f32[()]):
    """The texts that are within `margin` of the best one after so many letters, best first, how
    likely they are (as logarithms), and how many there were on the way."""

    def more(step: Any, *_: Any) -> Any:
        return step < steps

    def longer(step: Any, texts: Any, likely: Any, state: Any, widths: Any) -> Any:
        state = ash.tanh(ash.take(EMBEDDING, texts[:, -1], axis=0) + state @ RECURRENT)
        total = likely[:, None] + ash.log_softmax(state @ HEAD)  # [beam, letters]
        best, places = ash.topk(total.ravel(), MOST)
        close = best >= best[0] - margin  # the first of them, since they are sorted
        places, likely = places[close], best[close]
        parents, letters = places // len(LETTERS), places % len(LETTERS)
        texts = ash.concat([texts[parents], letters[:, None]], axis=1)
        widths = ash.concat([widths, ash.sum(close.astype(ash.i64)).reshape(1)])
        return step + 1, texts, likely, state[parents], widths

    first = start.reshape(1, 1)
    initial = ash.zeros(1), ash.zeros((1, WIDTH)), ash.zeros(0, ash.i64)
    _, texts, likely, _, widths = ash.while_loop(more, longer, steps * 0, first, *initial)
    return texts, likely, widths


def plain_search(start: int, steps: int, margin: float) -> Any:
    """The same with lists, one hypothesis at a time."""
    beam = [([start], 0.0, np.zeros(WIDTH))]
    widths: list[int] = []
    for _ in range(steps):
        longer: list[Any] = []
        for text, likely, before in beam:
            state = np.tanh(EMBEDDING[text[-1]] + before @ RECURRENT)
            scores = state @ HEAD
            scores = scores - np.log(np.exp(scores).sum())
            longer += [([*text, n], likely + scores[n], state) for n in range(len(LETTERS))]
        longer.sort(key=lambda each: -each[1])
        beam = [each for each in longer[:MOST] if each[1] >= longer[0][1] - margin]
        widths.append(len(beam))
    return [text for text, _, _ in beam], [likely for _, likely, _ in beam], widths


def main() -> None:
    compiled = ash.compile(search, strict=True)
    heading("The further hypotheses may be behind the best, the more there are")
    for margin in (0.0, 0.2, 0.8):
        given = LETTERS.index("s"), 16, margin
        texts, likely, widths = compiled(
            np.array(given[0]), np.array(given[1]), np.array(margin, np.float32)
        )
        expected = plain_search(*given)
        assert texts.tolist() == expected[0]
        assert widths.tolist() == expected[2]
        np.testing.assert_allclose(likely, expected[1], rtol=1e-4)
        print(f"margin {margin}: beams of {' '.join(map(str, widths))}; as in Python")
        for text, score in list(zip(texts, likely, strict=True))[:3]:
            print(f"  {score:8.3f}  {''.join(LETTERS[letter] for letter in text)}")


if __name__ == "__main__":
    main()
