"""Calls that end in the middle of loops leave everything usable: the short form of a soak."""

from benchmarks.soaks.faults import FAULTS, call_with_faults


def test_calls_that_end_in_the_middle() -> None:
    tally = call_with_faults(1_500)
    assert tally.wrong == 0
    assert tally.right > 100
    assert set(tally.raised) == {error.__name__ for error in FAULTS}, "each fault was met"
    assert tally.kept == 0, "results of calls that ended are given back"
