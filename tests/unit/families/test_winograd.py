"""Convolutions with fewer multiplications: right at every size, for every number, and how exact."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.unit.codegen.emit.harness import TARGETS
from tests.unit.codegen.matrix import computed, lowered
from tests.unit.families.winograd_models import CONSTANTS, Pads, expected, model, operands

import anyshape as ash
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.execute import compile_graph
from anyshape.loop import Kernel, Multiply
from anyshape.loop.ir import Ahead
from anyshape.loop.parser import parse_kernel
from anyshape.loop.verify import verify_kernel
from anyshape.lower.packing import pack
from anyshape.lower.winograd import weights_at_points
from anyshape.sym import Dim

SAME: Pads = ((1, 1), (1, 1))
PADS: tuple[Pads, ...] = (SAME, ((0, 0), (0, 0)), ((2, 2), (2, 2)), ((0, 2), (1, 0)))
SIZES = ((0, 5, 5), (1, 1, 1), (1, 2, 3), (2, 3, 5), (1, 5, 4), (3, 7, 13), (1, 19, 6))
LARGE = ((1, 35, 53), (9, 14, 14))
"""Beyond a group of tiles, and beyond a block of them, of one image and of several."""

PLACES = ((0, 0, 0), (0, 4, 4), (1, 7, 3), (1, 10, 8))

every_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
every_tile = pytest.mark.parametrize("tile", [2, 4])


def binding(size: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip("zhw", size, strict=True))


def fits(size: tuple[int, int, int], pads: Pads) -> bool:
    return all(n + sum(pad) > 2 for n, pad in zip(size[1:], pads, strict=True))


def found(tile: int, arrays: Any, size: tuple[int, int, int], pads: Pads, **how: Any) -> Any:
    channels = arrays[1].shape[-2:]
    given = {"constants": CONSTANTS, "few_rows": True, **how}
    return computed(model(tile, *channels, pads), arrays, binding(size), **given)


@every_target
@every_tile
@pytest.mark.parametrize("pads", PADS, ids=str)
def test_values(target: LlvmTarget, tile: int, pads: Pads) -> None:
    for size in filter(lambda size: fits(size, pads), (*SIZES, *LARGE)):
        arrays = operands(tile, 33, 37, size, pads)
        for at_end in (True, False):
            result = found(tile, arrays, size, pads, target=target, at_end=at_end)
            np.testing.assert_allclose(result, expected(arrays, pads), rtol=0, atol=3e-5)


@every_tile
def test_the_definition_agrees(tile: int) -> None:
    for size in ((0, 5, 5), (1, 1, 1), (2, 3, 5)):
        arrays = operands(tile, 3, 5, size, SAME)
        result = found(tile, arrays, size, SAME, interpret=True)
        np.testing.assert_allclose(result, expected(arrays, SAME), rtol=0, atol=3e-5)


@every_target
@every_tile
@pytest.mark.parametrize("channels", [(2, 1), (32, 64), (65, 33), (100, 48)])
def test_all_accesses_are_proved(target: LlvmTarget, tile: int, channels: tuple[int, int]) -> None:
    for pads in PADS:
        kernel = lowered(model(tile, *channels, pads), CONSTANTS, target).others[0].kernel
        assert verify_kernel(kernel) == []
        assert parse_kernel(kernel.as_text()).as_text() == kernel.as_text()


# --- numbers that are not finite ------------------------------------------------------------------

NUMBERS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
LARGE_NUMBERS = {"large": 3e38, "-large": -3e38}
"""A sum of two such is infinite, in transforms, where sums over taps are not."""


@every_target
@every_tile
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_numbers_reach_their_neighbours_alone(target: LlvmTarget, tile: int, number: float) -> None:
    """They are where a sum over taps has them, and all other places are as exact as ever."""
    size = 2, 11, 9
    for place in PLACES:
        arrays = operands(tile, 33, 37, size, SAME)
        arrays[0][(*place, 5)] = number
        result = found(tile, arrays, size, SAME, target=target)
        np.testing.assert_allclose(result, expected(arrays, SAME), rtol=1e-5, atol=3e-5)


@every_target
@every_tile
@pytest.mark.parametrize("number", LARGE_NUMBERS.values(), ids=LARGE_NUMBERS)
def test_large_numbers_do_not_overflow(target: LlvmTarget, tile: int, number: float) -> None:
    """Errors are in proportion to the largest number that a tile meets."""
    size = 2, 11, 9
    for place in PLACES:
        arrays = operands(tile, 33, 37, size, SAME)
        arrays[0][(*place, 5)] = number
        arrays[1] /= 8
        arrays[2] /= 8
        exact = expected(arrays, SAME)
        assert np.abs(exact).max() < np.finfo(np.float32).max
        result = found(tile, arrays, size, SAME, target=target)
        np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-6 * float(np.abs(exact).max()))


@every_tile
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_weights_may_be_any_numbers(tile: int, number: float) -> None:
    size = 1, 6, 7
    arrays = operands(tile, 33, 37, size, SAME)
    arrays[1][0, 1, 2, 3, 4] = number
    arrays[2] = weights_at_points(arrays[1], tile)
    result = found(tile, arrays, size, SAME)
    np.testing.assert_allclose(result, expected(arrays, SAME), rtol=1e-5, atol=3e-5)


@every_tile
def test_zero_weights_make_nan_of_infinities(tile: int) -> None:
    """As they do in a sum over taps."""
    size = 1, 6, 6
    arrays = operands(tile, 33, 37, size, SAME)
    arrays[0][0, 2, 2, 0] = np.inf
    arrays[1][:], arrays[2][:] = 0, 0
    result = found(tile, arrays, size, SAME)
    is_near = np.zeros((6, 6), bool)
    is_near[1:4, 1:4] = True
    assert (np.isnan(result[0]).all(-1) == is_near).all()
    assert (np.isfinite(result[0]).all(-1) == ~is_near).all()


# --- errors ---------------------------------------------------------------------------------------

BOUND = 4
"""Times the error of the direct form."""


@every_tile
@pytest.mark.parametrize("activated", [False, True])
@pytest.mark.parametrize("channels", [32, 64, 128, 256, 512])
def test_errors_stay_within_four_times_the_direct_form(
    tile: int, channels: int, activated: bool
) -> None:
    """The largest one, and on average."""
    size, squares, largest = (2, 24, 24), [], []
    for seed in range(2):
        arrays = operands(tile, channels, 64, size, SAME, seed)
        if activated:
            arrays[0] = np.maximum(arrays[0], 0)
        arrays[3][:] = arrays[4][:] = 0
        exact = expected(arrays, SAME)
        both = [found(tile, arrays, size, SAME, few_rows=few) - exact for few in (True, False)]
        squares.append([float((error**2).sum()) for error in both])
        largest.append([float(np.abs(error).max()) for error in both])
    squared, direct_squared = np.sum(squares, axis=0)
    most, direct_most = np.max(largest, axis=0)
    assert squared <= BOUND**2 * direct_squared
    assert most <= BOUND * direct_most
    assert direct_squared > 0


# --- what is fetched ahead ------------------------------------------------------------------------


def products_of(kernel: Kernel) -> list[Multiply]:
    """In all loops."""

    def inside(statements: Iterable[Any]) -> Iterator[Multiply]:
        for statement in statements:
            if isinstance(statement, Multiply):
                yield statement
            yield from inside(getattr(statement, "body", ()))

    return list(inside(kernel.body))


@every_target
@every_tile
@pytest.mark.parametrize("channels", [(33, 37), (140, 64)], ids=str)
def test_far_weights_of_the_next_point_are_fetched(
    target: LlvmTarget, tile: int, channels: tuple[int, int]
) -> None:
    """They are where this point's are, past all panels of the point; near ones are not fetched."""
    function = model(tile, *channels)
    far = lowered(function, CONSTANTS, target, far_weights=True)
    (product,) = products_of(far.others[0].kernel)
    assert product.ahead is not None
    of_a_point = pack(operands(tile, *channels, (1, 3, 3), SAME)[2][:1], far.packed[2]).size
    assert product.ahead == Ahead(Dim.of(of_a_point), Dim.of(0), Dim.of(1))
    assert verify_kernel(far.others[0].kernel) == []
    (near,) = products_of(lowered(function, CONSTANTS, target).others[0].kernel)
    assert near.ahead is None


