"""The decision procedure: what it must decide, and what it must leave open."""

from collections.abc import Sequence

import pytest

from anyshape.sym import Answer, Dim, Prover, parse_axis, parse_dim, parse_predicate


def prover(known: Sequence[str]) -> Prover:
    """`known` mixes axis declarations and facts, as text."""
    axes = [parse_axis(text) for text in known if ".." in text]
    return Prover(axes, [parse_predicate(text) for text in known if ".." not in text])


TRUE = [
    # without facts
    ("2*x + 1 > x", []),
    ("a*b*c == (a*b)*c", []),
    ("n//2 <= n", []),
    ("(n + 1)//2 >= n//2", []),
    ("n % 8 < 8", []),
    ("n//4*4 + n % 4 == n", []),
    ("ceildiv(n, 16)*16 >= n", []),
    ("a//2 + b//2 <= (a + b)//2", []),
    ("x*x >= x", []),
    ("bcast(a, 1) == a", []),
    ("a <= max(a, b)", []),
    ("min(a, b) + max(a, b) == a + b", []),
    ("n//h*h <= n", []),
    ("(n + 1)//h >= n//h", []),
    ("broadcastable(1, n)", []),
    # equalities
    ("a*b == c*d", ["a*b == c*d"]),
    ("a*b*e == c*d*e", ["a*b == c*d"]),
    ("out + 2 == seq", ["out == seq - 2"]),
    ("a == b", ["2*a == 2*b"]),
    ("a == c", ["a == b", "b == c"]),
    ("whole//b == a", ["whole == a*b", "b >= 1"]),
    ("a == 5", ["a//2 == 2", "a != 4"]),
    ("broadcastable(a, b)", ["a == b"]),
    # divisibility
    ("(seq//8)*8 == seq", ["seq % 8 == 0"]),
    ("(seq//8)*8 == seq", ["seq: 1..512 multiple_of 8"]),
    ("h*(seq//h) == seq", ["seq % h == 0"]),
    ("h*(seq//h) == seq", ["seq % h == 0", "seq: 1..512 multiple_of 8"]),
    ("seq % h == 0", ["seq % h == 0"]),
    ("x % 6 == 0", ["x % 2 == 0", "x % 3 == 0"]),
    ("x % 4 == 2", ["x % 8 == 6"]),
    ("a % 2 == 0", ["a == 4*b + 6*c"]),
    ("(a*b) % 8 == 0", ["a % 8 == 0"]),
    ("(a*b)//8*8 == a*b", ["(a*b) % 8 == 0"]),
    ("x % 4 == 0", ["x % 4 <= 0"]),
    ("x % 4 == 0", ["x % 4 < 1"]),
    ("x % 8 == 0", ["x % 2 == 0", "(3*(x//2)) % 4 <= 0"]),
    ("x//2 + (3*(x//2)) % 4 == x//2", ["(3*(x//2)) % 4 <= 0"]),
    # inequalities and ranges
    ("min(seq, 512) == seq", ["seq <= 512"]),
    ("x*y >= x", ["y >= 1"]),
    ("a*c <= b*c", ["a <= b"]),
    ("(a + b)//2 <= a", ["b <= a"]),
    ("a < b", ["a != b", "a <= b"]),
    ("a < d", ["a < b", "b <= c", "c < d"]),
    ("batch*seq <= 32768", ["batch: 1..64", "seq: 1..512"]),
    ("x//4 == 3", ["x: 12..15"]),
    ("n != 0", ["n: 1.."]),
    ("t <= 1", ["t: 1..1 | 8..64", "t < 8"]),
    ("bcast(a, b) == b", ["b >= 2"]),
    ("a >= 3", ["min(a, b) == 3"]),
]

FALSE = [
    ("4 == 5", []),
    ("n + 1 == n", []),
    ("2*x == 2*y + 1", []),
    ("n < 0", []),
    ("a == b", ["a != b"]),
    ("out == seq", ["out == seq - 2"]),
    ("seq == 100", ["seq: 1..512 multiple_of 8"]),
    ("3*x == 5*y + 1", ["x <= 1", "y <= 1"]),
    ("x % 4 == 1", ["x % 8 == 6"]),
    ("a % 2 == 0", ["a % 2 == 1"]),
    ("t == 4", ["t: 1..1 | 8..64"]),
    ("broadcastable(a, b)", ["a: 2..3", "b: 5..9"]),
    ("a < c", ["c <= b", "b <= a"]),
]

OPEN = [
    ("a == b", []),
    ("a <= b", []),
    ("x*y >= x", []),  # y may be 0
    ("n >= 1", []),  # 0 is a size
    ("a*b <= c*d", []),
    ("seq % 16 == 0", ["seq: 1..512 multiple_of 8"]),
    ("bcast(a, b) == a", []),
    ("seq % h == 0", ["seq: 1..512 multiple_of 8"]),
]


@pytest.mark.parametrize(("question", "known"), TRUE)
def test_proved(question: str, known: list[str]) -> None:
    assert prover(known).proves(parse_predicate(question)) is Answer.TRUE


@pytest.mark.parametrize(("question", "known"), FALSE)
def test_refuted(question: str, known: list[str]) -> None:
    assert prover(known).proves(parse_predicate(question)) is Answer.FALSE


@pytest.mark.parametrize(("question", "known"), OPEN)
def test_left_open(question: str, known: list[str]) -> None:
    assert prover(known).proves(parse_predicate(question)) is Answer.UNKNOWN


