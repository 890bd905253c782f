"""The interpreter as a target: the same program, memory and walk, with no LLVM anywhere."""

import ctypes
import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import DimError, NoListingError, OptionError, ShapeError, VerifyError
from anyshape.base.options import Options, options_from_environment
from anyshape.codegen.interpreter import functions
from anyshape.codegen.interpreter.failures import raising
from anyshape.codegen.target import KERNEL, MemoryKind, Setup
from anyshape.codegen.targets import TARGETS, target_named
from anyshape.execute import Executable
from anyshape.execute.native import NativeExecutor
from anyshape.execute.target import target_for
from anyshape.loop.parser import parse_kernel
from anyshape.runtime.code import load_code

INTERPRETED = Options(target="interpreter")
RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(12, 12)).astype(np.float32)


@ash.jit
def block(x: ash.f32["batch", "seq", 12]):
    h = ash.gelu(x @ WEIGHTS)
    heads = h.reshape(-1, h.shape[1], 3, 4).transpose(0, 2, 1, 3)
    mixed = ash.attention(heads, heads, heads, causal=True)
    back = mixed.transpose(0, 2, 1, 3).reshape(h.shape) + x
    return ash.softmax(back), back.sum(axis=1), ash.cumsum(back, axis=1)[:, ::2]


@ash.jit
def of_any_width(q: ash.f32["batch", 2, "n", "d"]):
    return ash.attention(q, q, q)


@ash.jit
def branches(x: ash.f32["n"], choose: ash.bool[()]):
    chosen = ash.cond(choose, lambda x: ash.exp(x) * 3.0, lambda x: ash.tanh(x) - 5.0, x)
    return chosen[ash.nonzero(chosen > 0)]


@ash.jit
def plain(x: ash.f32["n"]):
    return ash.exp(x) + 1.0


def interpreted(function: Any, **choices: Any) -> Executable:
    return ash.compile(function, options=INTERPRETED, **choices)


