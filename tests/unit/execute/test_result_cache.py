"""Results that are kept from call to call: which calls are the same, who owns what, bounds."""

import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from tests.forks import in_child

import anyshape as ash
from anyshape.base.errors import (
    CancelledError,
    DTypeError,
    MemoryLimitError,
    OptionError,
    RankMismatchError,
    ResultCacheError,
)
from anyshape.execute import EXECUTORS
from anyshape.execute.result_cache import ResultCounters, digest_of
from anyshape.ir import parse

PLENTY = 1 << 20


@ash.jit
def model(x: ash.f32["n", "m"]):
    return ash.exp(x), x.sum(axis=1)


def compiled(**chosen: Any) -> ash.Executable:
    return ash.compile(model, **({"result_cache": PLENTY} | chosen))


def counted(executable: ash.Executable) -> tuple[int, int, int]:
    metrics = executable.metrics()
    return metrics.result_hits, metrics.result_misses, metrics.runs


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


# --- which calls are the same ---------------------------------------------------------------------


@pytest.mark.parametrize("executor", EXECUTORS)
def test_the_same_inputs_are_computed_once(executor: Any):
    executable = compiled(executor=executor)
    x = random(3, 5)
    first, again = executable(x), executable(x.copy())
    for one, other, plain in zip(first, again, ash.compile(model)(x), strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, plain, rtol=1e-6)
    assert counted(executable) == (1, 1, 1)


