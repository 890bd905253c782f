"""Memory of Executables: limits in the words of the model, reserve, trim, metrics as text."""

import pickle

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import (
    CapabilityError,
    DimError,
    MemoryLimitError,
    OptionError,
    OutOfMemoryError,
)
from anyshape.execute import ExecutorName
from anyshape.runtime.metrics import Metrics

WEIGHT = np.random.default_rng(0).standard_normal((16, 32)).astype(np.float32)


@ash.jit
def scores(x: ash.f32["batch", "seq", 16], y: ash.f32["seq", 32]):
    return ash.tanh(x @ WEIGHT).sum(axis=0) * y


@ash.jit
def positive(x: ash.f32["n"]):
    """Has a late axis: its second half is a segment of its own."""
    (found,) = ash.nonzero(x > 0)
    return ash.exp(x[found]).reshape(-1, 1) * np.ones(1024, np.float32)


def inputs(batch: int, seq: int) -> tuple[np.ndarray, np.ndarray]:
    return np.ones((batch, seq, 16), np.float32), np.ones((seq, 32), np.float32)


def needed(executable: ash.Executable, **axes: int) -> int:
    memory = executable.specialize(**axes).memory()
    return memory.arena + memory.outputs


# --- limits -------------------------------------------------------------------------------------


def test_the_whole_message():
    executable = ash.compile(scores, memory_limit=1000)
    memory = executable.specialize(batch=400, seq=20).memory()
    total, seq = memory.arena + memory.outputs, needed(executable, batch=400, seq=10)
    batch = needed(executable, batch=200, seq=20)
    with pytest.raises(MemoryLimitError) as caught:
        executable(*inputs(400, 20))
    lines = sorted([(seq, "seq", 10), (batch, "batch", 200)])
    assert str(caught.value) == (
        f"graph 'scores' at batch=400, seq=20 needs {total:,} bytes"
        f" (arena {memory.arena:,}, results {memory.outputs:,}), the limit is 1,000\n"
        f"  with {lines[0][1]}={lines[0][2]} it would need {lines[0][0]:,}\n"
        f"  with {lines[1][1]}={lines[1][2]} it would need {lines[1][0]:,}\n"
        f"fix: pass a smaller {lines[0][1]}, or raise memory_limit to {total}"
    )
    assert isinstance(caught.value, MemoryError)
    assert caught.value.binding == {"batch": 400, "seq": 20}
    assert caught.value.needed == total
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_axis_that_drives_it_comes_first():
    @ash.jit
    def mostly_seq(x: ash.f32["batch"], y: ash.f32["seq"]):
        return x + 1.0, ash.exp(y).reshape(-1, 1) * np.ones(100, np.float32)

    executable = ash.compile(mostly_seq, memory_limit=0)
    with pytest.raises(MemoryLimitError) as caught:
        executable(np.ones(10, np.float32), np.ones(10, np.float32))
    assert list(caught.value.halved) == ["seq", "batch"]


def test_axes_that_do_not_matter_are_not_named():
    executable = ash.compile(scores, memory_limit=0)
    with pytest.raises(MemoryLimitError) as caught:
        executable(*inputs(0, 1))
    assert "batch" not in caught.value.halved


@pytest.mark.parametrize("executor", ["native", "stepwise"])
def test_a_limit_of_one_call(executor: ExecutorName):
    executable = ash.compile(scores, executor=executor)
    given = inputs(9, 7)
    total = needed(executable, batch=9, seq=7)
    (expected,) = executable(*given)
    (result,) = executable.run(given, memory_limit=total)
    np.testing.assert_array_equal(result, expected)
    with pytest.raises(MemoryLimitError) as caught:
        executable.run(given, memory_limit=total - 1)
    assert caught.value.limit == total - 1
    limited = ash.compile(scores, executor=executor, memory_limit=total - 1)
    with pytest.raises(MemoryLimitError):
        limited(*given)
    (result,) = limited.run(given, memory_limit=total)  # what one call says counts
    np.testing.assert_array_equal(result, expected)


def test_a_later_segment_is_refused_too():
    executable = ash.compile(positive, memory_limit=100_000)
    few = np.concatenate([np.ones(3), -np.ones(500)]).astype(np.float32)
    assert executable(few)[0].shape == (3, 1024)
    with pytest.raises(MemoryLimitError):
        executable(-few)
    with pytest.raises(MemoryLimitError):
        ash.compile(positive).run((-few,), memory_limit=100_000)
    assert executable(few)[0].shape == (3, 1024)


def test_limits_that_cannot_be():
    with pytest.raises(OptionError, match="memory_limit='-1' is not a number of bytes"):
        ash.compile(scores, memory_limit=-1)
    with pytest.raises(OptionError, match="memory_limit"):
        ash.compile(scores).run(inputs(1, 1), memory_limit=-1)
    with pytest.raises(CapabilityError, match=r"support memory_limit=1 \(it plans no memory\)"):
        ash.compile(scores, executor="reference", memory_limit=1)
    with pytest.raises(CapabilityError, match="cannot keep a memory_limit"):
        ash.compile(scores, executor="reference").run(inputs(1, 1), memory_limit=1)


