"""Questions take a bounded number of steps, whatever is asked and however much is known."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest

from anyshape.base.errors import DimTooLargeError
from anyshape.sym import Answer, Axis, Dim, LessEqual, Prover, Symbol, bcast, maximum, minimum
from anyshape.sym.decide import decider as decider_module
from anyshape.sym.decide import prover as prover_module
from anyshape.sym.decide.decider import Decider
from anyshape.sym.decide.effort import Effort, Exhausted
from anyshape.sym.decide.statements import NEAR
from anyshape.sym.predicate import Predicate
from anyshape.sym.text import parse_predicate

MOST_STEPS = (
    decider_module.CERTIFICATE_STEPS
    + 2 * decider_module.NORMALIZE_STEPS
    + 2 * decider_module.REFUTE_STEPS
)
ONE_MORE = 4_000
"""A step is noticed after it was made, and a question inside another has steps of its own."""


def prover_of(*facts: str) -> Prover:
    return Prover((), [parse_predicate(fact) for fact in facts])


def chain(length: int) -> Prover:
    names = [f"a{n}" for n in range(length)]
    facts = [LessEqual(Dim.of(a), Dim.of(b)) for a, b in pairwise(names)]
    return Prover([Axis(name, min=1) for name in names], facts)


# --- counting -------------------------------------------------------------------------------------


def test_an_attempt_that_uses_up_its_part_leaves_the_rest() -> None:
    effort, reached = Effort(100), False
    with effort.part(10) as part:
        part.spend(11)
        reached = True
    assert not reached
    assert (effort.used, effort.left) == (11, 89)


def test_what_is_used_up_for_the_whole_ends_the_part_too() -> None:
    effort = Effort(5)
    with pytest.raises(Exhausted), effort.part(10):
        effort.spend(6)


def hard_questions() -> list[Predicate]:
    """What concatenations and sums of many slices ask: none of it follows from the facts."""
    n, j = Dim.of("n"), Dim.of("j")
    parts = [(n - minimum(n, i) + 1) // 2 for i in range(24)]
    ends = [minimum(n, i + 1) - minimum(n, i) for i in range(24)]
    sums = [sum(parts[:i], Dim.of(0)) for i in (3, 8, 16, 23)]
    return [
        *(LessEqual(total, j) for total in sums),
        *(LessEqual(j, total) for total in sums),
        *(bcast(*ends[:i]).equals(bcast(*ends[1 : i + 1])) for i in (2, 5, 12, 23)),
        *(LessEqual(Dim.of(0), minimum(j, bcast(*ends[:i]) - 1)) for i in (2, 5, 12, 23)),
    ]


@pytest.mark.parametrize("number", range(len(hard_questions())))
def test_hard_questions_end(number: int) -> None:
    prover = prover_of("0 <= j", "j < 4096 + n")
    question = hard_questions()[number]
    prover.proves(question)
    steps = prover.decider(question.symbols).steps(question)
    assert 0 < steps <= MOST_STEPS + ONE_MORE


@pytest.mark.parametrize("budget", [0, 3, 300, 3000])
def test_without_steps_the_answer_is_unknown_or_right(
    budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CERTIFICATE_STEPS", "NORMALIZE_STEPS", "REFUTE_STEPS"):
        monkeypatch.setattr(decider_module, name, budget)
    prover = prover_of("0 <= t", "t < n", "0 <= i", "i < m")
    answer = prover.proves(parse_predicate("t*m + i < n*m"))
    assert answer is (Answer.UNKNOWN if budget < 300 else Answer.TRUE)


def test_a_repeated_question_costs_what_it_cost_first() -> None:
    prover = prover_of("0 <= t", "t < n", "0 <= i", "i < m")
    question = parse_predicate("t*m + i < n*m")
    decider = prover.decider(question.symbols)
    first, again = Effort(), Effort()
    assert decider.proves(question, first) is decider.proves(question, again) is Answer.TRUE
    assert first.used == again.used > 1


def test_answers_do_not_depend_on_the_order_of_questions() -> None:
    facts = ("1 <= a", "a <= b", "b % 4 == 0", "c == a + b", "b <= 512")
    texts = ("a <= c", "c % 2 == 0", "min(a, b) == a", "b//4 <= c", "a == 1", "a*b <= c*c", "c < b")
    questions = [*map(parse_predicate, texts), *hard_questions()[:6]]
    expected: dict[Predicate, tuple[Answer, int]] = {}
    for seed in range(4):
        prover = prover_of(*facts)
        Random(seed).shuffle(questions)
        for question in questions:
            answer = prover.proves(question)
            found = answer, prover.decider(question.symbols).steps(question)
            assert expected.setdefault(question, found) == found, question


# --- many facts -----------------------------------------------------------------------------------


def test_of_many_facts_a_question_sees_the_nearest() -> None:
    prover = chain(3000)
    near = prover.decider(Dim.of("a1500").symbols)
    assert len(near.axes) + len(near.facts) <= NEAR
    assert "a1500 <= a1501" in [str(fact) for fact in near.facts]
    assert prover.proves(parse_predicate("a1500 <= a1502")) is Answer.TRUE
    assert prover.proves(parse_predicate("a1502 < a1500")) is Answer.FALSE
    assert prover.proves(parse_predicate("a1 <= a2999")) is Answer.UNKNOWN


def test_a_symbol_with_thousands_of_facts_hides_no_other() -> None:
    facts = [parse_predicate(f"b{n} <= a") for n in range(3000)]
    prover = Prover((), [*facts, parse_predicate("b7 == 2*c")])
    assert prover.proves(parse_predicate("2*c <= a")) is Answer.TRUE
    assert prover.proves(parse_predicate("b2999 <= a")) is Answer.TRUE


def test_a_contradiction_among_many_facts_is_found() -> None:
    prover = chain(200)
    assert not prover.is_contradictory
    more = [parse_predicate("a101 <= 3"), parse_predicate("7 <= a100")]
    assert Prover((), more, prover).is_contradictory


@pytest.mark.parametrize("length", [3, 300])
def test_extensions_of_one_prover_do_not_see_each_other(length: int) -> None:
    start = chain(length)
    small, large = (start.extended((), [parse_predicate(f)]) for f in ("a1 <= 3", "7 <= a1"))
    again = small.extended((), [parse_predicate("a1 == 2")])
    asked = parse_predicate("a1 <= 3")
    assert [p.proves(asked) for p in (start, small, large, again)] == [
        Answer.UNKNOWN,
        Answer.TRUE,
        Answer.FALSE,
        Answer.TRUE,
    ]
    assert start.bounds(Dim.of("a1")) == (1, None)


def test_equal_contexts_share_a_prover() -> None:
    start = chain(4)
    more = [parse_predicate("a1 <= 3"), parse_predicate("a2 <= 5")]
    assert start.extended((), more) is start.extended((), more)
    assert start.extended((), more).extended((), more[1:]) is start.extended((), more)


# --- large dims -----------------------------------------------------------------------------------


def nested(levels: int) -> Dim:
    dim = Dim.of("a")
    for level in range(levels):
        dim = maximum(minimum(dim, Dim.of("b")) + 1, Dim.of("c") + level)
    return dim


def clamped(slices: int) -> Dim:
    size = Dim.of("n")
    for _ in range(slices):
        start = minimum(size, 1)
        size = maximum(0, size - 1, start) - start
    return size


def test_deep_dims_are_used_like_any_other() -> None:
    dim = nested(30)
    binding = {Symbol(name): size for name, size in (("a", 3), ("b", 5), ("c", 2))}
    prover = prover_of("1 <= a")
    assert prover.proves(dim >= 0) is Answer.TRUE
    assert prover.normalize(dim).evaluate(binding) == dim.evaluate(binding) == 31
    assert Dim.of(str(dim)) is dim


def test_dims_that_are_too_deep_are_refused() -> None:
    with pytest.raises(DimTooLargeError, match="is 65 deep, at most 64 deep") as error:
        nested(5000)
    assert error.value.message().splitlines()[-1].startswith("fix: declare least sizes")


def test_dims_with_too_many_parts_are_refused() -> None:
    """Slices that clamp each other, as `x[1:-1]` again and again of who knows what."""
    with pytest.raises(DimTooLargeError, match=r"has [0-9,]+ parts, at most"):
        clamped(40)


def test_what_cannot_be_written_down_refutes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`a - a//2*2` of a huge `a` has a value: that it is too long for us excludes no case."""
    prover = prover_of("d == a*b", "a == x + y")
    monkeypatch.setattr("anyshape.sym.dim.MAX_TERMS", 1)
    question = parse_predicate("d*d == 9")
    assert prover.proves(question) is Answer.UNKNOWN


