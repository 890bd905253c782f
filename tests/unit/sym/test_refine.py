"""Which symbols the facts settle, and what becomes of declarations and facts."""

import random
from itertools import pairwise

import pytest

from anyshape.sym import Axis, Dim, Fact, Facts, Symbol, parse_axis, parse_predicate
from anyshape.sym.narrowed import Line, narrowed
from anyshape.sym.refine import refined_facts


def facts_of(*statements: str) -> Facts:
    axes = tuple(parse_axis(text) for text in statements if ".." in text)
    predicates = (parse_predicate(text) for text in statements if ".." not in text)
    return Facts(axes, tuple(map(Fact, predicates)))


SETTLED = {
    "names of one size": (("a == b",), {"b": "a"}),
    "a multiple": (("c == 3*a",), {"c": "3*a"}),
    "the other way round": (("3*a == c",), {"c": "3*a"}),
    "an unnamed size": (("?0 == n + 1",), {"?0": "n + 1"}),
    "a product": (("total == b*s",), {"total": "b*s"}),
    "a number": (("2*a == 20",), {"a": "10"}),
    "one size declared": (("n: 5..5",), {"n": "5"}),
    "one size left": (("n: 0..9", "n >= 9"), {"n": "9"}),
    "one multiple left": (("n: 5..9 multiple_of 8", "n != 5"), {"n": "8"}),
    "both ends meet": (("a <= b", "b <= a"), {"b": "a"}),
    "ends that meet by one": (("a < b", "b <= a + 1"), {"b": "a + 1"}),
    "1 is excluded": (("a: 2..", "broadcastable(a, 10)"), {"a": "10"}),
    "1 is excluded by facts": (("a >= b", "b >= 2", "broadcastable(a, 10)"), {"a": "10"}),
    "a part that is not 1": (("a: 2..", "bcast(a, n) == n"), {"n": "a"}),
    "one settles another": (("a*b == 24", "a == 4"), {"a": "4", "b": "6"}),
    "a shared factor": (("a: 1..", "a*b == a*c"), {"c": "b"}),
    "a shared factor by facts": (("n >= m", "m >= 1", "8*n == k*n"), {"k": "8"}),
    "a shared number": (("2*a == 2*b",), {"b": "a"}),
    "across facts": (("a == b", "b == c", "c == 7"), {"a": "7", "b": "7", "c": "7"}),
    "through a multiple": (("c == 3*a", "a == b", "b == 2"), {"a": "2", "b": "2", "c": "6"}),
}


@pytest.mark.parametrize(("statements", "sizes"), SETTLED.values(), ids=SETTLED.keys())
def test_settled(statements: tuple[str, ...], sizes: dict[str, str]) -> None:
    found = refined_facts(facts_of(*statements))
    assert found.sizes == {Symbol(name): Dim.of(size) for name, size in sizes.items()}
    left = {symbol for fact in found.facts.facts for symbol in fact.predicate.symbols}
    assert not left & found.sizes.keys()


OPEN = {
    "1 is possible": ("broadcastable(a, 10)",),
    "a product": ("a*b == 24",),
    "a shared factor that may be 0": ("a*b == a*c",),
    "an inequality": ("a <= b",),
    "what no size solves": ("2*a == 5",),
    "a range with a gap": ("c: 1..1 | 8..64", "c == a + b"),
    "ranges without a common size": ("a: 1..4", "b: 5..9", "a == b"),
    "a size that the range excludes": ("a: 1..4", "a == 7"),
    "a name for what has none": ("n == 2*?0",),
}


@pytest.mark.parametrize("statements", OPEN.values(), ids=OPEN.keys())
def test_open(statements: tuple[str, ...]) -> None:
    facts = facts_of(*statements)
    found = refined_facts(facts)
    assert not found.refinements
    assert found.facts == facts


def test_sizes_that_the_graph_computes_stay() -> None:
    facts = facts_of("late == n", "m == late + 1")
    assert not refined_facts(facts, {Symbol("late")}).refinements


def test_the_reason_is_the_fact_with_its_source() -> None:
    (step,) = refined_facts(facts_of("a == b")).refinements
    assert str(step) == "b is a: a == b (user)"
    (step,) = refined_facts(facts_of("n: 5..5")).refinements
    assert str(step) == "n is 5: axis n: 5..5"
    (step,) = refined_facts(facts_of("a: 2..", "broadcastable(a, 10)")).refinements
    assert str(step) == "a is 10: broadcastable(a, 10) and neither is 1 (user)"


def test_declarations_go_over_to_what_an_axis_is_made_of() -> None:
    found = refined_facts(facts_of("a: 1..64", "b: 4..100 multiple_of 8 likely [16, 80]", "a == b"))
    assert found.facts == facts_of("a: 4..64 multiple_of 8 likely [16]")
    found = refined_facts(facts_of("c: 8..64 multiple_of 8", "c == 2*t"))
    assert found.facts == facts_of("t: 4..32 multiple_of 4")


def test_of_two_names_for_one_size_either_may_broadcast() -> None:
    found = refined_facts(facts_of("a: 0.. no_broadcast", "b: 0..", "a == b"))
    assert found.facts == facts_of("a: 0..")
    found = refined_facts(facts_of("a: 0..", "b: 0.. no_broadcast", "a == b"))
    assert found.facts == facts_of("a: 0..")
    found = refined_facts(facts_of("a: 0.. no_broadcast", "c: 0..", "c == 2*a"))
    assert found.facts == facts_of("a: 0.. no_broadcast")


def test_what_no_axis_can_say_stays_a_fact() -> None:
    found = refined_facts(facts_of("c: 3..64 multiple_of 4", "c == a + b"))
    assert [str(f) for f in found.facts.facts] == ["3 <= a + b", "a + b <= 64", "(a + b) % 4 == 0"]
    found = refined_facts(facts_of("out == seq - pad"))
    assert [str(f) for f in found.facts.facts] == ["0 <= seq - pad"]
    found = refined_facts(facts_of("out == seq - 2"))
    assert found.facts == facts_of("seq: 2..")


def test_long_chains_take_as_many_steps_as_they_have_facts() -> None:
    names = [f"n{number:04}" for number in range(600)]
    chain = [f"{one} == {two}" for one, two in pairwise(names)]
    for facts in (facts_of(*chain), facts_of(*reversed(chain))):
        found = refined_facts(facts)
        assert set(found.sizes.values()) == {Dim.of("n0000")}
        assert len(found.sizes) == 599


def test_narrowed_ranges_against_every_size() -> None:
    rng = random.Random(3)
    for _ in range(400):
        line = Line(Symbol("t"), rng.choice((-3, -1, 1, 2, 4)), rng.randint(-4, 12))
        axis, other = _axis(rng, "t"), _axis(rng, "s")
        found = narrowed(axis, other, line)
        legal = {
            size
            for size in range(60)
            if axis.contains(size) and _is_legal(other, line.slope * size + line.offset)
        }
        through_zero = not line.offset
        allowed = {size for size in range(60) if found is not None and found.contains(size)}
        assert allowed >= legal
        if through_zero or other.multiple_of == 1:
            assert allowed == legal


def _axis(rng: random.Random, name: str) -> Axis:
    lo = rng.randint(0, 6)
    ranges = [(lo, lo + rng.randint(0, 9)), (30, rng.choice((40, None)))]
    return Axis(name, ranges=ranges[: rng.randint(1, 2)])


def _is_legal(axis: Axis, size: int) -> bool:
    return size >= 0 and axis.contains(size)
