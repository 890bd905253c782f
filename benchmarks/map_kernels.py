"""Map and row kernels: time against a plain copy of the same bytes, and against torch.

    python -m benchmarks.map_kernels [--torch PYTHON] [--assembly NAME]

One thread. The copy and the map run in this process, taking turns; torch runs in a process of its
own, which takes turns with ours. `--assembly` prints a kernel's code instead of timing.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy.typing import NDArray
from tests.unit.codegen.emit import examples
from tests.unit.codegen.emit.harness import HOST, compiled

from anyshape.codegen.llvm.emit import emit_kernel
from anyshape.loop import Kernel

TORCH = """
import json, sys, time, torch
torch.set_num_threads(1)
def best(run, seconds=1.0):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter(); run(); times.append(time.perf_counter() - start)
    return min(times)
x, w = torch.randn(4096, 768), torch.ones(768)
flat, b, s = torch.randn(16384, 1024), torch.randn(1024), torch.randn(16384, 1)
runs = {
    "softmax": lambda: torch.softmax(x, 1),
    "layer_norm": lambda: torch.nn.functional.layer_norm(x, (768,), w, w),
    "gelu": lambda: torch.nn.functional.gelu(x),
    "five_ops": lambda: torch.relu((flat + b) * s - flat * 0.5),
}
for line in sys.stdin:
    print(json.dumps(best(runs[line.strip()])), flush=True)
"""


def best(run: Callable[[], object], seconds: float = 1.0) -> float:
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def caller(
    kernel: Kernel, arrays: Sequence[NDArray[Any]], sizes: Sequence[int]
) -> Callable[[], None]:
    """The native call alone, with its block made beforehand."""
    made = compiled(kernel)
    words = [*(array.ctypes.data for array in arrays), *sizes]
    block = (ctypes.c_int64 * len(words))(*words)
    tasks = kernel.tasks.evaluate(dict(zip(kernel.sizes, sizes, strict=True)))
    return lambda: made.function(block, 0, tasks, 0)


def workloads() -> dict[str, Callable[[], None]]:
    rng = np.random.default_rng(0)

    def floats(*shape: int) -> NDArray[Any]:
        return rng.normal(size=shape).astype(np.float32)

    rows, flat = floats(4096, 768), floats(16384, 1024)
    b, s, w = floats(1024), floats(16384), floats(768)
    outs = np.ones_like(rows), np.ones_like(flat)
    return {
        "softmax": caller(examples.softmax_kernel(), [rows, outs[0]], [4096, 768]),
        "layer_norm": caller(examples.layer_norm_kernel(), [rows, w, w, outs[0]], [4096, 768]),
        "gelu": caller(examples.gelu_kernel(), [rows, outs[0]], [4096, 768]),
        "five_ops": caller(examples.five_ops_kernel(), [flat, b, s, outs[1]], [16384, 1024]),
        "copy of 16 M floats": lambda: np.copyto(outs[1], flat),
        "copy of 4096 x 768": lambda: np.copyto(outs[0], rows),
    }


def assembly(kernel: Kernel) -> str:
    """What LLVM makes of it on this machine."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(HOST.triple).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="pic",
        codemodel="small",
    )
    module = llvm.parse_assembly(emit_kernel(kernel, HOST))
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", default=sys.executable, help="a Python that has torch")
    parser.add_argument("--assembly", choices=examples.ALL, help="print a kernel's code")
    options = parser.parse_args()
    if options.assembly:
        print(assembly(examples.ALL[options.assembly]))
        return
    peer = subprocess.Popen(
        [options.torch, "-c", TORCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert peer.stdin
    assert peer.stdout
    runs = workloads()
    copies = {name: best(run) for name, run in runs.items() if name.startswith("copy")}
    for name, seconds in copies.items():
        print(f"{name:22} {seconds * 1e3:8.2f} ms")
    for name in ("five_ops", "softmax", "layer_norm", "gelu"):
        ours = best(runs[name])
        peer.stdin.write(name + "\n")
        peer.stdin.flush()
        theirs = float(json.loads(peer.stdout.readline()))
        copy = copies["copy of 16 M floats" if name == "five_ops" else "copy of 4096 x 768"]
        print(
            f"{name:22} {ours * 1e3:8.2f} ms   {ours / copy:5.2f} x copy   "
            f"torch {theirs * 1e3:8.2f} ms   {ours / theirs:5.2f} x torch"
        )
    peer.stdin.close()
    peer.wait()


if __name__ == "__main__":
    main()
