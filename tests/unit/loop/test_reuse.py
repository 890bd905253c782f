"""What loops share through scratch, on loops written by hand."""

from anyshape.ir.types import f32
from anyshape.loop import (
    Accumulator,
    Apply,
    Buffer,
    For,
    Let,
    Load,
    Local,
    Statement,
    Store,
    Update,
)
from anyshape.loop.reuse import Reused, reuse_costly
from anyshape.sym import Dim, Symbol

N, M = Dim.of("n"), Dim.of("m")
X = Buffer("x", f32, (N,), (Dim.of(1),))
Y = Buffer("y", f32, (N,), (Dim.of(1),), written=True)
TOTAL, SCALE = Local("total", f32), Local("scale", f32)


def loop(number: int, op: str, *, extent: Dim = N, after: str = "neg") -> For:
    """y[i] = after(op(x[i])) over an index of its own."""
    index = Symbol(f"i{number}")
    value, made, result = (Local(f"{name}{number}", f32) for name in "abc")
    return For(
        index,
        extent,
        (
            Let(value, Load(X, (Dim.of(index),))),
            Let(made, Apply(op, (value, SCALE), f32)),
            Let(result, Apply(after, (made,), f32)),
            Store(Y, (Dim.of(index),), result),
        ),
        vector=True,
    )


def applied(kept: Reused) -> list[list[str]]:
    """The ops of each loop."""
    return [
        [s.value.op for s in statement.body if isinstance(s, Let) and isinstance(s.value, Apply)]
        for statement in kept.body
        if isinstance(statement, For)
    ]


def test_the_second_loop_loads_what_the_first_stored() -> None:
    kept = reuse_costly([loop(0, "pow"), loop(1, "pow", after="abs")])
    assert applied(kept) == [["pow", "neg"], ["abs"]]
    (scratch,) = kept.scratch
    assert (scratch.name, scratch.shape) == ("kept0", (N,))
    first, second = kept.body
    assert isinstance(first, For)
    assert isinstance(second, For)
    assert Store(scratch, (Dim.of("i0"),), Local("b0", f32)) in first.body
    assert second.body[0] == Let(Local("b1", f32), Load(scratch, (Dim.of("i1"),)))


def test_three_loops_share_one_buffer() -> None:
    kept = reuse_costly([loop(0, "div"), loop(1, "div", after="abs"), loop(2, "div", after="sqrt")])
    assert applied(kept) == [["div", "neg"], ["abs"], ["sqrt"]]
    assert len(kept.scratch) == 1


def test_what_comes_after_a_kept_value_is_cheap() -> None:
    """The end of the chain is what both loops need; only that is stored."""
    kept = reuse_costly([loop(0, "div"), loop(1, "div")])
    assert applied(kept) == [["div", "neg"], []]
    assert len(kept.scratch) == 1


def test_cheap_values_are_not_kept() -> None:
    loops = [loop(0, "add"), loop(1, "add", after="abs")]
    assert reuse_costly(loops) == Reused(tuple(loops))


def test_loops_of_other_lengths_do_not_share() -> None:
    loops: list[Statement] = [loop(0, "pow"), loop(1, "pow", extent=M)]
    assert reuse_costly(loops) == Reused(tuple(loops))
    kept = reuse_costly(
        [*loops, loop(2, "pow", after="abs"), loop(3, "pow", extent=M, after="abs")]
    )
    assert [buffer.shape for buffer in kept.scratch] == [(N,), (M,)]


def test_running_totals_are_not_shared() -> None:
    """They depend on the iterations before, not on the index alone."""

    def running(number: int) -> For:
        index, made = Symbol(f"i{number}"), Local(f"a{number}", f32)
        body = (
            Update(TOTAL, Load(X, (Dim.of(index),))),
            Let(made, Apply("exp", (TOTAL,), f32)),
            Store(Y, (Dim.of(index),), made),
        )
        return For(index, N, body, (Accumulator(TOTAL, "add"),))

    loops = [running(0), running(1)]
    assert reuse_costly(loops) == Reused(tuple(loops))


def test_strips_have_an_axis_of_their_own() -> None:
    strip = Symbol("j")
    kept = reuse_costly([loop(0, "pow"), loop(1, "pow", after="abs")], (strip, 64))
    (scratch,) = kept.scratch
    assert scratch.shape == (N, Dim.of(64))
    second = kept.body[1]
    assert isinstance(second, For)
    assert second.body[0] == Let(Local("b1", f32), Load(scratch, (Dim.of("i1"), Dim.of(strip))))