def test_an_answer_is_no_bool() -> None:
    with pytest.raises(TypeError, match="has no truth value"):
        bool(Answer.TRUE)


def test_a_definition_of_a_question_does_not_leak() -> None:
    """Asking about x//h supposes h != 0, for that question alone."""
    known = prover([])
    assert known.proves(parse_predicate("h*(x//h) <= x")) is Answer.TRUE
    assert known.proves(parse_predicate("h >= 1")) is Answer.UNKNOWN


def test_divisible_by_zero_is_not_excluded() -> None:
    known = prover(["n % h == 0"])
    assert known.proves(parse_predicate("h >= 1")) is Answer.UNKNOWN
    assert (
        known.extended((), [parse_predicate("h == 0")]).proves(parse_predicate("n == 0"))
        is Answer.TRUE
    )


def test_extension_keeps_what_was_decided() -> None:
    base = prover(["a <= b"])
    child = base.extended((), [parse_predicate("b <= a")])
    assert base.proves(parse_predicate("a == b")) is Answer.UNKNOWN
    assert child.proves(parse_predicate("a == b")) is Answer.TRUE
    assert child.proves(parse_predicate("a <= b")) is Answer.TRUE


@pytest.mark.parametrize(
    "known",
    [
        ["a == 1", "a == 2"],
        ["2*a == 2*b + 1"],
        ["n: 1..7", "n % 8 == 0"],
        ["a: 0..3", "b: 5..9", "a == b"],
        ["3//n == 1", "n == 0"],
    ],
)
def test_contradictions(known: list[str]) -> None:
    found = prover(known)
    assert found.is_contradictory
    assert found.proves(parse_predicate("x == y")) is Answer.UNKNOWN


def test_what_is_out_of_reach_is_left_open() -> None:
    """Pugh's example has rational solutions and no integer ones: that takes a dark shadow."""
    one, two = "11*x + 13*y - 480", "7*x - 9*y + 190"
    known = [f"27 <= {one}", f"{one} <= 45", f"0 <= {two}", f"{two} <= 14"]
    assert not prover(known).is_contradictory


@pytest.mark.parametrize(
    ("text", "known", "bounds"),
    [
        ("n", [], (0, None)),
        ("n + 3", ["n: 1..5"], (4, 8)),
        ("3 - n", ["n: 1..5"], (-2, 2)),
        ("a*b", ["a: 2..3", "b: 0..4"], (0, 12)),
        ("n//4", ["n: 5..17"], (1, 4)),
        ("n % 4", [], (0, 3)),
        ("min(n, 7)", ["n: 3.."], (3, 7)),
        ("max(n, 7)", ["n: 3.."], (7, None)),
        ("out", ["out == seq - 2", "seq: 3..9"], (1, 7)),
        ("seq", ["seq: 1..20 multiple_of 8"], (8, 16)),
    ],
)
def test_bounds(text: str, known: list[str], bounds: tuple[int | None, int | None]) -> None:
    assert prover(known).bounds(parse_dim(text)) == bounds


@pytest.mark.parametrize(
    ("text", "known", "simplest"),
    [
        ("min(seq, 512)", ["seq <= 512"], "seq"),
        ("max(a, b, 0)", ["a <= b"], "b"),
        ("(seq//8)*8", ["seq % 8 == 0"], "seq"),
        ("h*(seq//h)", ["seq % h == 0"], "seq"),
        ("ceildiv(seq, 8)", ["seq: 0.. multiple_of 8"], "seq//8"),
        ("(seq + 3) % 8", ["seq: 0.. multiple_of 8", "seq <= 0"], "3"),
        ("seq % 8", ["seq: 0.. multiple_of 8"], "0"),
        ("n % 8", ["n < 8"], "n"),
        ("n//8", ["n < 8"], "0"),
        ("bcast(a, b)", ["a >= 2"], "a"),
        ("bcast(a, b)", ["a == 1"], "b"),
        ("?0 + 1", ["?0 == seq"], "seq + 1"),
        ("?0 + 1", ["seq == ?0"], "seq + 1"),
        ("?1", ["?0 == ?1"], "?0"),
        ("out + 2", ["out == seq - 2"], "seq"),
        ("b", ["a == b"], "a"),
        ("batch", ["batch == 2*?0"], "batch"),  # a name never becomes a fresh symbol
        ("n + m", [], "m + n"),
    ],
)
def test_normal_forms(text: str, known: list[str], simplest: str) -> None:
    assert prover(known).normalize(parse_dim(text)) is Dim.of(simplest)


def test_who_states_the_same_shares_what_was_decided() -> None:
    known = ["n: 1..64", "n % 8 == 0", "m <= n"]
    first, second = prover(known), prover(known)
    question = parse_predicate("m <= 64")
    assert first.decider(question.symbols) is second.decider(question.symbols)
    assert first.proves(question) is Answer.TRUE
    assert second.decider(question.symbols).steps(question) > 0  # without having been asked
    other = prover(["n: 1..65", *known[1:]])
    assert other.decider(question.symbols) is not first.decider(question.symbols)


def test_what_follows_from_less_follows_from_more() -> None:
    """Products with a factor that is at least 1 make more rows than may be eliminated."""
    known = ["batch: 1..512", "even: 0..512", "batch*even == 2*even*(batch//2)", "1 <= even"]
    question = parse_predicate("batch//4 <= batch//2")
    for count in range(len(known) + 1):
        assert prover(known[:count]).proves(question) is Answer.TRUE