def test_graphs_with_host_nodes_remember_too():
    @ash.jit(result_cache=PLENTY)
    def positive(x: ash.f32["n"]):
        return x[ash.nonzero(x > 0)] * 2

    x = np.array([1, -1, 2], np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(positive(x), [2, 4])
    assert counted(positive.executable) == (1, 1, 1)


def test_layout_does_not_matter():
    executable = compiled()
    x = random(6, 8)
    wide = np.zeros((6, 16), np.float32)
    wide[:, ::2] = x
    backwards = x[::-1].copy()[::-1]
    for same in (x, np.asfortranarray(x), wide[:, ::2], backwards, torch.from_numpy(x)):
        found = executable(same)
        np.testing.assert_allclose(np.asarray(found[0]), np.exp(x), rtol=1e-6)
    assert counted(executable) == (4, 1, 1)
    transposed = executable(x.T)
    np.testing.assert_allclose(transposed[1], x.sum(axis=0), rtol=1e-5)
    assert counted(executable) == (4, 2, 2)


def test_shape_is_part_of_the_key():
    executable = compiled()
    for shape in ((0, 3), (3, 0), (0, 0), (2, 6), (6, 2), (1, 12), (12, 1)):
        exp, total = executable(np.ones(shape, np.float32))
        assert exp.shape == shape
        np.testing.assert_array_equal(total, np.full(shape[0], shape[1], np.float32))
    assert counted(executable) == (0, 7, 7)


def test_bits_decide_not_numbers():
    @ash.jit(result_cache=PLENTY)
    def bits(x: ash.f32["n"]):
        return 1.0 / x

    zero, minus = np.zeros(1, np.float32), -np.zeros(1, np.float32)
    assert (bits(zero), bits(minus)) == (np.inf, -np.inf)
    nans = np.array([0x7FC00000, 0x7FC00001, 0xFFC00000], np.uint32).view(np.float32)
    for _ in range(2):
        assert all(np.isnan(bits(nans[[number]])) for number in range(3))
    assert counted(bits.executable) == (3, 5, 5)


@pytest.mark.parametrize("dtype", [ash.f16, ash.bf16, ash.i8, ash.u64, ash.bool])
def test_other_element_types(dtype: Any):
    def same(x):
        return ash.flip(x, 0)

    same.__annotations__ = {"x": dtype["n"]}
    cached = ash.jit(result_cache=PLENTY)(same)
    x = np.array([1, 0, 1, 1], dtype.numpy)
    for _ in range(2):
        np.testing.assert_array_equal(cached(x), x[::-1])
    assert counted(cached.executable) == (1, 1, 1)


def test_inputs_cannot_run_into_each_other():
    """The same bytes in a row, divided differently."""
    long, short = np.ones(3, np.float32), np.ones(1, np.float32)
    digests = {
        digest_of(arrays)
        for arrays in ([long, short], [short, long], [np.ones(4, np.float32)],
                       [np.ones((2, 2), np.float32)], [np.ones(4, np.float32).view(np.int32)])
    }  # fmt: skip
    assert len(digests) == 5
    assert digest_of([np.ones(4, ml_dtypes.bfloat16)]) != digest_of([np.ones(4, np.float16)])


def test_weights_of_another_executable_are_another_matter():
    cache = ash.ResultCache(PLENTY)

    def times(number: float) -> Any:
        @ash.jit(result_cache=cache)
        def scaled(x: ash.f32["n"]):
            return x * np.float32(number)

        return scaled

    twice, thrice = times(2), times(3)
    x = np.ones(2, np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(twice(x), [2, 2])
        np.testing.assert_array_equal(thrice(x), [3, 3])
    assert counted(twice.executable) == counted(thrice.executable) == (1, 1, 1)
    assert (len(cache), cache.bytes) == (2, 16)


def test_static_values_are_another_matter_too():
    @ash.jit(result_cache=PLENTY)
    def scaled(x: ash.f32["n"], scale: int = 2):
        return x * scale

    x = np.ones(2, np.float32)
    assert [float(scaled(x, scale)[0]) for scale in (2, 3, 2, 3)] == [2, 3, 2, 3]


# --- who owns what --------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [np.asarray, torch.from_numpy])
def test_writing_to_results_or_inputs_changes_nothing_kept(given: Any):
    executable = compiled()
    x = random(4, 4)
    expected = np.exp(x)
    for _ in range(3):
        mine = given(x.copy())
        exp, total = executable(mine)
        np.testing.assert_allclose(np.asarray(exp), expected, rtol=1e-6)
        exp[...] = 7
        total[...] = 7
        mine[...] = 7
    assert counted(executable) == (2, 1, 1)


def test_results_in_the_memory_of_the_caller():
    executable = compiled()
    x = random(4, 3)
    for _ in range(2):
        exp = np.full((4, 3), 7, np.float32)
        found, total = executable.run((x,), out=(exp, None))
        assert found is exp
        np.testing.assert_allclose(exp, np.exp(x), rtol=1e-6)
        np.testing.assert_allclose(total, x.sum(axis=1), rtol=1e-5)
        exp[...] = 7
    assert counted(executable) == (1, 1, 1)


def test_torch_in_torch_out():
    executable = compiled()
    x = torch.ones(2, 3, dtype=torch.float32)
    for _ in range(2):
        assert all(isinstance(result, torch.Tensor) for result in executable(x))
    found = executable(x.numpy())
    assert all(isinstance(result, np.ndarray) for result in found)
    assert counted(executable) == (2, 1, 1)


own_warnings = pytest.mark.filterwarnings("ignore")  # torch warns of its own parts


@own_warnings
def test_a_module_of_torch():
    layer = torch.nn.Linear(4, 2)
    x = torch.ones(3, 4)
    compiled_layer = ash.compile(layer, (x,), axes={"input": ("batch", None)}, result_cache=PLENTY)
    for _ in range(2):
        torch.testing.assert_close(compiled_layer(x), layer(x).detach())
    assert counted(compiled_layer) == (1, 1, 1)


# --- what cannot be kept --------------------------------------------------------------------------

RANDOM = """
graph keys(t: token, x: f32[n]) -> (u32[2], token, f32[n]) {
  %0, %1 = entropy(t)
  return %0, %1, x
}
"""


@pytest.mark.parametrize("executor", EXECUTORS)
def test_effects_are_refused_by_name(executor: Any):
    with pytest.raises(ResultCacheError) as caught:
        ash.compile(parse(RANDOM), executor=executor, result_cache=0)
    assert str(caught.value) == (
        "results of graph 'keys' depend on more than its inputs: op 'entropy' (1)\n"
        "fix: leave out result_cache, or pass as inputs what they depend on"
    )


def test_randomness_from_a_key_is_kept():
    @ash.jit(result_cache=PLENTY)
    def noise(key: ash.u32[2]):
        return ash.random.uniform(key, (4,))

    key = np.array([1, 2], np.uint32)
    np.testing.assert_array_equal(noise(key), noise(key))
    assert counted(noise.executable) == (1, 1, 1)


@own_warnings
def test_state_is_refused_by_name():
    class Counting(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x + self.calls

    x = torch.ones(3)
    with pytest.raises(ResultCacheError, match=r"more than its inputs: buffer 'calls' \(1\)"):
        ash.compile(Counting(), (x,), axes={"x": ("n",)}, result_cache=PLENTY)


def test_what_fails_is_not_kept_and_says_why():
    executable = compiled()
    for _ in range(2):
        with pytest.raises(RankMismatchError):
            executable(np.ones(3, np.float32))
        with pytest.raises(DTypeError):
            executable(np.ones((3, 3)))
    assert executable.metrics().results == 0


def test_calls_may_still_be_ended_and_limited():
    executable = compiled()
    x = random(10, 10)
    executable(x)
    stop = ash.Cancellation()
    stop.cancel()
    with pytest.raises(CancelledError):
        executable.run((x,), cancellation=stop)
    (exp, _) = executable.run((x,), deadline=100, memory_limit=440)  # what the results take
    np.testing.assert_allclose(exp, np.exp(x), rtol=1e-6)
    with pytest.raises(MemoryLimitError):
        executable.run((x,), memory_limit=439)
    assert executable.metrics().runs == 1


# --- bounds ---------------------------------------------------------------------------------------


def results(size: int) -> tuple[np.ndarray, ...]:
    return (np.zeros(size, np.uint8),)


def test_the_least_recently_used_go_first():
    cache, counters = ash.ResultCache(100), ResultCounters()
    for name in (b"a", b"b", b"c"):
        cache.keep(counters, name, results(30))
    assert cache.find(counters, b"a") is not None
    cache.keep(counters, b"d", results(40))  # b and c would be 130 with it, b alone is enough
    kept = [name for name in (b"a", b"b", b"c", b"d") if cache.find(counters, name) is not None]
    assert kept == [b"a", b"c", b"d"]
    assert cache.bytes == counters.bytes == 100
    cache.keep(counters, b"e", results(100))
    assert (len(cache), counters.entries, counters.evictions) == (1, 1, 4)
    cache.keep(counters, b"f", results(101))  # more than there is room for
    assert cache.find(counters, b"f") is None
    assert cache.find(counters, b"e") is not None


def test_calls_are_counted_as_well_as_bytes():
    cache, counters = ash.ResultCache(1000, max_entries=2), ResultCounters()
    for name in (b"a", b"b", b"c"):
        cache.keep(counters, name, ())
    assert (len(cache), counters.evictions) == (2, 1)
    assert cache.find(counters, b"a") is None
    assert cache.find(counters, b"c") == ()
    nothing = ash.ResultCache(1000, max_entries=0)
    nothing.keep(counters, b"a", ())
    assert len(nothing) == 0


def test_a_call_kept_twice_counts_once():
    cache, counters = ash.ResultCache(100), ResultCounters()
    for _ in range(3):
        cache.keep(counters, b"a", results(10))
    assert (len(cache), cache.bytes, counters.bytes, counters.evictions) == (1, 10, 10, 0)


def test_trim_lets_go_of_its_own():
    cache = ash.ResultCache(PLENTY)
    one, other = compiled(result_cache=cache), compiled(result_cache=cache)
    x = random(2, 2)
    one(x), other(x)
    assert one.memory().results == one.metrics().result_bytes == 24
    one.trim()
    assert (one.memory().results, other.memory().results, len(cache)) == (0, 24, 1)
    one(x)
    assert counted(one) == (0, 2, 2)


@pytest.mark.parametrize("bad", [-1, -(10**12)])
def test_bounds_that_cannot_be(bad: int):
    with pytest.raises(OptionError, match="result_cache='-"):
        compiled(result_cache=bad)
    with pytest.raises(OptionError, match="max_bytes"):
        ash.ResultCache(bad)
    with pytest.raises(OptionError, match="max_entries"):
        ash.ResultCache(1, bad)


# --- threads and forks ----------------------------------------------------------------------------


def test_eight_threads_get_their_own_results():
    executable = compiled(result_cache=2000)  # some forty calls, out of sixty
    inputs = [random(1 + seed % 3, 4, seed=seed) for seed in range(60)]
    expected = [ash.compile(model)(x) for x in inputs]
    wrong: list[int] = []

    def work(seed: int) -> None:
        for number in np.random.default_rng(seed).integers(0, 60, 500):
            found = executable(inputs[number])
            same = zip(found, expected[number], strict=True)
            wrong.extend(number for one, other in same if not np.array_equal(one, other))
            found[0][...] = -1

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    metrics = executable.metrics()
    assert metrics.result_hits + metrics.result_misses == 4000
    assert metrics.runs == metrics.result_misses
    assert metrics.result_hits > 500
    assert metrics.result_evictions > 0
    assert metrics.result_bytes <= 2000


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # fork and threads: the point
def test_a_child_finds_no_lock_locked():
    executable = compiled()
    x = random(2, 2)
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            executable(x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(60):
            assert in_child(lambda: np.allclose(executable(x)[0], np.exp(x)))
    finally:
        over.set()
        for thread in threads:
            thread.join()