# --- values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["native", "stepwise"])
@pytest.mark.parametrize("sizes", [(1, 1), (2, 5), (3, 8), (0, 4), (2, 0)])
def test_results_are_those_of_native_code(sizes: tuple[int, int], executor: str) -> None:
    x = RNG.normal(size=(*sizes, 12)).astype(np.float32)
    expected = ash.compile(block)(x)
    for found, wanted in zip(interpreted(block, executor=executor)(x), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


def test_the_plan_is_taken_in_full() -> None:
    """Arena, in-place results, names for other memory, and variants."""
    executable = interpreted(block)
    memory = executable.specialize(batch=2, seq=9).memory()
    assert memory.arena > 0
    assert memory.in_place + memory.aliased > 0
    assert {kernel.variant for kernel in executable.kernels} >= {"tiles", "few queries"}


def test_workspaces_are_where_the_plan_puts_them() -> None:
    executable = interpreted(of_any_width)
    assert all(kernel.kernel.workspaces for kernel in executable.kernels)
    q = RNG.normal(size=(2, 2, 7, 5)).astype(np.float32)
    np.testing.assert_allclose(executable(q), ash.compile(of_any_width)(q), rtol=2e-5, atol=2e-6)


def test_small_sizes_have_many_tasks() -> None:
    steps = interpreted(plain).specialize(n=20).steps
    assert [step.cost.tasks for step in steps] == [3]


@pytest.mark.parametrize("choose", [True, False])
def test_regions_and_host_nodes(choose: bool) -> None:
    x = RNG.normal(size=7).astype(np.float32)
    (found,) = interpreted(branches)(x, np.array(choose))
    (wanted,) = ash.compile(branches)(x, np.array(choose))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_functions_of_the_runtime_are_called_as_they_are() -> None:
    text = "graph sorted(x: f32[n]) -> (f32[n], i64[n]) {%0, %1 = sort(x) {axis=0} return %0, %1}"
    values, places = interpreted(ash.ir.parse(text))(np.array([3, 1, 2], np.float32))
    assert (values.tolist(), places.tolist()) == ([1, 2, 3], [1, 2, 0])


def test_sizes_are_refused_in_the_same_words() -> None:
    @ash.jit(axes=[ash.Axis("n", min=3, multiple_of=2)])
    def limited(x: ash.f32["n"], y: ash.f32["n"]):
        return x + y

    arrays = [(np.ones(a, np.float32), np.ones(b, np.float32)) for a, b in ((2, 2), (5, 5), (4, 6))]
    for given in arrays:
        messages = []
        for executable in (ash.compile(limited), interpreted(limited)):
            with pytest.raises(ShapeError) as caught:
                executable(*given)
            messages.append(str(caught.value))
        assert messages[0] == messages[1]
    for executable in (ash.compile(limited), interpreted(limited)):
        with pytest.raises(DimError, match="64 bits"):
            executable.specialize(n=1 << 62)


def test_no_llvm_is_loaded() -> None:
    script = (
        "import sys, numpy as np, anyshape as ash\n"
        "@ash.jit\n"
        "def f(x: ash.f32['n', 'm']):\n"
        "    return ash.softmax(x @ x.T)\n"
        "(y,) = ash.compile(f)(np.ones((2, 3), 'f'))\n"
        "print(y.tolist(), 'llvmlite' in sys.modules, 'anyshape.codegen.llvm.emit' in sys.modules)"
    )
    environment = {"ANYSHAPE_TARGET": "interpreter", "ANYSHAPE_CACHE_DIR": "off"}
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stdout == "[[0.5, 0.5], [0.5, 0.5]] False False\n"


# --- what is said of it ---------------------------------------------------------------------------


def test_reports_name_the_target() -> None:
    executable = interpreted(block)
    explanation = executable.explain()
    assert explanation.target == "interpreter target (loops, host memory)"
    first = str(explanation).splitlines()[0]
    assert first == f"block: native executor, 1 thread, {explanation.target}"
    assert (explanation.kernels.compiled, explanation.kernels.code_bytes) == (0, 0)
    assert ash.compile(block).explain().target == (
        f"native target ({target_for().isa}, host memory)"
    )
    assert {kernel.isa for kernel in executable.kernels} == {"loops"}


def test_kernels_have_loops_and_no_listings() -> None:
    (kernel,) = interpreted(plain).kernels
    assert "exp" in kernel.as_text()
    for what, show in (
        ("LLVM text", kernel.llvm),
        ("optimized LLVM text", lambda: kernel.llvm(optimized=True)),
        ("assembly", kernel.assembly),
    ):
        with pytest.raises(NoListingError) as caught:
            show()
        assert str(caught.value) == (
            f"kernels of target 'interpreter' have no {what}\n"
            "fix: its text is as_text(), or compile for another target"
        )


def test_a_form_that_machine_code_has_not_is_refused() -> None:
    (kernel,) = ash.compile(plain).kernels
    with pytest.raises(NoListingError) as caught:
        kernel.target.listing(kernel.kernel, "bytecode")
    assert str(caught.value) == (
        "kernels of target 'native' have no bytecode\n"
        "fix: ask for its LLVM text or optimized LLVM text or assembly, or compile for another "
        "target"
    )


def test_targets_that_there_are_not_are_refused() -> None:
    with pytest.raises(OptionError) as caught:
        ash.compile(plain, options=Options(target="gpu"))
    assert str(caught.value) == (
        "target='gpu' is not one of native, interpreter\n"
        "fix: set target to one of native, interpreter, or unset it"
    )


def test_it_has_no_instruction_sets() -> None:
    with pytest.raises(OptionError) as caught:
        ash.compile(plain, options=Options(target="interpreter", isa="avx2"))
    expected = "an instruction set of target 'interpreter', which has none"
    assert str(caught.value) == (
        f"isa='avx2' is not {expected}\nfix: set isa to {expected}, or unset it"
    )


def test_the_environment_chooses() -> None:
    assert options_from_environment({"ANYSHAPE_TARGET": "interpreter"}) == INTERPRETED
    assert options_from_environment({}).target == "native"


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_is_a_value(name: str) -> None:
    target, again = (target_for(Options(target=name)) for _ in range(2))
    assert target == again
    assert target.name == name
    assert target.memory is MemoryKind.HOST
    assert target.tiling.block % target.tiling.rows == 0


def test_nothing_is_measured_or_kept(tmp_path: Any) -> None:
    executable = ash.compile(plain, options=Options(cache_dir=tmp_path, target="interpreter"))
    executable(np.ones(3, np.float32))
    assert list(tmp_path.iterdir()) == []


# --- failures -------------------------------------------------------------------------------------


class BrokenError(Exception):
    """What a test puts into a function that native code calls."""


def breaks(*_: object) -> Any:
    raise BrokenError


@pytest.fixture
def broken_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "run_tasks", breaks)


