"""What figures are held against."""

import json
import math

import pytest
from benchmarks.harness.process import Timing
from benchmarks.harness.report import Row, Table, at_least, at_most, number, write_json
from benchmarks.harness.roofline import Roofline, roofline, roofline_cases
from benchmarks.harness.turns import Measured
from benchmarks.workloads import Mlp

MACHINE = Roofline(threads=2, flops=1e9, copied=1e9, read=1e8, cache_bytes=12_000)


def test_products_bound_what_fits_in_the_cache():
    model = Mlp(16)
    assert model.weight_bytes < MACHINE.cache_bytes
    assert MACHINE.seconds(model, {"batch": 4}) == pytest.approx(model.flops({"batch": 4}) / 1e9)


def test_reading_bounds_what_does_not():
    model = Mlp(64)
    beyond = model.weight_bytes - MACHINE.cache_bytes
    assert MACHINE.seconds(model, {"batch": 1}) == pytest.approx(beyond / 1e8)


def test_the_roofline_is_the_best_that_anybody_reached():
    product, copies, reads = roofline_cases(2)
    slow, quick = (Timing(seconds, seconds, 1) for seconds in (2.0, 1.0))
    measured = [
        Measured(product, {"anyshape": [slow], "torch": [slow, quick]}),
        Measured(copies, {"copy": [slow]}),
        Measured(reads, {"read": [slow]}),
    ]
    found = roofline(2, measured, 0)
    assert found.flops == 2 * 1024**3
    assert found.copied == 64 << 20  # each byte is read and written
    assert found.read == 256 << 20


def test_more_threads_do_not_raise_the_roofline_of_fewer():
    product, copies, _ = roofline_cases(2)
    timing = [Timing(1.0, 1.0, 1)]
    measured = [Measured(product, {"torch": timing}), Measured(copies, {"copy": timing})]
    assert roofline(1, measured, 0).flops == 0


def test_what_was_not_measured_is_neither_met_nor_missed():
    assert at_most(math.nan, 1) is None
    assert at_least(math.nan, 1) is None
    assert (at_most(1, 1), at_most(1.1, 1)) == (True, False)
    assert (at_least(1, 1), at_least(0.9, 1)) == (True, False)
    assert number(math.nan) == "—"


def test_json_holds_tables_and_cases(tmp_path):
    case = roofline_cases(2)[0]
    measured = Measured(case, {"torch": [Timing(1.0, 2.0, 3)]}, {"anyshape": "broken"})
    table = Table("title", ("a",), (Row("row", ("1",), "2", "≤ 3", True),), "figure")
    write_json(tmp_path / "new" / "x.json", {"quick": True}, [table], [measured])
    content = json.loads((tmp_path / "new" / "x.json").read_text())
    assert content["tables"][0]["rows"][0]["met"] is True
    assert content["cases"][0]["seconds"] == {"torch": {"best": 1.0, "median": 2.0}}
    assert content["cases"][0]["failures"] == {"anyshape": "broken"}
