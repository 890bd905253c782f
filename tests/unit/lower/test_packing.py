"""Constants in panels: what is packed can be had back."""

from __future__ import annotations

import numpy as np
import pytest

from anyshape.lower.packing import ALIGNMENT, Packing, pack, unpack

CASES = [
    ((5, 7), Packing((), (0,), (1,), 4)),
    ((7, 5), Packing((), (1,), (0,), 4)),
    ((3, 5, 8), Packing((0,), (1,), (2,), 8)),
    ((3, 9, 5), Packing((0,), (2,), (1,), 4)),
    ((2, 3, 4, 5), Packing((1,), (0, 3), (2,), 16)),
    ((4, 2, 3), Packing((), (1,), (2, 0), 16)),
    ((1, 1), Packing((), (0,), (1,), 16)),
    ((0, 6), Packing((), (0,), (1,), 4)),
    ((6, 0), Packing((), (0,), (1,), 4)),
    ((5, 14), Packing((), (0,), (1,), 8, 2)),
    ((16, 5), Packing((), (1,), (0,), 4, 2)),
    ((3, 2), Packing((), (0,), (1,), 16, 2)),
    ((0, 6), Packing((), (0,), (1,), 4, 2)),
]


@pytest.mark.parametrize(("shape", "packing"), CASES, ids=str)
def test_what_is_packed_can_be_had_back(shape: tuple[int, ...], packing: Packing) -> None:
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    packed = pack(array, packing)
    assert packed.shape == packing.shape(shape)
    assert not packed.size or packed.ctypes.data % ALIGNMENT == 0
    again = unpack(packed, packing, shape)
    assert again.flags.c_contiguous
    np.testing.assert_array_equal(again, array)


def test_a_panel_has_a_run_of_columns_of_each_part() -> None:
    array = np.arange(12, dtype=np.float32).reshape(1, 12)
    packed = pack(array, Packing((), (0,), (1,), 8, 2))
    assert packed.tolist() == [[[[0, 1, 2, 3, 6, 7, 8, 9]], [[4, 5, 0, 0, 10, 11, 0, 0]]]]
