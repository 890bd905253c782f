"""What compiling and loading a kernel costs: cold through LLVM, warm from disk.

    .venv/bin/python benchmarks/compile_time.py [--repeat 15]

Each figure is the median over fresh processes, since the first compilation of a process also pays
for loading LLVM. `warm` is everything from the kernel's text to an address that can be called: key,
file, checks, mapping; not the start of Python and its imports, which are shown apart.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

MAP_KERNEL = """
define void @scale_add(ptr noalias %a, ptr noalias %b, ptr noalias %c, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %pa = getelementptr float, ptr %a, i64 %i
  %pb = getelementptr float, ptr %b, i64 %i
  %pc = getelementptr float, ptr %c, i64 %i
  %x = load float, ptr %pa
  %y = load float, ptr %pb
  %s = fmul float %x, 0x3FB99999A0000000
  %z = fadd float %s, %y
  store float %z, ptr %pc
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
KERNELS = {
    "map": (MAP_KERNEL, "scale_add"),
    "gemm": ((Path(__file__).parent / "gemm.ll").read_text(), "gemm"),
}


def measure_here(kernel: str, folder: Path) -> dict[str, float]:
    """Times of one process, in milliseconds."""
    started = time.perf_counter()
    from anyshape.codegen.cache import ObjectCache  # noqa: PLC0415 - the import is measured
    from anyshape.codegen.compiler import Compiler  # noqa: PLC0415
    from anyshape.codegen.llvm.target import host_target  # noqa: PLC0415
    from anyshape.runtime import cpu_identity, load_code  # noqa: PLC0415

    imported = time.perf_counter()
    text, function = KERNELS[kernel]
    compiler = Compiler(host_target(cpu_identity()), cache=ObjectCache(folder))
    (elf_object,) = compiler.compile([text])
    compiled = time.perf_counter()
    load_code(elf_object).address(function)
    loaded = time.perf_counter()
    assert ("llvmlite" in sys.modules) == (not list(folder.parent.glob("warm")))

    second = Compiler(host_target(cpu_identity()))
    begin = time.perf_counter()
    if "llvmlite" in sys.modules:
        second.compile([text])
    again = time.perf_counter() - begin
    seconds = {
        "import": imported - started,
        "first": loaded - imported,
        "map": loaded - compiled,
        "again": again,
    }
    return {name: 1e3 * value for name, value in seconds.items()}


def measure(kernel: str, folder: Path, repeat: int, *, warm: bool) -> dict[str, float]:
    """Medians over fresh processes that share a folder (warm) or have one each (cold)."""
    runs: list[dict[str, float]] = []
    for number in range(repeat):
        place = folder / (kernel if warm else f"{kernel}-{number}")
        command = [sys.executable, __file__, "--child", kernel, str(place / "objects")]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        runs.append(json.loads(output))
        if warm:
            (place / "warm").touch()
    chosen = runs[1:] if warm else runs
    return {name: median(run[name] for run in chosen) for name in chosen[0]}


def report(repeat: int) -> None:
    """Print the table."""
    print("milliseconds   import   first compile   compile again   warm from disk   of it mapping")
    with tempfile.TemporaryDirectory() as name:
        for kernel in KERNELS:
            cold = measure(kernel, Path(name) / "cold", max(3, repeat // 3), warm=False)
            warm = measure(kernel, Path(name) / "shared", repeat + 1, warm=True)
            print(
                f"{kernel:12} {warm['import']:8.1f} {cold['first']:15.1f} {cold['again']:15.1f}"
                f" {warm['first']:16.2f} {warm['map']:15.3f}"
            )


def main() -> None:
    """Measure, or be one measured process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--child", nargs=2, metavar=("KERNEL", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure_here(arguments.child[0], Path(arguments.child[1]))))
    else:
        report(arguments.repeat)


if __name__ == "__main__":
    main()
