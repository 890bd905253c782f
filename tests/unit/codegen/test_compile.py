"""compile_object(): what LLVM's output looks like, and what its errors say."""

import subprocess
import sys
from collections import Counter
from importlib import import_module

import pytest
from tests.unit.codegen import kernels
from tests.unit.codegen.elf_edit import ElfEdit
from tests.watchdog import HANGS_AFTER

from anyshape.base.errors import CompileError, UndefinedSymbolError
from anyshape.codegen.llvm.compile import Tuning, compile_object, kernel_name
from anyshape.codegen.llvm.elf import undefined_symbols
from anyshape.codegen.llvm.emitting import IntegerModule, compile_source
from anyshape.codegen.llvm.object_key import object_key
from anyshape.codegen.llvm.target import NAMED_TARGETS, LlvmTarget
from anyshape.runtime import _native

X86_64, AARCH64 = 62, 183


@pytest.mark.parametrize("kernel", kernels.ALL)
@pytest.mark.parametrize("target", kernels.TARGETS)
def test_every_kernel_compiles_and_links_for_every_target(kernel: str, target: str):
    chosen = kernels.TARGETS[target]
    elf_object = compile_object(kernels.text_for(kernel, chosen), chosen)
    assert undefined_symbols(elf_object) == ()
    assert len(_native._link(elf_object, 0x7F00_0000_0000)) % 4096 == 0


def test_machine_of_the_object():
    machines = {
        name: ElfEdit(compile_object(kernels.ADD, target)).machine
        for name, target in NAMED_TARGETS.items()
    }
    x86_64 = {name for name, machine in machines.items() if machine == X86_64}
    levels = {"sse2", "avx2", "avx2-vnni", "avx512", "avx512-vnni"}
    assert x86_64 == {f"x86-64-{level}" for level in levels}
    assert machines["aarch64-neon"] == AARCH64


@pytest.mark.parametrize("target", NAMED_TARGETS)
def test_compiling_is_deterministic(target: str):
    chosen = NAMED_TARGETS[target]
    text = kernels.text_for("gemm", chosen)
    assert compile_object(text, chosen) == compile_object(text, chosen)


def relocation_types(text: str, target: LlvmTarget) -> list[int]:
    return ElfEdit(compile_object(text, target)).relocation_types()


def test_relocations_stay_within_the_kinds_we_know():
    """What LLVM emits for hidden symbols: no global offset table, no absolute 32-bit addresses."""
    kinds = {
        name: {
            kind
            for kernel in kernels.ALL
            for kind in relocation_types(kernels.text_for(kernel, target), target)
        }
        for name, target in NAMED_TARGETS.items()
    }
    x86_64 = [kinds[name] for name in kinds if name.startswith("x86-64")]
    assert x86_64 == [{1, 2, 4}] * 5  # 64, PC32, PLT32
    # ABS64, ADR_PREL_PG_HI21, ADD_ABS_LO12_NC, JUMP26, CALL26, LDST64_ABS_LO12_NC
    assert kinds["aarch64-neon"] <= {257, 275, 277, 282, 283, 285, 286}


def test_no_unwind_tables_and_no_mutable_sections():
    names = Counter(ElfEdit(compile_object(kernels.TABLES, kernels.HOST)).section_names())
    assert not any(name.startswith((".eh_frame", ".got", ".data.rel.local")) for name in names)
    assert names.keys().isdisjoint({".data", ".bss"})


def test_vectorizers_can_be_switched_off():
    target = NAMED_TARGETS["x86-64-avx2"]
    plain = compile_object(kernels.ADD, target, Tuning(loop_vectorize=False, slp_vectorize=False))
    assert len(plain) < len(compile_object(kernels.ADD, target))


# ---- errors ------------------------------------------------------------------------------------


