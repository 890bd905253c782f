"""load_code(): code that runs, objects that are refused, and thousands that are damaged."""

import ctypes
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.unit.codegen import kernels
from tests.unit.codegen.elf_edit import ElfEdit, mutated

from anyshape.base.errors import CodeError
from anyshape.codegen.llvm.compile import compile_object
from anyshape.codegen.llvm.target import NAMED_TARGETS
from anyshape.runtime import Code, _native, load_code

P, I32, I64, F64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_double
OBJECTS = {
    (name, key): compile_object(kernels.text_for(name, target), target)
    for name in kernels.ALL
    for key, target in kernels.TARGETS.items()
}
TABLES = OBJECTS["tables", "host"]
ADD = OBJECTS["add", "host"]


def loaded(name: str) -> Code:
    return load_code(OBJECTS[name, "host"])


def call(code: Code, name: str, result, *signature):
    function = ctypes.CFUNCTYPE(result, *signature)(code.address(name))
    function.code = code  # the address is good only as long as the code lives
    return function


# ---- running -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 7, 64, 1000])
def test_add(n: int):
    code = loaded("add")
    rng = np.random.default_rng(n)
    a, b = rng.random((2, n + 1), np.float32)
    c = np.full(n + 1, -1, np.float32)
    call(code, "add", None, P, P, P, I64)(a.ctypes.data, b.ctypes.data, c.ctypes.data, n)
    np.testing.assert_array_equal(c[:n], (a + b)[:n])
    assert c[n] == -1


