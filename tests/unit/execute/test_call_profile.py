"""What calls have had: counted on request, bounded, and kept with a saved executable."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.errors.messages import message_of

import anyshape as ash
from anyshape.base.errors import OptionError
from anyshape.execute.call_profile import MOST, CallProfile, CallRecorder, SeenBinding


@ash.jit
def doubled(x: ash.f32["batch", "seq"]) -> Any:
    return x * 2


def call(executable: Any, batch: int, seq: int, times: int = 1) -> None:
    for _ in range(times):
        executable(np.ones((batch, seq), np.float32))


def counts(profile: CallProfile) -> list[tuple[dict[str, int], int]]:
    return [(dict(each.binding), each.calls) for each in profile.seen]


def test_nothing_is_counted_unless_asked_for() -> None:
    executable = ash.compile(doubled)
    call(executable, 2, 3)
    assert executable.profile() == CallProfile()


def test_calls_are_counted_and_timed_by_their_sizes() -> None:
    executable = ash.compile(doubled)
    executable.profile_calls()
    call(executable, 2, 3, times=2)
    call(executable, 1, 7, times=5)
    executable.run((np.ones((2, 3), np.float32),), deadline=60)
    executable.run((np.ones((0, 0), np.float32),), out=(np.ones((0, 0), np.float32),))
    profile = executable.profile()
    assert counts(profile) == [
        ({"batch": 1, "seq": 7}, 5),
        ({"batch": 2, "seq": 3}, 3),
        ({"batch": 0, "seq": 0}, 1),
    ]
    assert all(0 < each.seconds < 10 for each in profile.seen)
    assert (profile.calls, profile.sizes("batch")) == (9, {1: 5, 2: 3, 0: 1})
    executable.profile_calls(on=False)
    call(executable, 1, 7)
    assert executable.profile() == profile


def test_what_is_frequent_stays_and_the_rest_is_bounded() -> None:
    recorder = CallRecorder()
    rng = np.random.default_rng(0)
    for size in rng.integers(100, 5000, 3000):
        recorder.add([np.empty((1, int(size)))], 5)
        recorder.add([np.empty((1, 7))], 5)
    profile = recorder.profile(ash.compile(doubled).bindings)
    assert len(profile.seen) == MOST
    assert counts(profile)[0] == ({"batch": 1, "seq": 7}, 3000)
    assert profile.calls == 6000
    assert max(each.calls for each in profile.seen[1:]) <= 2 * 6000 / MOST


def test_a_profile_is_saved_with_the_executable_and_used_by_the_next_start(tmp_path: Path) -> None:
    executable = ash.compile(doubled)
    executable.profile_calls()
    call(executable, 2, 3, times=2)
    call(executable, 1, 7, times=5)
    executable.save(tmp_path / "doubled.ash")

    loaded = ash.load(tmp_path / "doubled.ash")
    assert loaded.profile() == executable.profile()
    assert loaded.metrics().misses == 2  # level 2 of both is there before the first call
    call(loaded, 2, 3)
    assert loaded.metrics().misses == 2

    loaded.profile_calls()
    call(loaded, 2, 3, times=9)
    assert counts(loaded.profile())[0] == ({"batch": 2, "seq": 3}, 11)
    assert loaded.strategies().calls == 16


def test_a_model_that_branches_counts_too() -> None:
    torch = pytest.importorskip("torch")

    class Branching(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2 if x.shape[0] > 4 else x + 1

    model = ash.compile(Branching(), (torch.ones(8),), axes={"x": ("n",)})
    model.profile_calls()
    for size in (2, 9, 9):
        model(torch.ones(size))
    assert counts(model.profile()) == [({"n": 9}, 2), ({"n": 2}, 1)]


def test_text() -> None:
    profile = CallProfile((SeenBinding({"seq": 3}, 2, 0.5),))
    assert CallProfile.from_json(profile.as_json()) == profile
    assert CallProfile.from_json("[]") == CallProfile()


@pytest.mark.parametrize("text", ["", "{}", '[[{"seq": -1}, 2, 0.5]]', '[[{"seq": 1}, 0, 0.5]]'])
def test_other_text_is_refused(text: str) -> None:
    message = message_of(OptionError, lambda: CallProfile.from_json(text))
    assert message.startswith(f"profile={text!r} is not rows of ")
