"""Results that go past the caches: when, and with the same values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.codegen.emit import examples
from tests.unit.codegen.emit.harness import compiled, same_bits, values

from anyshape.codegen.llvm.emit import emit_kernel
from anyshape.codegen.llvm.target import NAMED_TARGETS
from anyshape.ir.types import f32
from anyshape.loop import Kernel
from anyshape.sym import Axis, Dim, Facts

AVX512 = NAMED_TARGETS["x86-64-avx512"]
NEON = NAMED_TARGETS["aarch64-neon"]
FENCE = 'call void @"llvm.x86.sse.sfence"'


def streaming(streams: str) -> Kernel:
    return replace(examples.five_ops_kernel(), streams=Dim.of(streams))


def test_only_results_too_large_for_the_caches() -> None:
    text = emit_kernel(streaming("n0*n1//1000"), AVX512)
    assert text.count("!nontemporal") == 4  # one for each part of a tile, in a loop of its own
    assert FENCE in text
    assert "nontemporal" not in emit_kernel(examples.five_ops_kernel(), AVX512)


def test_facts_may_say_that_they_never_are() -> None:
    facts = Facts((Axis("n0", max=10), Axis("n1", max=10)))
    text = emit_kernel(replace(streaming("n0*n1//1000"), facts=facts), AVX512)
    assert "nontemporal" not in text
    assert FENCE not in text


def test_fences_are_of_x86() -> None:
    text = emit_kernel(streaming("n0*n1//1000"), NEON)
    assert "!nontemporal" in text
    assert "sfence" not in text


@pytest.mark.parametrize("columns", [1, 16, 64, 100, 129])
@pytest.mark.parametrize("offset", [0, 1, 16])
def test_values(columns: int, offset: int) -> None:
    """The same as without, in rows that are aligned and in rows that are not."""
    rows = 3
    arrays = [values(f32, count) for count in (rows * columns, columns, rows)]
    room = np.zeros(rows * columns + 32, np.float32)
    start = (-room.ctypes.data // 4) % 16 + offset
    out = room[start : start + rows * columns]
    compiled(streaming("n0"))([*arrays, out], [rows, columns])
    expected = np.zeros_like(out)
    compiled(examples.five_ops_kernel())([*arrays, expected], [rows, columns])
    assert same_bits(out, expected)
    assert not room[:start].any()
    assert not room[start + rows * columns :].any()