@pytest.mark.parametrize("batch", [2**31 - 1, 2**31, 2**40, 2**50, 2**55, 2**62, 2**63 - 1])
@pytest.mark.parametrize("seq", [1, 2**31])
def test_huge_bindings_never_wrap_around(batch: int, seq: int):
    """Either the numbers are those of Python's integers, or the binding is refused."""
    executable = ash.compile(scores, memory_limit=1 << 30)
    hidden_bytes = batch * seq * 32 * 4
    if hidden_bytes < 2**55:
        assert executable.specialize(batch=batch, seq=seq).memory().arena >= hidden_bytes
        with pytest.raises(MemoryLimitError):
            executable.reserve(batch=batch, seq=seq)
    else:
        with pytest.raises((DimError, MemoryLimitError)):
            executable.reserve(batch=batch, seq=seq)


# --- reserve and trim ---------------------------------------------------------------------------


def test_reserve_and_trim():
    executable = ash.compile(scores)
    executable.reserve(batch=64, seq=128)
    held = executable.memory()
    assert held.idle_arenas >= executable.specialize(batch=64, seq=128).memory().arena > 0
    executable(*inputs(64, 128))
    assert executable.memory().idle_arenas == held.idle_arenas
    executable.trim()
    assert executable.memory().idle_arenas == executable.memory().specializations == 0
    executable(*inputs(3, 5))
    with pytest.raises(OutOfMemoryError, match=r"fix: pass a smaller batch, or call trim\(\)"):
        executable.reserve(batch=2**40, seq=1)
    with pytest.raises(CapabilityError, match="plans no memory"):
        ash.compile(scores, executor="reference").reserve(batch=1, seq=1)


def test_trim_of_all_executors():
    given = np.array([1, -1, 2], np.float32)
    for executor in ("native", "stepwise", "reference"):
        executable = ash.compile(positive, executor=executor)
        expected = executable(given)
        executable.trim()
        assert executable.memory().idle_arenas == 0
        np.testing.assert_array_equal(executable(given)[0], expected[0])


@ash.jit
def around_a_branch(p: ash.bool[()], x: ash.f32["n", 64]):
    """Kernels before, in and after a host node; one branch needs an even n."""
    h = ash.tanh(x @ np.ones((64, 64), np.float32))
    pairs = ash.cond(
        p,
        lambda v: ash.exp(v.reshape(v.shape[0] // 2, 128)).reshape(v.shape[0], 64),
        lambda v: ash.softmax(v @ np.ones((64, 64), np.float32)) @ np.ones((64, 64), np.float32),
        h,
    )
    return ash.softmax(pairs @ np.ones((64, 64), np.float32)) @ np.ones((64, 64), np.float32)


def test_reserve_covers_segments_after_host_nodes_and_in_branches():
    executable = ash.compile(around_a_branch)
    segments = executable.executor.segments
    assert len(segments) == 4
    executable.reserve(n=333)  # odd: one branch cannot be taken
    assert sorted(segment.metrics().entries for segment in segments) == [0, 1, 1, 1]
    held = executable.memory().idle_arenas
    assert 333 * 64 * 4 <= held < 2 * 333 * 64 * 4  # of the branch and of what follows: in turns
    executable(np.array(False), np.ones((333, 64), np.float32))
    assert executable.memory().idle_arenas == held
    assert sorted(segment.metrics().misses for segment in segments) == [0, 1, 1, 1]
    executable.reserve(n=334)
    assert all(segment.metrics().entries for segment in segments)


def test_reserve_leaves_sizes_alone_that_are_not_known_yet():
    executable = ash.compile(positive)
    executable.reserve(n=100)
    entry, late = executable.executor.segments
    assert (entry.metrics().entries, late.metrics().entries) == (1, 0)


# --- metrics ------------------------------------------------------------------------------------


def test_prometheus():
    text = Metrics(1, 2, 3, 1_500_000_000, 5, 6, 7, 8, 9, 10).as_prometheus('a "model"\\')
    assert text.splitlines()[:3] == [
        "# HELP anyshape_runs_total Runs of the native program.",
        "# TYPE anyshape_runs_total counter",
        r'anyshape_runs_total{executable="a \"model\"\\"} 7',
    ]
    values = [line.split() for line in Metrics(*range(23)).as_prometheus().splitlines()]
    assert {words[0]: words[1] for words in values if words[0] != "#"} == {
        "anyshape_runs_total": "6",
        "anyshape_team_runs_total": "7",
        "anyshape_specialization_hits_total": "0",
        "anyshape_specialization_misses_total": "1",
        "anyshape_specialization_evictions_total": "2",
        "anyshape_specialization_seconds_total": "3e-09",
        "anyshape_specializations": "4",
        "anyshape_specialization_bytes": "5",
        "anyshape_idle_contexts": "8",
        "anyshape_idle_arena_bytes": "9",
        "anyshape_result_hits_total": "10",
        "anyshape_result_misses_total": "11",
        "anyshape_result_evictions_total": "12",
        "anyshape_results": "13",
        "anyshape_result_bytes": "14",
        "anyshape_valid_elements_total": "15",
        "anyshape_padded_elements_total": "16",
        "anyshape_hot_runs_total": "17",
        "anyshape_hot_bindings": "18",
        "anyshape_hot_bytes": "19",
        "anyshape_hot_made_total": "20",
        "anyshape_hot_failures_total": "21",
        "anyshape_hot_evictions_total": "22",
    }
    kinds = {words[2]: words[3] for words in values if words[:2] == ["#", "TYPE"]}
    assert all(name.endswith("_total") == (kind == "counter") for name, kind in kinds.items())
    assert "seconds_total" in text
    assert "1.5" in text
