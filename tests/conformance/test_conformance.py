"""A sample of the tests: outcomes are as recorded, and none is wrong. `make conformance` runs all
of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conformance.cases import cases
from tests.conformance.outcome import alike, larger, outcome_of, with_symbols
from tests.conformance.table import BEGIN, DOCUMENT, END, recorded, table

NATIVE = (
    "test_add_bcast", "test_reduce_log_sum_exp_keepdims_random", "test_scatternd_add",
    "test_softmax_axis_1", "test_gather_negative_indices", "test_top_k",
    "test_qlinearmatmul_2D_int8_float32", "test_if", "test_reshape_zero_dim",
    "test_slice_neg_steps", "test_reflect_pad", "test_bitshift_right_int8_negative_shift",
    "test_attention_4d_gqa", "test_rotary_embedding", "test_nonzero_example", "test_mod_int64_fmod",
    "test_unique_not_sorted_without_axis", "test_gemm_all_attributes",
    "test_layer_normalization_2d_axis1", "test_resize_upsample_scales_linear_align_corners",
    "test_convtranspose_pads", "test_lstm_with_peepholes", "test_gridsample_bicubic",
    "test_loop11", "test_sequence_insert_at_front", "test_optional_get_element_optional_sequence",
    "test_attention_local_window", "simple/test_expand_shape_model2",
    "pytorch-converted/test_PReLU_2d_multiparam", "pytorch-operator/test_operator_addmm",
)  # fmt: skip
EVERY = 80
"""Of all names, one in so many is tried by the interpreter."""


def check(name: str, executor: str) -> None:
    """What was tried has the same outcome again, and nothing is wrong. The interpreter runs nothing
    strictly."""
    known, found = recorded()[name], outcome_of(cases()[name], executor)
    assert "wrong" not in found.statuses
    if executor == "reference":
        known = replace(known, strict="-")
    if known.symbolic == "-":
        found = replace(found, symbolic="-", second="-", why=known.why)
    assert found == known


@pytest.mark.parametrize("name", NATIVE)
def test_native(name: str) -> None:
    check(name, "native")


@pytest.mark.parametrize("name", sorted(recorded())[::EVERY])
def test_reference(name: str) -> None:
    check(name, "reference")


def test_the_record_has_every_case_and_none_is_wrong() -> None:
    outcomes = recorded()
    assert outcomes.keys() == cases().keys()
    assert [n for n, o in outcomes.items() if "wrong" in o.statuses] == []
    nodes = [o for n, o in outcomes.items() if cases()[n].group == "node"]
    others = [o for n, o in outcomes.items() if cases()[n].group != "node"]
    assert sum(o.plain == "passes" for o in nodes) >= 1630
    assert sum(o.strict == "passes" for o in nodes) >= 1600
    assert sum(o.plain == "passes" for o in others) >= 130
    assert sum(o.second == "passes" for o in nodes) >= 650


def test_the_document_has_the_table() -> None:
    text = DOCUMENT.read_text()
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == table(recorded())


def test_a_wrong_value_is_seen() -> None:
    case = cases()["test_add"]
    ((_, (wanted,)),) = case.data
    assert alike([wanted.copy()], [wanted], case)
    other = wanted.copy()
    other.flat[0] += 0.1
    assert not alike([other], [wanted], case)
    assert not alike([wanted.astype("f8")], [wanted], case)
    assert not alike([], [wanted], case)


def test_the_second_size_is_another_one() -> None:
    case = cases()["test_add"]
    ((feeds, _),) = case.data
    assert larger(feeds["x"]).shape == (4, 5, 6)
    sizes = [dim.WhichOneof("value") for each in with_symbols(case.model).graph.input
             for dim in each.type.tensor_type.shape.dim]  # fmt: skip
    assert sizes == [None] * 6
