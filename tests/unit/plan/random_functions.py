"""Random functions of rows: values that are used much later, wide ones between, results in place,
several results; with or without ops that rows meet in."""

import random
from typing import Any

import numpy as np

import anyshape as ash

WIDTH = 32

Values = list[Any]


def random_function(seed: int, *, rows_meet: bool) -> Any:
    """A function of one argument, f32[n, 32]."""
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    steps = [_step(rng, numbers, rows_meet) for _ in range(rng.randint(6, 16))]
    extra = rng.random() < 0.3

    def rows(x: ash.f32["n", WIDTH]) -> Any:
        values: Values = [x]
        for step in steps:
            values.append(step(values))
        return (values[-1], values[-2]) if extra else values[-1]

    return ash.jit(rows)


def _step(rng: random.Random, numbers: np.random.Generator, rows_meet: bool) -> Any:
    far, near = rng.randint(1, 12), rng.randint(1, 2)

    def old(values: Values) -> Any:
        return values[-min(far, len(values))]

    def new(values: Values) -> Any:
        return values[-min(near, len(values))]

    square = _weights(numbers, WIDTH, WIDTH)
    wide, narrow = _weights(numbers, WIDTH, 4 * WIDTH), _weights(numbers, 4 * WIDTH, WIDTH)
    kinds = {
        "dot": lambda v: new(v) @ square,
        "bottleneck": lambda v: ash.tanh(new(v) @ wide) @ narrow,
        "late": lambda v: new(v) + old(v),
        "late product": lambda v: (new(v) @ square) * old(v),
        "tanh": lambda v: ash.tanh(new(v)),
        "softmax": lambda v: ash.softmax(new(v) @ square, axis=1),
        "halves": lambda v: ash.concat([old(v)[:, : WIDTH // 2], new(v)[:, WIDTH // 2 :]], axis=1),
    }
    if rows_meet:
        kinds["meet"] = lambda v: ash.softmax(new(v) @ square, axis=0)
        kinds["turn"] = lambda v: (new(v).T @ old(v)).sum(axis=0) + new(v)
    return kinds[rng.choice(list(kinds))]


def _weights(numbers: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    return (numbers.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32)
