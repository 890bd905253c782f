"""FactScope: asking, trusting, demanding."""

import pytest

from anyshape.base.errors import (
    AxisNameConflictError,
    FactConflictError,
    RequirementError,
    UnprovableError,
)
from anyshape.base.location import Location
from anyshape.sym import (
    Answer,
    Axis,
    Broadcastable,
    Dim,
    Equal,
    FactScope,
    LessEqual,
    Origin,
    Symbol,
    parse_predicate,
)

WHERE = Location("examples/conv.py", 12)


def test_what_is_proved_records_nothing() -> None:
    scope = FactScope()
    scope.declare(Axis("seq", multiple_of=8))
    scope.require(parse_predicate("seq % 4 == 0"), "split")
    assert scope.checks == ()


def test_what_is_open_becomes_a_check_and_is_known_from_then_on() -> None:
    scope = FactScope()
    scope.require(parse_predicate("a % 4 == 0"), "split into 4", WHERE)
    (check,) = scope.checks
    assert (check.origin, check.words, check.where) == (
        Origin.OP,
        "split into 4",
        "examples/conv.py:12",
    )
    assert scope.proves(parse_predicate("a % 2 == 0")) is Answer.TRUE


def test_what_is_refuted_is_an_error_with_its_derivation() -> None:
    scope = FactScope()
    scope.declare(Axis("batch", max=3))
    scope.declare(Axis("seq", min=1, max=512))
    scope.assume(parse_predicate("out == seq - 2"), words="out == seq - 2", where=WHERE)
    with pytest.raises(RequirementError) as error:
        scope.require(parse_predicate("out == seq"), "add", Location("m.py", 3))
    assert str(error.value) == (
        "add (m.py:3): requires out == seq, which never holds\n"
        "  known: out == seq - 2 (user: out == seq - 2 @ examples/conv.py:12)\n"
        "fix: change the shapes so that the requirement can hold"
    )


def test_strict_refuses_what_it_cannot_prove() -> None:
    scope = FactScope(strict=True)
    with pytest.raises(UnprovableError) as error:
        scope.require(parse_predicate("a % 4 == 0"), "split")
    assert str(error.value) == (
        "split: cannot prove a % 4 == 0 (strict)\n"
        "fix: declare where='a % 4 == 0', or compile without strict to check it at run time"
    )


def test_a_fresh_symbol_adopts_the_other_side() -> None:
    scope = FactScope()
    fresh, named = scope.fresh(), Dim.of("seq")
    assert scope.unify(fresh, named, "add") is named
    assert scope.resolve(fresh + 1) is named + 1
    assert scope.checks == ()
    assert scope.proves(fresh.equals(named)) is Answer.TRUE


def test_adoption_chains() -> None:
    scope = FactScope()
    one, two = scope.fresh(), scope.fresh()
    scope.require(Equal(one, two), "add")
    scope.require(Equal(one, Dim.of("n") + 1), "add")
    assert scope.resolve(one) is scope.resolve(two) is Dim.of("n + 1")


@pytest.mark.parametrize("kind", [Equal, Broadcastable])
def test_two_names_are_not_made_one(kind: type[Equal] | type[Broadcastable]) -> None:
    scope = FactScope()
    with pytest.raises(AxisNameConflictError) as error:
        scope.require(kind(Dim.of("a"), Dim.of("b")), "add")
    hint = " (or where='broadcastable(a, b)' if one of them may be 1)"
    assert str(error.value) == (
        "axes 'a' and 'b' have different names but must be equal: add\n"
        "fix: use one name for both, or declare where='a == b'"
        + (hint if kind is Broadcastable else "")
    )


def test_two_names_may_be_made_one_on_request() -> None:
    scope = FactScope(distinct_names=False)
    scope.require(parse_predicate("a == b"), "add")
    assert [str(check) for check in scope.checks] == ["a == b"]


def test_late_symbols_are_never_adopted_and_have_their_bound() -> None:
    scope = FactScope()
    late = scope.late(None, Dim.of("n"))
    scope.require(Equal(Dim.of(late), Dim.of("m")), "add")
    assert scope.resolve(Dim.of(late)) is Dim.of(late)
    assert scope.proves(LessEqual(Dim.of(late), Dim.of("n"))) is Answer.TRUE
    assert len(scope.checks) == 1


def test_contradictory_facts() -> None:
    scope = FactScope()
    scope.assume(parse_predicate("x <= y"), words="x <= y")
    scope.assume(parse_predicate("a == 3"), words="a == 3", where=WHERE)
    with pytest.raises(FactConflictError) as error:
        scope.assume(parse_predicate("a == 4"), words="a == 4")
    assert str(error.value) == (
        "contradictory facts: 'a == 4' cannot hold together with 'a == 3'\n"
        "  'a == 4' comes from user: a == 4\n"
        "  'a == 3' comes from user: a == 3 @ examples/conv.py:12\n"
        "fix: drop or correct one of them"
    )


def test_a_fact_that_contradicts_a_declaration() -> None:
    scope = FactScope()
    scope.declare(Axis("seq", max=512))
    with pytest.raises(FactConflictError, match=r"cannot hold together with 'seq: 0\.\.512'"):
        scope.assume(parse_predicate("seq > 512"))


def test_redeclaration() -> None:
    scope = FactScope()
    scope.declare(Axis("seq", max=512))
    scope.declare(Axis("seq", max=512))
    with pytest.raises(FactConflictError, match=r"'seq: 0..8' cannot .* 'seq: 0..512'"):
        scope.declare(Axis("seq", max=8))


def test_children_know_their_parents_and_not_the_reverse() -> None:
    parent = FactScope()
    child = parent.child()
    parent.assume(parse_predicate("a <= b"))
    child.assume(parse_predicate("b <= a"))
    assert child.proves(parse_predicate("a == b")) is Answer.TRUE
    assert parent.proves(parse_predicate("a == b")) is Answer.UNKNOWN
    assert [str(fact) for fact in child.freeze().facts] == ["b <= a"]


def test_fresh_symbols_are_unique_in_the_tree() -> None:
    parent = FactScope()
    child = parent.child()
    names = [str(dim) for dim in (parent.fresh(), child.fresh(), parent.fresh())]
    assert names == ["?0", "?1", "?2"]


def test_frozen_facts_make_the_same_scope() -> None:
    scope = FactScope()
    scope.declare(Axis("seq", max=512))
    scope.assume(parse_predicate("out == ?0 + 1"), words="w")
    again = FactScope.of(scope.freeze())
    assert again.freeze() == scope.freeze()
    assert again.proves(parse_predicate("seq <= 600")) is Answer.TRUE
    assert again.fresh().symbol is not Symbol("?0")


def test_a_child_does_not_redeclare_an_axis() -> None:
    scope = FactScope()
    scope.declare(Axis("n", min=1, max=8))
    with pytest.raises(FactConflictError, match=r"n: 1\.\.4"):
        scope.child().declare(Axis("n", min=1, max=4))
