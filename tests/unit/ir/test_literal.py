"""Constants: bits survive text, and large ones live in a store."""

import gc
import weakref

import numpy as np
import pytest

import anyshape.ops  # noqa: F401  fills the registry
from anyshape.base.errors import DTypeError, TextError, WeightError
from anyshape.base.lexer import Cursor
from anyshape.ir import Builder, WeightStore, digest, evaluate, parse
from anyshape.ir.digest import Digest
from anyshape.ir.literal import INLINE_LIMIT, TensorLiteral, WeightRef, literal_or_weight
from anyshape.ir.text.values import literal_text, read_literal
from anyshape.ir.types import ALL_DTYPES, FLOATS, INTEGERS, DType, bf16, f16, f32, f64, i64


def read(text: str) -> TensorLiteral:
    cursor = Cursor(text)
    literal = read_literal(cursor)
    cursor.expect_end()
    return literal


def round_trip(array: np.ndarray) -> TensorLiteral:
    literal = TensorLiteral.of(array)
    again = read(literal_text(literal))
    assert again == literal
    assert again.data == literal.data
    return again


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2), (0,), (2, 0)])
def test_every_dtype_and_shape_round_trips(dtype: DType, shape: tuple[int, ...]) -> None:
    array = (np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype.numpy)
    again = round_trip(array)
    assert (again.dtype, again.shape) == (dtype, shape)
    assert again.array.tobytes() == array.tobytes()
    assert again.type == dtype[shape]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_special_values_round_trip(dtype: DType) -> None:
    import ml_dtypes

    info = ml_dtypes.finfo(dtype.numpy)
    numbers = [
        0.0, -0.0, np.inf, -np.inf, np.nan, float(info.max), float(info.min), 0.1, -1 / 3,
        float(info.smallest_normal), float(info.smallest_subnormal),
        -float(info.smallest_subnormal), float(info.eps), 1e-7, 12345678.9,
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        array = np.array(numbers, np.float64).astype(dtype.numpy)
    assert round_trip(array).array.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_random_bits_round_trip(dtype: DType) -> None:
    bits = np.random.default_rng(0).bytes(dtype.itemsize * 2000)
    array = np.frombuffer(bits, dtype.numpy)
    round_trip(array)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_extreme_integers_round_trip(dtype: DType) -> None:
    info = np.iinfo(dtype.numpy)
    array = np.array([info.min, info.max], dtype.numpy)
    assert round_trip(array).array.tolist() == [info.min, info.max]


def test_comparison_is_by_bits() -> None:
    assert TensorLiteral.of(np.float32(0.0)) != TensorLiteral.of(np.float32(-0.0))
    assert TensorLiteral.of(np.float32(np.nan)) == TensorLiteral.of(np.float32(np.nan))
    assert TensorLiteral.of(np.float32(1)) != TensorLiteral.of(np.float64(1))
    assert TensorLiteral.of(np.zeros((1, 2))) != TensorLiteral.of(np.zeros((2, 1)))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_all_nans_are_one(dtype: DType) -> None:
    payloads = {f64: np.uint64, f32: np.uint32, f16: np.uint16, bf16: np.uint16}[dtype]
    ones = np.array([np.iinfo(payloads).max], payloads)
    other = np.array([np.nan]).astype(dtype.numpy)
    assert TensorLiteral.of(ones.view(dtype.numpy)) == TensorLiteral.of(other)


def test_the_text() -> None:
    assert literal_text(TensorLiteral.of(np.float32(0.125).reshape(()))) == "f32 0.125"
    assert literal_text(TensorLiteral.of(np.arange(3))) == "i64[3] [0, 1, 2]"
    assert literal_text(TensorLiteral.of(np.array([[True], [False]]))) == "bool[2, 1] [true, false]"
    assert literal_text(TensorLiteral.of(np.array([-np.inf, np.nan]))) == "f64[2] [-inf, nan]"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("f33 0.5", "expected a dtype"),
        ("f32[2] [1.0]", "has 2 elements, found 1"),
        ("f32[] [1.0, 2.0]", "has 1 elements, found 2"),
        ("i8 300", "out of the range of i8"),
        ("u8 -1", "out of the range of u8"),
        ("i64 1.5", "expected an integer"),
        ("i64 99999999999999999999", "out of the range of i64"),
        ("bool 1", "expected true or false"),
        ("f32 true", "expected a number"),
        ("f32[0, 99999999999999999999] []", "out of the range"),
    ],
)
def test_bad_text(text: str, problem: str) -> None:
    with pytest.raises(TextError, match=problem):
        read(text)