X = np.ones(5, np.float32)
CALLS: dict[str, Callable[[Executable], object]] = {
    "call": lambda e: e(X),
    "limited": lambda e: e.run((X,), deadline=60),
    "out": lambda e: e.run((X,), out=[np.empty(5, np.float32)]),
    "steps": lambda e: list(e.steps(X)),
}


@pytest.mark.parametrize("executor", ["native", "stepwise"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.usefixtures("broken_kernels")
def test_what_a_kernel_raises_the_call_raises(
    call: Callable[[Executable], object], executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable = interpreted(plain, executor=executor)
    for _ in range(2):
        with pytest.raises(BrokenError):
            call(executable)
    monkeypatch.undo()
    (found,) = executable(X)
    np.testing.assert_allclose(found, np.exp(X) + 1, rtol=1e-6)


@pytest.mark.parametrize("stage", ["bind", "shape"])
def test_so_does_level_2(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = interpreted(plain)
    monkeypatch.setattr(functions, stage, breaks)
    with pytest.raises(BrokenError):
        executable(X)
    if stage == "shape":
        for ask in (executable.specialize, executable.reserve):
            with pytest.raises(BrokenError):
                ask(n=9)
    monkeypatch.undo()
    assert len(executable(X)) == 1


def test_an_interrupt_ends_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(functions, "run_tasks", interrupt)
    with pytest.raises(KeyboardInterrupt):
        interpreted(plain)(X)


def test_nothing_runs_after_the_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []

    def fails_once(*_: object) -> None:
        ran.append(None)
        raise BrokenError(len(ran))

    executable = interpreted(block)
    assert len(executable.specialize(batch=2, seq=3).steps) > 1
    monkeypatch.setattr(functions, "run_tasks", fails_once)
    with pytest.raises(BrokenError, match="1"):
        executable(np.ones((2, 3, 12), np.float32))
    assert len(ran) == 1


def test_threads_keep_their_failures_to_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    run_tasks, found = functions.run_tasks, dict[int, object]()

    def fails_for_short(kernel: Any, memory: Any, sizes: Any, tasks: range) -> None:
        if 3 in sizes.values():
            raise BrokenError
        run_tasks(kernel, memory, sizes, tasks)

    monkeypatch.setattr(functions, "run_tasks", fails_for_short)
    executable = interpreted(plain)

    def call(size: int) -> None:
        for _ in range(20):
            try:
                found[size] = executable(np.ones(size, np.float32))[0].shape
            except BrokenError as error:
                found[size] = type(error)

    threads = [Thread(target=call, args=(size,)) for size in (2, 3, 40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {2: (2,), 3: BrokenError, 40: (40,)}


OUTSIDE = """
kernel (n0; x: f32[n0], y: f32[n0] written) tasks t < n0 {
  y[t] = x[t + 1]
}
"""


def test_an_access_outside_is_an_error() -> None:
    generator = target_named("interpreter", None).generator(Setup(load_code))  # type: ignore[arg-type]
    (code,) = generator.code([parse_kernel(OUTSIDE)]).codes
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    words = (ctypes.c_int64 * 3)(x.ctypes.data, y.ctypes.data, 4)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)
    kernel = signature(code.address(KERNEL))
    with raising():
        kernel(words, 0, 3, 0)
    assert y.tolist() == [1, 2, 3, 0]
    with pytest.raises(VerifyError, match="is outside"), raising():
        kernel(words, 3, 4, 0)


# --- lifetimes ------------------------------------------------------------------------------------


def test_functions_live_as_long_as_their_program() -> None:
    executable = interpreted(plain)
    assert isinstance(executable.executor, NativeExecutor)
    run = executable.executor.run
    del executable
    gc.collect()
    assert len(run((X,))) == 1


def test_equal_kernels_share_their_functions() -> None:
    first = interpreted(plain)
    assert interpreted(plain).explain().kernels.from_memory == 2
    alive = weakref.ref(first)
    del first
    gc.collect()
    assert alive() is None
    assert interpreted(plain).explain().kernels.from_memory == 0
