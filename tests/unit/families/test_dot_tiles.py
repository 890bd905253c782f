"""Products of some depth: how tiles share rows, and which panels are fetched before their turn."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.unit.codegen.emit.harness import TARGETS
from tests.unit.codegen.matrix import arrays_of, assert_product, computed, lowered

import anyshape as ash
from anyshape.codegen.llvm.emit import emit_kernel
from anyshape.codegen.llvm.native import native_target
from anyshape.codegen.llvm.target import NAMED_TARGETS, LlvmTarget
from anyshape.codegen.target import Host
from anyshape.families.dot.plan import READ_ON
from anyshape.families.dot.tiles import EVEN_FROM, FIRST_ROW, ROWS, Tiles
from anyshape.families.lower_graph import lower_graph
from anyshape.ir.types import f32
from anyshape.loop import Bind, For, Multiply, Number
from anyshape.loop.parser import parse_kernel
from anyshape.loop.printer import kernel_text
from anyshape.loop.verify import verify_kernel
from anyshape.lower.tiling import Caches
from anyshape.passes import PASSES, run_passes
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
    ("target", "depth", "least"),
    [
        (AVX2, 2048, 2),
        (SSE2, 2048, 2),
        (AVX512, 1024, 2),
        (AVX512, 1536, 3),  # two tiles would have no time for so much
        (AVX512, 2048, 0),  # two panels are too much for the second level
        (AVX2, 8192, 0),
    ],
    ids=["avx2", "sse2", "avx512", "long panels", "too long", "too long for avx2"],
)
def test_panels_of_far_weights_are_fetched_ahead(
    target: LlvmTarget, depth: int, least: int
) -> None:
    """By as many tiles or more; fewer fetch what they read themselves, a little later."""
    kernel = lowered(product_of(depth, 512), PACKED, target, far_weights=True).kernel
    text = kernel_text(kernel)
    assert kernel_text(parse_kernel(text)) == text
    assert "@llvm.prefetch.p0" in emit_kernel(kernel, target).replace('"', "")
    (tiles_loop,) = [loop for loop in kernel.body if isinstance(loop, For)]
    (ahead,) = [each.ahead for each in tiles_loop.body if isinstance(each, Multiply)]
    assert ahead is not None
    for tiles in range(1, 6):
        rows = {Symbol("h"): tiles * target.tiling.rows, Symbol("r"): tiles - 1}
        distance, part, parts = (dim.evaluate(rows) for dim in ahead.dims)
        if least and tiles >= least:
            assert (distance, part, parts) == (depth * target.tiling.columns(f32), tiles - 1, tiles)
        else:
            assert (distance, part, parts) == (READ_ON // 4, 0, 1)


@pytest.mark.parametrize("late", [1, 3])
def test_small_tiles_leave_it_to_the_cpu_where_memory_is_near(late: int) -> None:
    usual = kernel_text(lowered(product_of(1024, 512), PACKED, AVX512, far_weights=True).kernel)
    assert " from 3" in usual
    kernel = parse_kernel(usual.replace(" from 3", f" from {late}"))
    text = emit_kernel(kernel, AVX512).replace('"', "")
    assert [rows for rows in range(1, 7) if _fetches(text, rows)] == [*range(late, 7)]


def _fetches(text: str, rows: int) -> bool:
    """Whether the micro-kernel of so many rows and four vectors asks for lines of memory."""
    whole = rf"^define [^\n]*@tile_{rows}x64of\w+\(.*?^}}"
    (body,) = re.findall(whole, text, re.DOTALL | re.MULTILINE)
    return "llvm.prefetch" in body


def test_nothing_is_fetched_ahead_that_is_near_or_not_constant() -> None:
    near = lowered(product_of(1024, 512), PACKED, AVX512).kernel
    given = lowered(product_of(1024, 512), target=AVX512, far_weights=True).kernel
    assert not any("ahead" in kernel_text(kernel) for kernel in (near, given))


def two_products(width: int) -> Any:
    """Of weights that take 8 KiB for each element of the width, and a table that is none."""
    first, second = np.ones((1024, width), np.float32), np.ones((width, 1024), np.float32)

    @ash.jit
    def function(x: ash.f32["m", 1024], table: ash.f32[1024, 2048]):
        return ash.relu(x @ first) @ second, ash.gelu(table)

    return function


@pytest.mark.parametrize(("width", "is_far"), [(512, True), (511, False)])
def test_weights_are_far_if_those_of_all_products_are_many(width: int, is_far: bool) -> None:
    graph = run_passes(two_products(width).graph, PASSES).graph
    kernels = lower_graph(graph, AVX512.tiling).kernels.values()
    texts = [kernel_text(each.lowered.kernel) for each in kernels]
    assert [("@" in text, "ahead" in text) for text in texts if "@" in text] == [(True, is_far)] * 2


@pytest.mark.parametrize(("beyond", "least"), [(4 << 20, 3), (5 << 20, 9)])
def test_more_rows_leave_it_to_the_cpu_where_all_weights_are_near(beyond: int, least: int) -> None:
    """Of 4 MiB of weights: whether they come from memory is a matter of their number."""
    graph = run_passes(two_products(512).graph, PASSES).graph
    caches = replace(AVX512.tiling.caches, beyond=beyond)
    kernels = lower_graph(graph, replace(AVX512.tiling, caches=caches)).kernels.values()
    texts = [kernel_text(each.lowered.kernel) for each in kernels]
    assert [f" from {least}" in text for text in texts if "ahead" in text] == [True, True]


def test_what_fits_is_a_matter_of_the_second_level() -> None:
    """Of this very CPU; code for any CPU that has an instruction set is the same everywhere."""
    host = Host("avx512", "some CPU", second_level=2 << 20)
    own, lesser = (native_target(host, isa).tiling.caches for isa in ("", "avx2"))
    assert own == replace(Caches(), fetched=(512 << 10, 768 << 10), late=1, late_within=1)
    smaller = native_target(host._replace(second_level=1 << 20), "").tiling.caches
    assert smaller == Caches()
    assert lesser == Caches()
    assert native_target(host._replace(second_level=0), "").tiling.caches == Caches()
    larger = native_target(host._replace(second_level=16 << 20), "").tiling.caches
    assert larger.far == 32 << 20


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_nothing_behind_a_constant_is_touched(target: LlvmTarget) -> None:
    """Weights end where memory ends: a line that does not exist is not fetched, and no error."""
    function = product_of(1024, 513)
    for rows in (7, 13):
        x, w = arrays_of(function, {"m": rows})
        found = computed(
            function, (x, w), {"m": rows}, constants=PACKED, target=target, far_weights=True
        )
        assert_product(found, x, w)
        assert np.isfinite(found).all()
