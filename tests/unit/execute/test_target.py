"""One choice of an instruction set decides code, tiling, keys and measured costs."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from tests.options import options_with

import anyshape as ash
from anyshape.base.errors import OptionError
from anyshape.base.options import ISAS, Options
from anyshape.codegen.llvm.isa import INSTRUCTION_SETS
from anyshape.codegen.llvm.target import NAMED_TARGETS
from anyshape.execute import calibrate, target
from anyshape.execute.native import NativeExecutor
from anyshape.execute.target import executable_isas, target_for
from anyshape.ir.types import f32
from anyshape.runtime import VectorIsa, machine


@ash.jit
def product(x: ash.f32["m", "k"], w: ash.f32["k", "n"]):
    return ash.exp(x @ w)


def test_all_layers_know_the_same_names():
    assert get_args(VectorIsa) == ISAS == tuple(INSTRUCTION_SETS)
    assert {named.isa for named in NAMED_TARGETS.values()} == set(ISAS) - {"scalar"}


@pytest.mark.parametrize("isa", ISAS)
def test_panels_are_made_of_whole_vectors(isa: str):
    assert INSTRUCTION_SETS[isa].tiling.vector_bytes * 8 == INSTRUCTION_SETS[isa].vector_bits


def test_the_best_is_this_very_cpu(monkeypatch: pytest.MonkeyPatch):
    best = executable_isas()[0]
    assert best == machine().vector_isa
    assert target_for(Options()) == target_for(Options(isa=best))
    assert target_for(Options()).llvm.host
    monkeypatch.setenv("ANYSHAPE_ISA", executable_isas()[-1])
    assert target_for().isa == executable_isas()[-1]


@pytest.mark.parametrize("isa", executable_isas()[1:])
def test_a_lesser_one_is_the_same_on_every_machine(isa: str):
    assert target_for(Options(isa=isa)).llvm in NAMED_TARGETS.values()
    assert not target_for(Options(isa=isa)).llvm.host


def on_a_machine_with(monkeypatch: pytest.MonkeyPatch, isa: VectorIsa) -> None:
    monkeypatch.setattr(target, "hardware", lambda: replace(machine(), vector_isa=isa))


@pytest.mark.parametrize("isa", ["avx512", "neon", "nonsense"])
def test_what_the_cpu_does_not_execute_is_refused(monkeypatch: pytest.MonkeyPatch, isa: str):
    on_a_machine_with(monkeypatch, "avx2")
    with pytest.raises(OptionError) as caught:
        ash.compile(product, options=Options(isa=isa))
    expected = "an instruction set that this CPU executes: avx2, sse2"
    assert str(caught.value) == (
        f"isa='{isa}' is not {expected}\nfix: set isa to {expected}, or unset it"
    )


def test_a_machine_without_avx_gets_code_without_it(monkeypatch: pytest.MonkeyPatch):
    on_a_machine_with(monkeypatch, "sse2")
    found = target_for(Options())
    assert (found.isa, found.llvm.instruction_set.vector_bits, found.tiling.vector_bytes) == (
        "sse2", 128, 16,
    )  # fmt: skip


@pytest.mark.parametrize("isa", executable_isas())
def test_a_program_runs_on_what_was_chosen(isa: str):
    executable = ash.compile(product, options=options_with(isa=isa))
    assert isinstance(executable.executor, NativeExecutor)
    scratch = [buffer for k in executable.executor.linked.kernels for buffer in k.scratch]
    assert {buffer.shape[-1].constant for buffer in scratch} == {
        INSTRUCTION_SETS[isa].tiling.columns(f32)
    }
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(13, 7)), rng.normal(size=(7, 21))
    (found,) = executable(x.astype(np.float32), w.astype(np.float32))
    np.testing.assert_allclose(found, np.exp(x @ w), rtol=2e-5)


def test_costs_are_kept_for_each_instruction_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(calibrate, "_KNOWN", {})
    for isa in executable_isas():
        options = Options(cache_dir=tmp_path, isa=isa)
        calibrate.machine_costs(options, target_for(options), 1, lambda _: lambda *_: None)
    assert len(list(tmp_path.rglob("*.json"))) == len(executable_isas())


def test_choosing_does_not_load_llvm():
    script = "import sys, anyshape.execute.target as t; t.target_for().tiling;"
    script += " t.target_for().llvm.instruction_set; print('llvmlite' in sys.modules)"
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"