def test_facts_that_differ_in_names_share_a_decider(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the ends of the chain differ from its middle."""
    made: list[Decider] = []

    class Counted(Decider):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(prover_module, "Decider", Counted)
    prover = chain(2000)
    for n in range(1998):
        assert prover.proves(parse_predicate(f"a{n} <= a{n + 2}")) is Answer.TRUE
        assert prover.proves(parse_predicate(f"a{n + 1} == 1")) is Answer.UNKNOWN
    assert len(made) <= 4 * NEAR


def test_a_symbol_of_which_nothing_is_said_keeps_apart() -> None:
    prover = chain(60)
    assert prover.proves(parse_predicate("a30 <= a31 + other")) is Answer.TRUE
    assert prover.proves(parse_predicate("a30 <= other")) is Answer.UNKNOWN
    for name in ("n00", "n07", "`?00`"):  # as a decider may call an axis itself
        assert prover.proves(parse_predicate(f"{name} <= a31")) is Answer.UNKNOWN
        assert prover.proves(parse_predicate(f"a30 <= a31 + {name}")) is Answer.TRUE


@pytest.mark.parametrize("seed", range(6))
def test_other_names_have_the_same_answers(seed: int) -> None:
    """Which facts a question sees, and what follows from them, does not depend on names."""
    random = Random(seed)
    given = [Symbol(f"s{n}") for n in range(40)]
    others = [Dim.of(f"t{n}") for n in random.sample(range(40), 40)]
    renamed = dict(zip(given, others, strict=True))
    axes = [
        Axis(s.name, min=random.randint(0, 3), multiple_of=random.choice((1, 2))) for s in given
    ]
    forms = ("{} <= {}", "{} == 2*{}", "{} % 4 == {} % 2", "{} + 1 <= {}")
    pairs = [sorted(random.sample(range(40), 2)) for _ in range(30)]
    facts = [
        parse_predicate(random.choice(forms[:1] * 4 + forms).format(*(given[i] for i in pair)))
        for pair in pairs
    ]
    one = Prover(axes, facts)
    two = Prover(
        [Axis(str(renamed[a.symbol]), min=a.min, multiple_of=a.multiple_of) for a in axes],
        [fact.substitute(renamed) for fact in facts],
    )
    for _ in range(40):
        a, b = random.sample(given, 2)
        question = LessEqual(Dim.of(a), Dim.of(b) + random.randint(0, 2))
        assert one.proves(question) is two.proves(question.substitute(renamed)), question
        assert one.bounds(question.rhs) == two.bounds(question.rhs.substitute(renamed))
