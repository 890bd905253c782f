"""Op entries and their registry."""

import pytest

import anyshape.ops  # noqa: F401  fills the registry
from anyshape.base.errors import OperandError, UnknownOpError
from anyshape.ir import OpDef, all_ops, lookup
from anyshape.ir.attrs import Attrs
from anyshape.ir.opdef import PARAM, Signature, Trait, register
from anyshape.ir.types import FLOATS
from anyshape.ops.rules import SameDType, same_shape


def test_lookup() -> None:
    assert lookup("exp").name == "exp"
    assert lookup("exp") is lookup("exp")
    assert repr(lookup("exp")) == "OpDef(exp)"


def test_all_ops_are_sorted_and_param_is_not_among_them() -> None:
    names = [op.name for op in all_ops()]
    assert names == sorted(names)
    assert PARAM.name not in names


def test_an_unknown_op_suggests_others() -> None:
    with pytest.raises(UnknownOpError, match="did you mean softmax or log_softmax"):
        lookup("sofmax")


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="op 'exp' is registered twice"):
        register(lookup("exp"))


def test_an_op_needs_one_definition() -> None:
    rules = (SameDType(FLOATS), same_shape)
    with pytest.raises(ValueError, match="needs a reference or a decomposition"):
        register(OpDef("nameless", Signature(("x",)), Attrs, *rules))
    with pytest.raises(ValueError, match="needs a dtype and a shape rule, or one type rule"):
        register(OpDef("nameless", Signature(("x",)), Attrs, reference=lambda call: call.args[0]))


@pytest.mark.parametrize(
    ("names", "counts"),
    [
        (("x",), [1]),
        (("x", "y?"), [1, 2]),
        (("x", "y?", "z?"), [1, 2, 3]),
        (("xs*",), [0, 1, 2, 3, 4]),
        (("x", "xs*"), [1, 2, 3, 4]),
        ((), [0]),
    ],
)
def test_signatures(names: tuple[str, ...], counts: list[int]) -> None:
    signature = Signature(names)
    for count in range(5):
        if count in counts:
            signature.check("op", count)
        else:
            with pytest.raises(OperandError, match=f"op: got {count} operands"):
                signature.check("op", count)


def test_operand_names() -> None:
    signature = Signature(("x", "scale?", "xs*"))
    assert [signature.name(index) for index in range(4)] == ["x", "scale", "xs[0]", "xs[1]"]
    assert str(signature) == "(x, scale?, xs*)"


def test_traits_mean_what_they_say() -> None:
    assert lookup("add").has(Trait.COMMUTATIVE)
    assert not lookup("sub").has(Trait.COMMUTATIVE)
    assert lookup("gelu").is_compound
    assert not lookup("exp").is_compound
    assert lookup("entropy").has(Trait.EFFECT)
