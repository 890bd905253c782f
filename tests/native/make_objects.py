"""Writes objects for the loader's fuzzer: python -m tests.native.make_objects <folder>."""

import sys
from pathlib import Path

from tests.unit.codegen import kernels

from anyshape.codegen.llvm.compile import compile_object

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for target_name, target in kernels.TARGETS.items():
    for kernel_name in kernels.ALL:
        path = folder / f"{kernel_name}-{target_name}.o"
        path.write_bytes(compile_object(kernels.text_for(kernel_name, target), target))
