"""The runtime's `chain`: which words its members are called with, tile by tile."""

import ctypes

import numpy as np

from anyshape.runtime.code import native_kernel

KERNEL = ctypes.CFUNCTYPE(
    None, ctypes.POINTER(ctypes.c_int64), ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
)
Call = tuple[str, tuple[int, ...], int, int, int]


def calls(rows: int, tile: int, first: int, last: int, worker: int) -> list[Call]:
    """What two members are called with: one has a buffer by rows, a ring, a workspace and a size,
    the other all of a buffer."""
    seen: list[Call] = []

    def member(name: str, words: int):
        def record(block: "ctypes._Pointer[ctypes.c_int64]", *numbers: int) -> None:
            seen.append((name, tuple(block[:words]), *numbers))

        return KERNEL(record)

    kernels = member("a", 4), member("b", 1)
    address = [ctypes.cast(kernel, ctypes.c_void_p).value or 0 for kernel in kernels]
    left = rows % tile or tile
    block = np.array(
        [
            *(2, rows, tile),
            *(address[0], 70, 7, 2, 1, 1),
            *(1000, 8, 0),
            *(5000, 0, 64),
            *(9000, 0, 16),
            *(tile, left),
            *(address[1], 1, 1, 1, 0, 0),
            *(300, 0, 0),
        ],
        np.int64,
    )
    chain = KERNEL(native_kernel("chain"))
    chain(block.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), first, last, worker)
    return seen


def test_members_take_turns_and_the_last_tile_is_shorter():
    assert calls(rows=25, tile=10, first=1, last=3, worker=2) == [
        ("a", (1080, 5128, 9000, 10), 0, 70, 2),
        ("b", (300,), 0, 1, 2),
        ("a", (1160, 5128, 9032, 5), 0, 7, 2),
        ("b", (300,), 0, 1, 2),
    ]


def test_tiles_may_all_be_whole():
    last = calls(rows=30, tile=10, first=2, last=3, worker=0)
    assert last[0] == ("a", (1160, 5000, 9000, 10), 0, 70, 0)


def test_no_tiles_are_no_calls():
    assert calls(rows=30, tile=10, first=1, last=1, worker=0) == []
