"""What may be wrong with the folder of compiled kernels: compiling goes on, and results are right.

The cache itself is tested in tests/unit/codegen/test_cache.py; here whole Executables are made, in
processes of their own.
"""

import ctypes
import os
import resource
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import anyshape as ash
from anyshape.base.options import Options
from anyshape.base.private_folder import own_folder
from anyshape.codegen.cache import encode_entry
from anyshape.codegen.llvm.compile import compile_object
from anyshape.execute.target import target_for

WEIGHT = np.random.default_rng(0).standard_normal((16, 24)).astype(np.float32)


@ash.jit
def model(x: ash.f32["n", 16]):
    return ash.softmax(ash.tanh(x @ WEIGHT))


def check(folder: Path) -> None:
    """Compiles, calls and forgets: the next time its code comes from the folder, if it can."""
    executable = ash.compile(model, options=Options(cache_dir=folder, calibrate=False))
    reference = ash.compile(model, executor="reference")
    for n in (0, 1, 17):
        x = np.random.default_rng(n).standard_normal((n, 16)).astype(np.float32)
        np.testing.assert_allclose(executable(x)[0], reference(x)[0], rtol=1e-5)


def entries(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in sorted(own_folder(folder, "objects").glob("*.o"))
    }


def in_folder(scenario: Callable[[Path], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        scenario(Path(folder))


def full_disk() -> None:
    """No file may be longer than a few bytes: every entry fails while it is written."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def scenario(folder: Path) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
        check(folder)
        check(folder)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        assert entries(folder) == {}
        check(folder)
        assert entries(folder), "with room again, they are kept"

    in_folder(scenario)


def unreadable_folder() -> None:
    def scenario(folder: Path) -> None:
        check(folder)
        obey_file_modes()
        for mode in (0o000, 0o500, 0o300):
            own_folder(folder, "objects").chmod(mode)
            check(folder)
        own_folder(folder, "objects").chmod(0o700)
        for path in own_folder(folder, "objects").glob("*.o"):
            path.chmod(0o000)
        check(folder)

    in_folder(scenario)


def damaged_entries() -> None:
    """Truncated, altered, empty, of another kernel, whole but no code, whole but other code: each
    is found, and compiled anew."""

    def scenario(folder: Path) -> None:
        check(folder)
        whole = entries(folder)
        other = next(iter(whole.values()))
        foreign = compile_object("define void @nothing() {\n  ret void\n}\n", target_for().llvm)
        for damage in (
            lambda key, code: code[: len(code) // 2],
            lambda key, code: code[:-1],
            lambda key, code: code[:-9] + bytes([code[-9] ^ 1]) + code[-8:],
            lambda key, code: b"",
            lambda key, code: code + b"\0",
            lambda key, code: other if code != other else code[::-1],
            lambda key, code: encode_entry(key, b""),
            lambda key, code: encode_entry(key, b"\x7fELF" + bytes(500)),
            lambda key, code: encode_entry(key, foreign),
        ):
            for name, code in whole.items():
                path = own_folder(folder, "objects") / name
                path.write_bytes(damage(path.stem, code))
            check(folder)
            assert entries(folder) == whole

    in_folder(scenario)


def obey_file_modes() -> None:
    """Gives up root's right to read and write everything: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    version = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; low and high words
    assert libc.capget(version, sets) == 0
    sets[0] &= ~0b110
    assert libc.capset(version, sets) == 0, os.strerror(ctypes.get_errno())
