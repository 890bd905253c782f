"""Products of some depth: how tiles share rows, and which panels are fetched before their turn."""

from typing import Any

import numpy as np
import pytest
from tests.unit.codegen.emit.harness import TARGETS
from tests.unit.codegen.matrix import arrays_of, assert_product, computed, lowered

import anyshape as ash
from anyshape.codegen.llvm.emit import emit_kernel
from anyshape.codegen.llvm.target import NAMED_TARGETS, LlvmTarget
from anyshape.families.dot.tiles import EVEN_FROM, FIRST_ROW, ROWS, Tiles
from anyshape.loop import Bind, For, Number
from anyshape.loop.parser import parse_kernel
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel
from anyshape.sym import Dim, Symbol

PACKED = frozenset({1})
AVX512, AVX2, SSE2 = (NAMED_TARGETS[f"x86-64-{isa}"] for isa in ("avx512", "avx2", "sse2"))
H = Symbol("h")


def bound(binds: list[Bind], symbols: dict[Symbol, int]) -> dict[Symbol, int]:
    """The symbols with those that statements define, by their definition."""
    for bind in binds:
        assert isinstance(bind.value, Number)
        value, most = bind.value.dim.evaluate(symbols), bind.extent.evaluate(symbols) - 1
        assert 0 <= value <= most  # nothing is brought into its range
        symbols = {**symbols, bind.symbol: value}
    return symbols


@pytest.mark.parametrize("most", [2, 6, 12])
def test_tiles_share_all_rows_evenly(most: int) -> None:
    tiles = Tiles(Dim.of(H), most, are_even=True)
    *before, loop = tiles.loop(())
    assert isinstance(loop, For)
    inside = [statement for statement in loop.body if isinstance(statement, Bind)]
    for height in range(1, 8 * most + 2):
        symbols = bound([b for b in before if isinstance(b, Bind)], {H: height})
        count = loop.extent.evaluate(symbols)
        places = [bound(inside, {**symbols, loop.index: r}) for r in range(count)]
        rows = [(place[FIRST_ROW], place[ROWS]) for place in places]
        covered = [first + i for first, size in rows for i in range(size)]
        assert covered == list(range(height))
        sizes = [size for _, size in rows]
        assert count == -(-height // most)
        assert max(sizes) <= most
        assert max(sizes) - min(sizes) <= 1


@ash.jit
def deep(x: ash.f32["m", EVEN_FROM], w: ash.f32[EVEN_FROM, 96]):
    return x @ w


@ash.jit
def shallow(x: ash.f32["m", EVEN_FROM - 1], w: ash.f32[EVEN_FROM - 1, 96]):
    return x @ w


@pytest.mark.parametrize("target", [AVX512, AVX2, SSE2], ids=lambda target: target.isa)
def test_deep_products_share_rows_evenly(target: LlvmTarget) -> None:
    """A shallow one would notice what finding the shares takes."""
    even, plain = (lowered(f, PACKED, target).kernel for f in (deep, shallow))
    assert "sums[:nr, " in kernel_text(even)
    assert "sums[:min(h - 6*r, 6), " in kernel_text(plain)
    assert verify_kernel(even) == []


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("constants", [PACKED, frozenset[int]()], ids=["packed", "in place"])
def test_values_at_all_numbers_of_rows(target: LlvmTarget, constants: frozenset[int]) -> None:
    for rows in (0, 1, 2, 5, 6, 7, 8, 13, 25, 96, 97, 103):
        x, w = arrays_of(deep, {"m": rows}, rows)
        found = computed(deep, (x, w), {"m": rows}, constants=constants, target=target)
        assert_product(found, x, w)


# --- what is fetched ahead ------------------------------------------------------------------------


def product_of(depth: int, columns: int) -> Any:
    @ash.jit
    def function(x: ash.f32["m", depth], w: ash.f32[depth, columns]):
        return x @ w

    return function


@pytest.mark.parametrize(
    ("target", "depth", "columns", "ahead"),
    [
        (AVX2, 2048, 512, 2048 * 16),
        (SSE2, 2048, 512, 2048 * 8),
        (AVX2, 1024, 1023, 0),  # it is almost all in the second level
        (AVX2, 4112, 512, 0),  # two panels are too much for it
        (AVX512, 1024, 1024, 1024 * 64),
        (AVX512, 2048, 512, 0),  # its panels are four times as wide
    ],
    ids=["avx2", "sse2", "small", "long panels", "avx512", "wide panels"],
)
def test_panels_of_large_constants_are_fetched_ahead(
    target: LlvmTarget, depth: int, columns: int, ahead: int
) -> None:
    kernel = lowered(product_of(depth, columns), PACKED, target).kernel
    text = kernel_text(kernel)
    assert ("ahead" in text) == (ahead > 0)
    parts = "part r of max((h + 5)//6, 1)"
    assert f" over {depth} ahead {ahead} {parts}\n" in text or not ahead
    assert kernel_text(parse_kernel(text)) == text
    assert ("@llvm.prefetch.p0" in emit_kernel(kernel, target).replace('"', "")) == (ahead > 0)


def test_nothing_is_fetched_ahead_of_what_is_not_constant() -> None:
    assert "ahead" not in kernel_text(lowered(product_of(2048, 512), target=AVX2).kernel)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_nothing_behind_a_constant_is_touched(target: LlvmTarget) -> None:
    """Weights end where memory ends: a line that does not exist is not fetched, and no error."""
    function = product_of(2048, 513)
    x, w = arrays_of(function, {"m": 7})
    found = computed(function, (x, w), {"m": 7}, constants=PACKED, target=target, at_end=True)
    assert_product(found, x, w)
    assert np.isfinite(found).all()