def test_gemm():
    code = loaded("gemm")
    m, k, n = 13, 37, 32
    rng = np.random.default_rng(0)
    a, w, bias = (rng.random(s, np.float32) for s in ((m, k), (k, n), (n,)))
    raw = np.zeros(n * k + 16, np.float32)
    packed = raw[(-raw.ctypes.data % 64) // 4 :][: n * k].reshape(n // 16, k, 16)
    packed[:] = w.reshape(k, n // 16, 16).transpose(1, 0, 2)
    c = np.empty((m, n), np.float32)
    gemm = call(code, "gemm", None, P, I64, I64, P, I64, P, P)
    gemm(a.ctypes.data, m, k, packed.ctypes.data, n, c.ctypes.data, bias.ctypes.data)
    np.testing.assert_allclose(c, a @ w + bias, rtol=1e-5)


def test_constants_tables_calls_and_jump_tables():
    code = loaded("tables")
    dispatch, choose = (
        call(code, name, I32, kind, I32) for name, kind in (("dispatch", I64), ("choose", I32))
    )
    assert [dispatch(i, 5) for i in range(3)] == [15 + 100, (5 ^ 77) + 200, (5 ^ 77) + 1 + 300]
    assert [choose(i, 50) for i in range(5)] == [150, 7, 50 ^ 77, 2500, -1]
    square = call(code, "square", I32, I64)
    assert [square(i) for i in range(8)] == [i * i for i in range(8)]
    assert call(code, "polynomial", F64, F64)(2.0) == 2.0 * 3.25 + 0.1


SIZES = [*range(40), 63, 64, 65, 95, 96, 97, 128, 1000]


@pytest.mark.parametrize("n", SIZES)
def test_loops_that_llvm_makes_memory_calls(n: int):
    source = np.random.default_rng(n).integers(0, 256, 2 * n + 8, np.uint8)
    buffer = source.copy()
    call(loaded("copy"), "copy", None, P, P, I64)(buffer.ctypes.data, source[n:].ctypes.data, n)
    np.testing.assert_array_equal(buffer, [*source[n : 2 * n], *source[n:]])

    buffer = source.copy()
    call(loaded("shift"), "shift", None, P, I64)(buffer.ctypes.data, n)
    np.testing.assert_array_equal(buffer, [*source[1 : n + 1], *source[n:]])

    floats = np.ones(n + 1, np.float32)
    call(loaded("fill"), "fill", None, P, I64)(floats.ctypes.data, n)
    np.testing.assert_array_equal(floats, [*[0] * n, 1])


@pytest.mark.parametrize("n", SIZES)
def test_memset_and_overlapping_memmove(n: int):
    rng = random.Random(n)
    move = call(loaded("move_bytes"), "move_bytes", None, P, P, I64)
    fill = call(loaded("fill_bytes"), "fill_bytes", None, P, ctypes.c_uint8, I64)
    for gap in (0, 1, 2, 15, 31, 32, 33, 64, n):
        for to, start in ((gap, 0), (0, gap)):
            expected = bytearray(rng.randbytes(n + gap + 2))
            actual = np.array(expected)
            base = actual.ctypes.data
            move(base + to, base + start, n)
            expected[to : to + n] = expected[start : start + n]
            assert actual.tobytes() == expected
            fill(base + to, gap + 200, n)
            expected[to : to + n] = bytes([(gap + 200) % 256]) * n
            assert actual.tobytes() == expected


def test_memory_calls_come_with_the_kernel():
    assert [f.name for f in loaded("copy").functions] == ["copy", "memcpy", "memmove"]
    assert [f.name for f in loaded("fill").functions] == ["fill", "memset"]


# ---- the value ---------------------------------------------------------------------------------


def test_addresses_lie_in_executable_memory_and_nothing_is_writable():
    code = loaded("tables")
    first = min(function.address for function in code.functions)
    start = first & ~4095
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    ranges = [(*(int(end, 16) for end in line[0].split("-")), line[1]) for line in lines]
    ours = [
        (begin, end, mode)
        for begin, end, mode in ranges
        if begin < start + code.mapped_bytes and end > start
    ]
    assert ours[0][2] == "r-xp"
    assert all("w" not in mode for _, _, mode in ours)
    assert all(start <= f.address < start + code.mapped_bytes for f in code.functions)


def test_functions_are_sorted_and_have_sizes():
    functions = loaded("tables").functions
    names = [function.name for function in functions]
    assert names == ["choose", "dispatch", "flip_add", "polynomial", "square", "triple"]
    assert all(function.size > 0 for function in functions)


def test_unknown_function():
    with pytest.raises(CodeError) as caught:
        load_code(ADD).address("nope")
    assert str(caught.value) == (
        "cannot use object code: no function 'nope'; it has add\n"
        "fix: compile it again, for this machine"
    )


def test_memory_is_given_back():
    def resident_pages() -> int:
        return int(Path("/proc/self/statm").read_text().split()[0])

    load_code(ADD)
    before = resident_pages()
    for _ in range(2000):
        load_code(ADD)
    assert resident_pages() - before < 500


# ---- perf --------------------------------------------------------------------------------------


def test_perf_map():
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    path.unlink(missing_ok=True)
    try:
        code = load_code(ADD, perf_map=True)
        add = code.functions[0]
        assert path.read_text() == f"{add.address:x} {add.size:x} add\n"
        assert path.stat().st_mode & 0o777 == 0o600
        load_code(ADD, perf_map=True)
        assert path.read_text().count(" add\n") == 2
    finally:
        path.unlink(missing_ok=True)


# ---- objects that are refused ------------------------------------------------------------------


def refusal(content: bytes) -> str:
    with pytest.raises(CodeError) as caught:
        load_code(content)
    return caught.value.problem


def test_not_an_object():
    assert refusal(b"") == "not an ELF file"
    assert refusal(b"hello" * 100) == "not an ELF file"
    assert refusal(Path(sys.executable).read_bytes()[:4096]) == "not a relocatable object"


def test_another_machine():
    problem = refusal(OBJECTS["add", "aarch64-neon"])
    assert problem == "code for aarch64 does not run on this machine"


@pytest.mark.parametrize(
    ("form", "at", "value", "problem"),
    [
        ("B", 4, 1, "not a 64-bit ELF file"),
        ("B", 5, 2, "not a little-endian ELF file"),
        ("H", 16, 3, "not a relocatable object"),
        ("H", 18, 40, "not for x86-64 or aarch64"),
        ("Q", 40, 1 << 62, "the section headers are cut short"),
        ("H", 58, 63, "section headers of an unknown size"),
        ("H", 60, 65535, "the section headers are cut short"),
        ("H", 62, 999, "the section names are missing"),
    ],
)
def test_bad_file_header(form: str, at: int, value: int, problem: str):
    assert refusal(ElfEdit(ADD).put(form, at, value)) == problem


@pytest.mark.parametrize(
    ("field", "form", "value", "problem"),
    [
        (0, "I", 1 << 30, "a name lies outside its string table"),
        (8, "Q", 0x406, "section .text is thread-local"),
        (8, "Q", 0x7, "section .text is code that changes"),
        (8, "Q", 0x3, "section .text is data that changes"),
        (4, "I", 14, "section .text has code to run at load time"),
        (24, "Q", (1 << 64) - 8, "a section is cut short"),
        (32, "Q", 1 << 63, "a section is too large"),
        (32, "Q", 1 << 20, "a section is cut short"),
        (48, "Q", 3, "a section has an impossible alignment"),
        (48, "Q", 1 << 20, "a section has an impossible alignment"),
        (8, "Q", 0, "the object has no code"),
    ],
)
def test_bad_section(field: int, form: str, value: int, problem: str):
    edit = ElfEdit(ADD)
    assert refusal(edit.put(form, edit.section(".text").at + field, value)) == problem


@pytest.mark.parametrize(
    ("field", "form", "value", "problem"),
    [
        (6, "H", 500, "a symbol lies in a section that is not there"),
        (8, "Q", 1 << 40, "a symbol lies outside its section"),
        (16, "Q", (1 << 64) - 1, "a symbol lies outside its section"),
        (16, "Q", 0, "function 'triple' has no code"),
        (6, "H", 0, "unresolved symbol 'triple'"),
        (6, "H", 0xFFF1, "unresolved symbol 'triple'"),
    ],
)
def test_bad_symbol(field: int, form: str, value: int, problem: str):
    edit = ElfEdit(TABLES)
    assert refusal(edit.put(form, edit.symbol("triple") + field, value)) == problem


def test_symbol_defined_twice():
    edit = ElfEdit(TABLES)
    name = edit.get("I", edit.symbol("square"))
    assert refusal(edit.put("I", edit.symbol("choose"), name)) == "symbol 'square' is defined twice"


def first_relocation(edit: ElfEdit, kind: int) -> int:
    return next(at for at in edit.relocations() if edit.get("I", at + 8) == kind)


@pytest.mark.parametrize(
    ("field", "form", "value", "problem"),
    [
        (0, "Q", 1 << 40, "section .text has a relocation outside of it"),
        (8, "I", 42, "relocation of type 42 (x86-64) is not supported"),
        (8, "I", 11, "relocation of type 11 is out of reach"),  # 32S, above 2 GiB
        (12, "I", 4000, "a relocation refers to a symbol that is not there"),
        (12, "I", 0, "unresolved symbol ''"),
        (16, "Q", 1 << 40, "relocation of type 4 is out of reach"),
    ],
)
def test_bad_relocation(field: int, form: str, value: int, problem: str):
    if os.uname().machine != "x86_64":
        pytest.skip("edits an object for x86-64")
    edit = ElfEdit(TABLES)
    at = first_relocation(edit, 4)
    assert refusal(edit.put(form, at + field, value)).startswith(problem)


def test_relocation_at_the_end_of_its_section():
    edit = ElfEdit(OBJECTS["tables", "x86-64-avx2"])
    size = edit.section(".text").size
    for missing in (1, 3):
        content = edit.put("Q", first_relocation(edit, 4), size - missing)
        with pytest.raises(_native.ObjectError, match="lies outside its section"):
            _native._link(content, 1 << 40)
    _native._link(edit.put("Q", first_relocation(edit, 4), size - 4), 1 << 40)


# ---- aarch64, linked but not run ---------------------------------------------------------------


def aarch64_field(kind: int, base: int, addend: int = 0) -> int:
    """The instruction that a relocation of one kind makes of a word of zeros, at `base` + 16."""
    edit = ElfEdit(OBJECTS["tables", "aarch64-neon"])
    for at in edit.relocations()[1:]:
        edit.put("I", at + 8, 0)  # R_AARCH64_NONE is not among the supported kinds...
    keep = edit.relocations()[0]
    header = next(h for h in edit.headers() if h.type == 4)
    edit.put("Q", header.at + 32, 24)  # ...so cut the table to one entry
    for other in (h for h in edit.headers() if h.type == 4 and h.at != header.at):
        edit.put("Q", other.at + 32, 0)
    text = edit.headers()[header.info]
    edit.put("I", text.offset + 16, 0)
    edit.put("Q", keep, 16)
    edit.put("I", keep + 8, kind)
    edit.put("Q", keep + 16, addend)
    symbol = 24 * edit.get("I", keep + 12) + next(h for h in edit.headers() if h.type == 2).offset
    edit.put("Q", symbol + 8, 0)
    edit.put("Q", symbol + 16, 0)
    image = _native._link(edit.put("H", symbol + 6, edit.headers().index(text)), base)
    return int.from_bytes(image[16:20], "little")


# The symbol is at the base, the place 16 bytes further on.
@pytest.mark.parametrize(
    ("kind", "addend", "expected"),
    [
        (283, 0, 0x3FFFFFC),  # CALL26: 4 instructions back
        (282, 0x1000, 0x3FC),  # JUMP26: 4096 - 16 bytes on
        (280, 16 + 8, 2 << 5),  # CONDBR19
        (279, 16 - 4, 0x3FFF << 5),  # TSTBR14
        (275, 0x5000, (5 & 3) << 29 | (5 >> 2) << 5),  # ADR_PREL_PG_HI21: 5 pages on
        (275, -0x1000, 3 << 29 | 0x7FFFF << 5),  # one page back
        (274, 16 + 5, 1 << 29 | 1 << 5),  # ADR_PREL_LO21
        (277, 0xABC, 0xABC << 10),  # ADD_ABS_LO12_NC
        (278, 0x123, 0x123 << 10),  # LDST8
        (284, 0x122, 0x91 << 10),  # LDST16
        (285, 0x124, 0x49 << 10),  # LDST32
        (286, 0x128, 0x25 << 10),  # LDST64
        (299, 0x120, 0x12 << 10),  # LDST128
        (261, 0, 2**32 - 16),  # PREL32
    ],
)
def test_aarch64_relocations(kind: int, addend: int, expected: int):
    assert aarch64_field(kind, 0x7F12_3456_0000, addend % 2**64) == expected


@pytest.mark.parametrize(
    ("kind", "addend", "problem"),
    [
        (283, 2, "is misaligned"),
        (283, 1 << 28, "is out of reach"),
        (280, 1 << 21, "is out of reach"),
        (275, 1 << 33, "is out of reach"),
        (286, 4, "is misaligned"),
        (299, 8, "is misaligned"),
        (311, 0, "is not supported"),  # ADR_GOT_PAGE
    ],
)
def test_aarch64_relocations_that_do_not_fit(kind: int, addend: int, problem: str):
    with pytest.raises(_native.ObjectError, match=problem):
        aarch64_field(kind, 0x7F12_3456_0000, addend)


# ---- damaged objects ---------------------------------------------------------------------------


@pytest.mark.parametrize("key", OBJECTS, ids="-".join)
def test_damaged_objects_are_loaded_or_refused(key: tuple[str, str]):
    """Nothing is executed: a damaged object that is accepted is still somebody's code."""
    rng = random.Random("-".join(key))
    outcomes = {"accepted": 0, "refused": 0}
    for _ in range(600):
        damaged = mutated(OBJECTS[key], rng)
        try:
            _native._link(damaged, 0x7F00_0000_0000)
            load_code(damaged)
            outcomes["accepted"] += 1
        except (_native.ObjectError, CodeError):
            outcomes["refused"] += 1
    assert outcomes["refused"] > 50
    assert outcomes["accepted"] > (5 if key[1] != "aarch64-neon" else -1)


@pytest.mark.parametrize("target", NAMED_TARGETS)
def test_every_truncation_is_refused_or_harmless(target: str):
    content = OBJECTS["tables", target]
    for size in range(len(content)):
        with pytest.raises(_native.ObjectError):
            _native._link(content[:size], 1 << 40)


# ---- a process that only runs ------------------------------------------------------------------


def test_cached_code_runs_without_llvm(tmp_path: Path):
    script = """
import ctypes, sys
from pathlib import Path
from anyshape.codegen.cache import ObjectCache
from anyshape.codegen.llvm.compiler import Compiler
from anyshape.execute.target import target_for
from anyshape.runtime import load_code
compiler = Compiler(target_for().llvm, cache=ObjectCache(Path(sys.argv[1])))
code = load_code(compiler.compile([sys.argv[2]])[0])
value = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(code.address("square"))(7)
print(value, "llvmlite" in sys.modules)
"""
    command = [sys.executable, "-c", script, str(tmp_path / "objects"), kernels.TABLES]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert [run.stdout for run in runs] == ["49 True\n", "49 False\n"]