def test_an_array_of_a_foreign_dtype() -> None:
    with pytest.raises(DTypeError, match="constant: expected one of"):
        TensorLiteral.of(np.array(["text"]))


# --- weights --------------------------------------------------------------------------------------


def test_small_constants_stay_inside() -> None:
    store = WeightStore()
    assert isinstance(literal_or_weight(np.zeros(INLINE_LIMIT), store), TensorLiteral)
    assert len(store) == 0
    ref = literal_or_weight(np.zeros(INLINE_LIMIT + 1), store)
    assert isinstance(ref, WeightRef)
    assert ref.type == f64[INLINE_LIMIT + 1]
    assert len(store) == 1


def test_the_same_content_is_kept_once() -> None:
    store = WeightStore()
    one, two = store.add(np.arange(100.0)), store.add(np.arange(100.0))
    other = store.add(np.arange(100.0).reshape(10, 10))
    assert one == two
    assert one.name == two.name == "w0"
    assert other.name == "w1"
    assert other != one
    assert len(store) == 2


def test_no_copy_and_read_only() -> None:
    store, array = WeightStore(), np.arange(100.0)
    kept = store.array(store.add(array))
    assert np.shares_memory(kept, array)
    assert not kept.flags.writeable
    assert array.flags.writeable


def test_strided_and_scalar_weights() -> None:
    store = WeightStore()
    assert (store.array(store.add(np.arange(10)[::2])) == [0, 2, 4, 6, 8]).all()
    assert store.array(store.add(np.array(3.0))).shape == ()


def test_identity_is_content_not_name() -> None:
    one, two = WeightStore(), WeightStore()
    two.add(np.zeros(50))
    assert one.add(np.arange(100.0)) == two.add(np.arange(100.0))


def weighted_graph() -> tuple[str, WeightStore]:
    b = Builder.at_entry()
    x = b.param(f32["batch", 40])
    graph = b.graph("g", ["x"], [b.emit("add", x, b.constant(np.arange(40, dtype=np.float32)))])
    return graph.as_text(), graph.weights


def test_a_weight_prints_by_name_and_digest() -> None:
    text, _ = weighted_graph()
    assert "constant() {value=@w0 f32[40] sha256:" in text


def test_the_parser_takes_the_store() -> None:
    text, store = weighted_graph()
    (result,) = evaluate(parse(text, store), np.zeros((2, 40), np.float32))
    assert (result[1] == np.arange(40)).all()


def test_an_empty_store_stays_the_given_one() -> None:
    store = WeightStore()
    assert parse("graph g(x: f32[n]) -> f32[n] {\n  return x\n}\n", store).weights is store


def test_the_wrong_store() -> None:
    text, _ = weighted_graph()
    with pytest.raises(WeightError, match=r"weight @w0: no buffer with sha256:[0-9a-f]{12}…"):
        evaluate(parse(text), np.zeros((2, 40), np.float32))


def test_a_promise_that_the_buffer_does_not_keep() -> None:
    store = WeightStore()
    ref = store.add(np.arange(40.0))
    liar = WeightRef("w0", i64, (40,), ref.digest)
    with pytest.raises(WeightError, match=r"weight @w0: is float64\[40\] in the store"):
        store.array(liar)


def test_the_ir_holds_no_buffer() -> None:
    b = Builder.at_entry()
    array = np.arange(1000.0)
    value = b.constant(array)
    b.weights = WeightStore()
    watch = weakref.ref(array)
    del array
    gc.collect()
    assert watch() is None
    assert value.tensor == f64[1000]


