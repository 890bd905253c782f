"""When the machine is measured, and what is kept of it. The measuring itself is not a test's."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from anyshape.base.options import Options
from anyshape.base.private_folder import own_folder
from anyshape.execute import calibrate
from anyshape.execute.calibrate import DEFAULTS, CompileGraph, machine_costs
from anyshape.execute.target import target_for
from anyshape.plan.costs import MachineCosts


def costs(options: Options, threads: int, compile_graph: CompileGraph) -> MachineCosts:
    """Of the target that the options choose."""
    return machine_costs(options, target_for(options), threads, compile_graph)


class Measured:
    """Stands for the compiler: everything that it makes takes a millisecond."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph: object):
        self.graphs += 1
        return lambda *arrays: time.sleep(0.001)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    monkeypatch.setattr(calibrate, "_KNOWN", {})
    return Measured()


def forget() -> None:
    calibrate._KNOWN.clear()


def kept(folder: Path) -> Path:
    (file,) = own_folder(folder, "costs").glob("*.json")
    return file


def test_measured_once_and_kept(tmp_path: Path, measured: Measured):
    options = Options(cache_dir=tmp_path / "cache")
    first = costs(options, 2, measured)
    probes = measured.graphs
    assert probes > 0
    assert first.threads == 2
    assert first.flop != DEFAULTS.flop
    assert costs(options, 2, measured) == first
    forget()
    again = costs(options, 4, measured)
    assert measured.graphs == probes
    assert (again.flop, again.memory_byte, again.threads) == (first.flop, first.memory_byte, 4)


def test_threads_do_not_measure_each_other(tmp_path: Path, measured: Measured):
    options = Options(cache_dir=tmp_path / "cache")
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: costs(options, 2, measured), range(4)))
    assert len(set(found)) == 1
    assert measured.graphs == 4  # one for each constant


DAMAGED = [
    b"",
    b"\xff\xfe",
    b"[1]",
    b"[" * 100_000,
    b'{"version": 1}x',
    b'{"version": 0}',
    b'{"version": 1}',
    b'{"version": 1, "step": 1' + b"0" * 5000 + b"}",
]


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_file_is_replaced(
    tmp_path: Path, measured: Measured, content: bytes, caplog: pytest.LogCaptureFixture
):
    options = Options(cache_dir=tmp_path / "cache")
    costs(options, 2, measured)
    sound = kept(tmp_path / "cache").read_bytes()
    kept(tmp_path / "cache").write_bytes(content)
    forget()
    probes = measured.graphs
    caplog.clear()
    costs(options, 2, measured)
    costs(options, 2, measured)
    assert measured.graphs == 2 * probes
    assert len(kept(tmp_path / "cache").read_bytes()) == pytest.approx(len(sound), abs=8)
    assert [record.getMessage().count("are damaged") for record in caplog.records] == [1]


@pytest.mark.parametrize("step", [b"-1", b"0", b"true", b"1e3", b'"1"', b"9" * 30])
def test_costs_that_make_no_sense_are_measured_again(
    tmp_path: Path, measured: Measured, step: bytes
):
    options = Options(cache_dir=tmp_path / "cache")
    expected = costs(options, 2, measured).step
    file = kept(tmp_path / "cache")
    damaged = re.sub(rb'"step": \d+', b'"step": ' + step, file.read_bytes())
    assert damaged != file.read_bytes()
    file.write_bytes(damaged)
    forget()
    assert costs(options, 2, measured).step == expected


def test_the_first_measurement_warns_of_nothing(
    tmp_path: Path, measured: Measured, caplog: pytest.LogCaptureFixture
):
    costs(Options(cache_dir=tmp_path / "cache"), 2, measured)
    assert not caplog.records


def test_the_folder_that_is_given_stays_as_it_is(tmp_path: Path, measured: Measured):
    """It may be shared: only what is ours inside it is private."""
    tmp_path.chmod(0o755)
    costs(Options(cache_dir=tmp_path), 2, measured)
    assert tmp_path.stat().st_mode & 0o777 == 0o755
    assert own_folder(tmp_path, "costs").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "options", [Options(), Options(cache_dir=Path("/nowhere"), calibrate=False)]
)
def test_costs_as_they_are_given(options: Options, measured: Measured):
    found = costs(options, 3, measured)
    assert (found.flop, found.step, found.threads) == (DEFAULTS.flop, DEFAULTS.step, 3)
    assert measured.graphs == 0


def test_a_folder_that_cannot_be_written(tmp_path: Path, measured: Measured, caplog):
    (tmp_path / "file").write_text("")
    options = Options(cache_dir=tmp_path / "file")
    assert isinstance(costs(options, 2, measured), MachineCosts)
    assert "cannot be kept" in caplog.text
