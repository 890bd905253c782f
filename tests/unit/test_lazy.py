"""Attributes that are computed when they are first asked for."""

import threading

from tests.watchdog import HANGS_AFTER

from anyshape.base.lazy import lazy_property


class Circle:
    def __init__(self, radius: int) -> None:
        self.radius = radius
        self.computed = 0

    @lazy_property
    def diameter(self) -> int:
        """Twice the radius."""
        self.computed += 1
        return 2 * self.radius


def test_computed_once_for_each_object():
    small, large = Circle(1), Circle(10)
    assert [small.diameter, large.diameter, small.diameter] == [2, 20, 2]
    assert (small.computed, large.computed) == (1, 1)


def test_a_value_that_is_given_stands():
    circle = Circle(1)
    circle.diameter = 7
    assert (circle.diameter, circle.computed) == (7, 0)


def test_the_class_shows_what_it_is():
    assert Circle.diameter.__doc__ == "Twice the radius."


def test_nobody_waits_while_another_thread_computes():
    inside, over = threading.Event(), threading.Event()

    class Slow:
        @lazy_property
        def value(self) -> int:
            inside.set()
            return over.wait(HANGS_AFTER)

    thread = threading.Thread(target=lambda: Slow().value)
    thread.start()
    assert inside.wait(HANGS_AFTER)
    other = threading.Thread(target=lambda: Slow().value)
    inside.clear()
    other.start()
    try:
        assert inside.wait(HANGS_AFTER), "the second object waits for the first"
    finally:
        over.set()
        thread.join()
        other.join()
