"""Kernels show themselves: loops, LLVM IR and assembly of whatever an Executable runs."""

import gc
from pathlib import Path

import numpy as np
import pytest
from tests.options import options_with

import anyshape as ash
from anyshape.base.errors import NotGeneratedError
from anyshape.base.options import Options
from anyshape.execute import Executable
from anyshape.execute.target import executable_isas, target_for
from anyshape.loop.parser import parse_kernel

WEIGHTS = np.ones((16, 16), np.float32)


@ash.jit
def model(x: ash.f32["batch", 16]):
    return ash.softmax(ash.gelu(x @ WEIGHTS)) + 1.0


@ash.jit
def branches(x: ash.f32["n"], choose: ash.bool[()]):
    return ash.cond(choose, lambda x: ash.exp(x) * 3.0, lambda x: ash.tanh(x) - 5.0, x)


@ash.jit
def attention(q: ash.f32["s", 2, "n", 8], k: ash.f32["s", 2, "m", 8]):
    return ash.attention(q, k, k)


def test_kernels_are_named_in_the_order_of_the_steps() -> None:
    executable = ash.compile(model)
    x = np.ones((3, 16), np.float32)
    kernels = executable.kernels
    assert [kernel.name for kernel in kernels] == [step.name for step in executable.steps(x)]
    assert [op for kernel in kernels for op in kernel.ops] == ["dot", "gelu", "softmax", "add"]


def test_every_variant_of_a_step_is_there() -> None:
    kernels = ash.compile(attention).kernels
    assert [(k.name, k.variant) for k in kernels] == [
        ("attention", "tiles"), ("attention", "few queries"),
    ]  # fmt: skip
    assert kernels[0].as_text() != kernels[1].as_text()


def test_the_loops_are_read_back() -> None:
    for kernel in (*ash.compile(model).kernels, *ash.compile(attention).kernels):
        assert parse_kernel(kernel.as_text()).as_text() == kernel.as_text() == str(kernel)


REGISTERS = {"avx512": "%zmm", "avx2": "%ymm", "sse2": "%xmm"}


@pytest.mark.parametrize("isa", executable_isas())
def test_code_of_each_instruction_set(isa: str) -> None:
    for kernel in ash.compile(model, options=options_with(isa=isa)).kernels:
        assert kernel.isa == isa
        emitted, optimized = kernel.llvm(), kernel.llvm(optimized=True)
        assert "define void @kernel(" in emitted.replace('"', "")
        assert target_for(Options(isa=isa)).llvm.triple in optimized
        assert optimized != emitted
        assembly = kernel.assembly()
        assert "\nkernel:\n" in assembly
        used = {name for name, register in REGISTERS.items() if register in assembly}
        if isa in REGISTERS:
            assert isa in used
            narrower = list(REGISTERS)[list(REGISTERS).index(isa) :]
            assert used <= set(narrower)


def test_code_from_the_disk_looks_the_same(tmp_path: Path) -> None:
    options = Options(cache_dir=tmp_path)

    def listed(executable: Executable) -> list[tuple[str, str, str]]:
        return [(k.as_text(), k.llvm(), k.assembly()) for k in executable.kernels]

    first = ash.compile(attention, options=options)
    before = listed(first)
    del first
    gc.collect()
    again = ash.compile(attention, options=options)
    assert again.explain().kernels.from_disk > 0
    assert again.explain().kernels.compiled == 0
    assert listed(again) == before


def test_kernels_of_all_programs_are_listed() -> None:
    executable = ash.compile(branches)
    ops = [kernel.ops for kernel in executable.kernels]
    assert ("exp", "mul") in ops
    assert ("tanh", "sub") in ops
    assert len(ops) == executable.explain().kernels.steps


@pytest.mark.parametrize("executor", ["native", "stepwise"])
def test_executors_that_compile_have_the_same(executor: ash.execute.ExecutorName) -> None:
    kernels = ash.compile(model, executor=executor, result_cache=1 << 20).kernels
    assert kernels == ash.compile(model).kernels


def test_the_interpreter_has_none() -> None:
    assert ash.compile(model, executor="reference").kernels == ()


def test_functions_of_the_runtime_have_loops_only() -> None:
    text = "graph sorted(x: f32[n]) -> (f32[n], i64[n]) {%0, %1 = sort(x) {axis=0} return %0, %1}"
    kernels = ash.compile(ash.ir.parse(text)).kernels
    assert [kernel.kernel.native for kernel in kernels] == ["sort_parts_f32", "merge_parts_f32"]
    for kernel in kernels:
        assert f"native {kernel.kernel.native}\n" in kernel.as_text()
        for what, text in (("LLVM text", kernel.llvm), ("assembly", kernel.assembly)):
            with pytest.raises(NotGeneratedError) as caught:
                text()
            assert str(caught.value) == (
                f"kernel '{kernel.kernel.native}' has no {what}: it is a function of the native "
                "runtime\nfix: skip those with a `kernel.native`; as_text() says what they are "
                "given"
            )


def test_explain_says_where_they_are() -> None:
    assert "\n  shown by `executable.kernels`: each has as_text()" in str(
        ash.compile(model).explain()
    )


def test_a_model_of_torch_has_them_too() -> None:
    torch = pytest.importorskip("torch")
    compiled = ash.compile(torch.nn.Linear(4, 4).eval(), args=(torch.ones(2, 4),))
    assert [kernel.ops[0] for kernel in compiled.kernels] == ["dot"]