def test_integer_modules_are_left_as_they_are():
    """Told by what the source is, not by what its text contains."""
    target = NAMED_TARGETS["x86-64-avx512"]
    whole = compile_source(kernels.ADD, target)
    plain = compile_source(IntegerModule(kernels.ADD), target)
    assert whole == compile_object(kernels.ADD, target)
    assert plain == compile_object(kernels.ADD, target, optimize=False)
    assert whole != plain
    assert object_key(kernels.ADD, target, Tuning()) != object_key(
        IntegerModule(kernels.ADD), target, Tuning()
    )


def test_syntax_error_names_the_kernel_and_the_line():
    with pytest.raises(CompileError) as caught:
        compile_object("define void @broken() {\n  %x = nonsense\n  ret void\n}", kernels.HOST)
    assert caught.value.kernel == "broken"
    assert "kernel 'broken' does not compile: LLVM IR parsing error" in str(caught.value)
    assert "nonsense" in caught.value.problem


def test_verifier_error():
    text = """
define void @loops_to_entry(i1 %c) {
entry:
  %x = add i32 %y, 1
  %y = add i32 %x, 1
  ret void
}"""
    with pytest.raises(CompileError, match="Instruction does not dominate all uses") as caught:
        compile_object(text, kernels.HOST)
    assert caught.value.kernel == "loops_to_entry"


def test_undefined_symbols_are_named():
    text = """
declare float @llvm.exp.f32(float)
declare float @helper(float)
define float @soft(float %x) {
  %a = call float @llvm.exp.f32(float %x)
  %b = call float @helper(float %a)
  %c = frem float %a, %b
  ret float %c
}"""
    with pytest.raises(UndefinedSymbolError) as caught:
        compile_object(text, kernels.HOST)
    assert (caught.value.kernel, caught.value.symbols) == ("soft", ("expf", "fmodf", "helper"))
    assert str(caught.value) == (
        "kernel 'soft' does not compile: undefined symbols expf, fmodf, helper\n"
        "fix: emit the operation from instructions that the target has, not as a library call"
    )


def test_unknown_triple():
    with pytest.raises(CompileError, match="add"):
        compile_object(kernels.ADD, LlvmTarget("z80-unknown-cpm", "scalar"))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (kernels.ADD, "add"),
        ('define internal void @helper() {\ndefine void @"a b"(i32 %x) {', "a b"),
        ("define noalias ptr @f(ptr %p)\n{", "f"),
        ("declare void @g()", "(no public function)"),
    ],
)
def test_kernel_name(text: str, name: str):
    assert kernel_name(text) == name


# ---- LLVM is loaded by those who compile -------------------------------------------------------


def test_importing_everything_does_not_load_llvm():
    script = (
        "import sys, anyshape.codegen.llvm.compiler, anyshape.codegen.cache, anyshape.runtime\n"
        "from anyshape.codegen.llvm import compile, target, toolchain, worker, workers\n"
        "toolchain.toolchain_identity()\n"
        "print('llvmlite' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


def test_pass_managers_are_freed(monkeypatch: pytest.MonkeyPatch):
    """llvmlite's own `close` leaves them, 70 KB for each module that was optimised."""
    managers = import_module("llvmlite.binding.newpassmanagers")
    freed: list[object] = []
    free = managers.NewPassManager._dispose

    def freeing(manager: object) -> None:
        freed.append(manager)
        free(manager)

    monkeypatch.setattr(managers.NewPassManager, "_dispose", freeing)
    for _ in range(3):
        compile_object(kernels.ADD, NAMED_TARGETS["x86-64-avx2"])
    assert len(freed) == 3


EIGHT_TURNS = """
import numpy as np
import anyshape as ash

@ash.jit
def f(x: ash.f32[8, "n"]):
    return ash.softmax(ash.erfinv(x), axis=0)

for n in 1, 37:
    x = np.linspace(-0.9, 0.9, 8 * n, dtype=np.float32).reshape(8, n)
    assert np.abs(f(x).sum(0) - 1).max() < 1e-5
"""


def test_loops_of_eight_turns_compile():
    """LLVM 22 looks for checksums in these, along every way through what they compute."""
    subprocess.run([sys.executable, "-c", EIGHT_TURNS], check=True, timeout=HANGS_AFTER)