def test_a_weight_that_has_moved_is_read_where_it_is() -> None:
    """Also by stores that share it; the buffer itself is let go."""
    store = WeightStore()
    array = np.arange(100.0)
    ref = store.add(array)
    kept = weakref.ref(array)
    part = store.subset([ref])
    store.move(ref, lambda: np.arange(100.0))
    del array
    gc.collect()
    assert kept() is None
    for each in (store, part):
        np.testing.assert_array_equal(each.array(ref), np.arange(100.0))
    with pytest.raises(WeightError, match="no buffer"):
        WeightStore().move(ref, lambda: np.arange(100.0))


# --- digests --------------------------------------------------------------------------------------


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the contents that are hashed as a whole from now on."""
    sizes: list[int] = []
    whole = digest._all_digits
    monkeypatch.setattr(digest, "_all_digits", lambda a: sizes.append(a.size) or whole(a))
    return sizes


def test_weights_that_a_sample_tells_apart_are_not_hashed(hashed: list[int]) -> None:
    store = WeightStore()
    refs = [store.add(np.arange(5000.0) + i) for i in range(3)]
    assert len(set(refs)) == len(store) == 3
    assert [store.array(ref)[0] for ref in refs] == [0.0, 1.0, 2.0]
    assert not hashed


def test_weights_that_agree_in_the_sample_are_compared_as_a_whole(hashed: list[int]) -> None:
    """Each is hashed once, however often it is asked for."""
    store = WeightStore()
    one, two = np.zeros(5000), np.zeros(5000)
    two[1] = 1  # between two elements of the sample
    refs = [store.add(array) for array in (one, two, one.copy())]
    assert refs[0] == refs[2] != refs[1]
    assert hash(refs[0]) == hash(refs[1])
    assert len(store) == 2
    assert [store.array(ref)[1] for ref in refs] == [0.0, 1.0, 0.0]
    assert hashed == [5000] * 3


def test_the_same_memory_is_not_hashed(hashed: list[int]) -> None:
    one, two, array = WeightStore(), WeightStore(), np.arange(5000.0)
    assert one.add(array) == two.add(array)
    assert one.add(array) == one.add(array)
    assert not hashed


def test_equal_weights_are_so_when_one_of_their_stores_is_gone() -> None:
    one, two, array = WeightStore(), WeightStore(), np.arange(5000.0)
    first, second = one.add(array), two.add(array)
    assert first == second
    del one
    gc.collect()
    assert first == second
    assert str(first.digest) == str(second.digest)
    assert len(str(first.digest)) == digest.SAMPLE_DIGITS + digest.REST_DIGITS
    np.testing.assert_array_equal(two.array(first), array)


def test_a_digest_whose_content_is_gone_equals_itself_alone() -> None:
    one, two = WeightStore(), WeightStore()
    first = one.add(np.arange(5000.0))
    del one
    gc.collect()
    assert first != two.add(np.arange(5000.0))
    assert first == first  # noqa: PLR0124
    assert len(str(first.digest)) == digest.SAMPLE_DIGITS


def test_a_weight_that_has_moved_has_the_digest_it_had() -> None:
    store, other = WeightStore(), WeightStore()
    ref = store.add(np.arange(5000.0))
    store.move(ref, lambda: np.arange(5000.0))
    assert ref == other.add(np.arange(5000.0))


@pytest.mark.parametrize("shape", [(300,), (2, 150), (300, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_type_and_shape_are_part_of_a_digest(shape: tuple[int, ...], dtype: type) -> None:
    store = WeightStore()
    other = store.add(np.zeros((1, 300), np.float32))
    assert store.add(np.zeros(shape, dtype)) != other


def test_digests_that_agree_again_and_again_keep_each_reader_once() -> None:
    """Each comparison put the readers of both together, so that they grew exponentially."""
    array, calls = np.arange(1000.0), []

    def read() -> np.ndarray:
        calls.append(None)
        return array

    names = [Digest.of(array, read) for _ in range(3)]
    for turn in range(18):
        assert names[turn % 3] == names[(turn + 1) % 3]
    assert len(calls) < 300