@every_target
@every_tile
def test_values_of_far_weights(target: LlvmTarget, tile: int) -> None:
    """What would be fetched behind the last point is not there."""
    for size in ((1, 1, 1), (2, 3, 5), (1, 35, 53)):
        arrays = operands(tile, 33, 37, size, SAME)
        for at_end in (True, False):
            how = {"target": target, "at_end": at_end, "far_weights": True}
            result = found(tile, arrays, size, SAME, **how)
            np.testing.assert_allclose(result, expected(arrays, SAME), rtol=0, atol=3e-5)


# --- which form -----------------------------------------------------------------------------------


def test_level_2_takes_the_form_that_pays() -> None:
    """By the costs of any machine: large images in tiles, one place directly."""
    taps = operands(4, 64, 64, (1, 1, 1), SAME)[1]

    @ash.jit
    def function(x: ash.f32["n", "h", "w", 64]):
        return ash.relu(ash.conv(x, taps, padding=[(1, 1), (1, 1)]))

    options = ash.Options(calibrate=False)
    executable = compile_graph(function.graph, options, threads=1)
    taken = {(1, 56, 56): "winograd", (8, 14, 14): "winograd", (1, 1, 1): "direct"}
    for sizes, name in taken.items():
        binding = dict(zip("nhw", sizes, strict=True))
        (step,) = executable.specialize(**binding).cost().steps
        assert [variant.name for variant in step.variants] == ["direct", "winograd"]
        assert [variant.name for variant in step.variants if variant.chosen] == [name]
