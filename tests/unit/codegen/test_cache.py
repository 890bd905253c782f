"""The disk cache: what a key depends on, and everything that can be wrong with a folder."""

import errno
import hashlib
import logging
import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.watchdog import HANGS_AFTER

from anyshape.base import private_folder
from anyshape.base.options import Options
from anyshape.codegen.cache import (
    ObjectCache,
    decode_entry,
    encode_entry,
    object_cache,
)
from anyshape.codegen.llvm import object_key as key_module
from anyshape.codegen.llvm import toolchain
from anyshape.codegen.llvm.compile import Tuning
from anyshape.codegen.llvm.object_key import object_key
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.execute.target import target_for

KEY = "ab" * 32
CODE = bytes(range(256)) * 20
TARGET = LlvmTarget("x86_64-unknown-linux-gnu", "avx2", "x86-64-v3", "+avx2")

as_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    return ObjectCache(tmp_path / "cache/objects")


def entry_path(cache: ObjectCache, key: str = KEY) -> Path:
    return cache.folder / f"{key}.o"


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# ---- keys --------------------------------------------------------------------------------------


def test_a_key_depends_on_everything_that_makes_the_code(monkeypatch: pytest.MonkeyPatch):
    def key(text: str = "text", target: LlvmTarget = TARGET, tuning: Tuning | None = None) -> str:
        return object_key(text, target, tuning or Tuning())

    keys = [
        key(),
        key(text="text "),
        key(target=replace(TARGET, triple="aarch64-unknown-linux-gnu")),
        key(target=replace(TARGET, cpu="znver4")),
        key(target=replace(TARGET, features="+avx2,+fma")),
        key(target=replace(TARGET, isa="sse2")),
        key(target=replace(TARGET, host="some cpu")),
        key(tuning=Tuning(loop_vectorize=False)),
        key(tuning=Tuning(slp_vectorize=False)),
    ]
    monkeypatch.setattr(key_module, "FORMAT_VERSION", 2)
    keys.append(key())
    monkeypatch.setattr(key_module, "toolchain_identity", lambda: "another")
    keys.append(key())
    assert len(set(keys)) == len(keys)
    assert all(len(k) == 64 and int(k, 16) >= 0 for k in keys)


def test_keys_are_the_same_in_every_process():
    script = (
        "from anyshape.codegen.llvm.object_key import object_key\n"
        "from anyshape.codegen.llvm.compile import Tuning\n"
        "from anyshape.execute.target import target_for\n"
        "print(object_key('text', target_for().llvm, Tuning()))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    here = object_key("text", target_for().llvm, Tuning())
    assert {run.stdout.strip() for run in runs} == {here}


def test_the_toolchain_includes_llvmlites_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def identity() -> str:
        toolchain.toolchain_identity.cache_clear()
        return toolchain.toolchain_identity()

    folder = tmp_path / "llvmlite"
    (folder / "binding").mkdir(parents=True)
    (folder / "_version.py").write_text("version = 1")
    (folder / "binding/libllvmlite.so").write_bytes(b"LLVM 20")
    seen = [identity()]
    monkeypatch.setattr(toolchain, "_llvmlite_folder", lambda: folder)
    seen.append(identity())
    (folder / "_version.py").write_text("version = 2")
    seen.append(identity())
    (folder / "binding/libllvmlite.so").write_bytes(b"LLVM 21.1")
    seen.append(identity())
    assert len(set(seen)) == 4
    monkeypatch.undo()
    assert identity() == seen[0]


# ---- entries -----------------------------------------------------------------------------------


def test_stored_code_comes_back(cache: ObjectCache):
    assert cache.load(KEY) is None
    cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE
    assert cache.load("cd" * 32) is None
    assert ObjectCache(cache.folder).load(KEY) == CODE


def test_empty_code_comes_back(cache: ObjectCache):
    cache.store(KEY, b"")
    assert cache.load(KEY) == b""


def test_storing_again_replaces(cache: ObjectCache):
    cache.store(KEY, b"old")
    cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE
    assert os.listdir(cache.folder) == [f"{KEY}.o"]


def test_every_changed_bit_is_found():
    entry = encode_entry(KEY, CODE[:100])
    assert decode_entry(KEY, entry) == CODE[:100]
    for bit in range(len(entry) * 8):
        damaged = bytearray(entry)
        damaged[bit // 8] ^= 1 << bit % 8
        assert decode_entry(KEY, bytes(damaged)) is None


def test_every_truncation_and_extension_is_found():
    entry = encode_entry(KEY, CODE[:100])
    assert all(decode_entry(KEY, entry[:size]) is None for size in range(len(entry)))
    assert decode_entry(KEY, entry + b"\0") is None


@pytest.mark.parametrize("content", [b"", b"short", bytes(1000), encode_entry("cd" * 32, CODE)])
def test_damaged_entries_are_removed(
    cache: ObjectCache, content: bytes, caplog: pytest.LogCaptureFixture
):
    cache.store(KEY, CODE)
    entry_path(cache).write_bytes(content)
    assert cache.load(KEY) is None
    assert not entry_path(cache).exists()
    assert warnings_of(caplog) == [f"cached kernel {KEY}.o is damaged; compiling it anew"]
    cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE


# ---- the folder --------------------------------------------------------------------------------


def test_folder_and_files_are_private(cache: ObjectCache):
    old = os.umask(0)
    try:
        cache.store(KEY, CODE)
    finally:
        os.umask(old)
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert entry_path(cache).stat().st_mode & 0o777 == 0o600


def test_a_readable_folder_is_made_private(cache: ObjectCache):
    cache.folder.mkdir(parents=True, mode=0o755)
    cache.store(KEY, CODE)
    assert cache.folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_write_to_is_not_used(
    cache: ObjectCache, mode: int, caplog: pytest.LogCaptureFixture
):
    cache.store(KEY, CODE)
    cache.folder.chmod(mode)
    assert cache.load(KEY) is None
    cache.store("cd" * 32, CODE)
    assert os.listdir(cache.folder) == [f"{KEY}.o"]
    assert warnings_of(caplog) == [
        f"kernels are compiled without the cache in {cache.folder}: {cache.folder} is writable by "
        f"others (mode {mode:04o}); run chmod 700 on it"
    ]


def test_a_folder_of_another_user_is_not_used(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    cache.store(KEY, CODE)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert cache.load(KEY) is None
    assert f"belongs to user {owner}, not to us" in warnings_of(caplog)[0]


def test_users_of_one_folder_have_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tmp_path.chmod(0o1777)
    options = Options(cache_dir=tmp_path)
    caches: list[ObjectCache | None] = []
    for user in (os.geteuid(), os.geteuid() + 1):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        caches.append(object_cache(options))
    monkeypatch.undo()
    ours, theirs = caches
    assert ours is not None
    assert theirs is not None
    assert ours.folder != theirs.folder
    ours.store(KEY, CODE)
    assert ours.load(KEY) == CODE
    assert tmp_path.stat().st_mode & 0o7777 == 0o1777  # it is not ours to change
    assert ours.folder.stat().st_mode & 0o777 == 0o700


def test_a_link_in_place_of_the_folder_is_not_followed(
    cache: ObjectCache, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    real = ObjectCache(tmp_path / "elsewhere")
    real.store(KEY, CODE)
    cache.folder.parent.mkdir(parents=True)
    cache.folder.symlink_to(real.folder)
    assert cache.load(KEY) is None
    cache.store("cd" * 32, CODE)
    assert os.listdir(real.folder) == [f"{KEY}.o"]
    assert len(warnings_of(caplog)) == 1


def test_a_link_in_place_of_an_entry_is_not_followed(cache: ObjectCache, tmp_path: Path):
    cache.store(KEY, CODE)
    outside = tmp_path / "planted"
    entry_path(cache).rename(outside)
    entry_path(cache).symlink_to(outside)
    assert cache.load(KEY) is None


def test_a_folder_in_place_of_an_entry(cache: ObjectCache, caplog: pytest.LogCaptureFixture):
    cache.store(KEY, CODE)
    entry_path(cache).unlink()
    entry_path(cache).mkdir()
    assert cache.load(KEY) is None
    cache.store(KEY, CODE)
    assert len(warnings_of(caplog)) == 1


def test_a_pipe_in_place_of_an_entry_does_not_hang(cache: ObjectCache):
    cache.store(KEY, CODE)
    entry_path(cache).unlink()
    os.mkfifo(entry_path(cache))
    assert cache.load(KEY) is None


def test_a_file_in_place_of_the_folder(cache: ObjectCache, caplog: pytest.LogCaptureFixture):
    cache.folder.parent.parent.mkdir(exist_ok=True)
    cache.folder.parent.write_text("a file")
    cache.store(KEY, CODE)
    assert cache.load(KEY) is None
    assert len(warnings_of(caplog)) == 1


@as_user
def test_a_read_only_folder_still_serves(cache: ObjectCache, caplog: pytest.LogCaptureFixture):
    cache.store(KEY, CODE)
    cache.folder.chmod(0o500)
    try:
        assert cache.load(KEY) == CODE
        cache.store("cd" * 32, CODE)
        assert len(warnings_of(caplog)) == 1
    finally:
        cache.folder.chmod(0o700)


def fails_with(code: int):
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def test_a_read_only_file_system(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    cache.store(KEY, CODE)
    monkeypatch.setattr(os, "utime", fails_with(errno.EROFS))
    assert cache.load(KEY) == CODE
    monkeypatch.setattr(os, "rename", fails_with(errno.EROFS))
    cache.store("cd" * 32, CODE)
    cache.store("ef" * 32, CODE)
    assert len(warnings_of(caplog)) == 1
    assert "Read-only file system" in warnings_of(caplog)[0]


def test_a_full_disk(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    cache.store(KEY, CODE)

    class FullDisk:
        def __init__(self, descriptor: int, _: str) -> None:
            self.descriptor = descriptor

        def __enter__(self) -> "FullDisk":
            return self

        def __exit__(self, *_: object) -> None:
            os.close(self.descriptor)

        def write(self, content: bytes) -> None:
            os.write(self.descriptor, content[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(private_folder, "open", FullDisk, raising=False)
    cache.store("cd" * 32, CODE)
    monkeypatch.undo()
    assert os.listdir(cache.folder) == [f"{KEY}.o"]
    assert cache.load(KEY) == CODE
    assert "No space left on device" in warnings_of(caplog)[0]


def test_a_full_disk_for_real(caplog: pytest.LogCaptureFixture):
    """/dev/full accepts nothing; here it stands where the folder should be."""
    cache = ObjectCache(Path("/dev/full"))
    cache.store(KEY, CODE)
    assert cache.load(KEY) is None
    assert len(warnings_of(caplog)) == 1


# ---- size --------------------------------------------------------------------------------------


def names(cache: ObjectCache) -> set[str]:
    return {name[:2] for name in os.listdir(cache.folder)}


def test_least_recently_used_entries_go_first(tmp_path: Path):
    size = len(encode_entry(KEY, CODE))
    cache = ObjectCache(tmp_path / "objects", max_bytes=3 * size)
    for age, digit in ((40, "a"), (30, "b"), (20, "c")):
        cache.store(digit * 64, CODE)
        old = time.time() - age
        os.utime(entry_path(cache, digit * 64), (old, old))
    assert cache.load("a" * 64) == CODE  # and is now the most recently used
    cache.store("d" * 64, CODE)
    assert names(cache) == {"aa", "cc", "dd"}
    cache.max_bytes = size
    cache.store("e" * 64, CODE)
    assert names(cache) == {"ee"}


def test_an_entry_larger_than_the_cache_is_not_kept(tmp_path: Path):
    cache = ObjectCache(tmp_path / "objects", max_bytes=100)
    cache.store(KEY, CODE)
    assert os.listdir(cache.folder) == []


def keys(count: int) -> list[str]:
    return [hashlib.sha256(str(number).encode()).hexdigest() for number in range(count)]


def test_files_are_not_looked_through_each_time_one_is_stored(
    cache: ObjectCache, monkeypatch: pytest.MonkeyPatch
):
    looks = 0

    def counted(folder: int, suffix: str, max_bytes: int) -> None:
        nonlocal looks
        looks += 1

    monkeypatch.setattr("anyshape.codegen.cache.keep_within", counted)
    for key in keys(300):
        cache.store(key, CODE)
    assert looks <= 1


def test_the_files_never_exceed_the_limit_by_much(tmp_path: Path):
    cache = ObjectCache(tmp_path / "objects", max_bytes=300_000)
    for key in keys(1000):
        cache.store(key, bytes(500))
        assert sum(file.stat().st_size for file in os.scandir(cache.folder)) <= 310_000


def test_files_of_dead_writers_are_removed(cache: ObjectCache):
    cache.max_bytes = 10 * len(encode_entry(KEY, CODE))
    cache.store(KEY, CODE)
    old, new = cache.folder / "1-old.partial", cache.folder / "2-new.partial"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1e9, 1e9))
    cache.store(KEY, CODE)
    assert (old.exists(), new.exists()) == (False, True)


# ---- many processes ----------------------------------------------------------------------------

WRITER = """
import hashlib, random, sys
from pathlib import Path
from anyshape.codegen.cache import ObjectCache
cache, rng = ObjectCache(Path(sys.argv[1]), max_bytes=60_000), random.Random(int(sys.argv[2]))
hits = 0
for _ in range(400):
    number = rng.randrange(8)
    key = hashlib.sha256(bytes([number])).hexdigest()
    code = bytes([number]) * 10_000
    if rng.random() < 0.5:
        cache.store(key, code)
    found = cache.load(key)
    assert found is None or found == code
    hits += found is not None
print(hits)
"""


def test_concurrent_processes(cache: ObjectCache):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(cache.folder), str(seed)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(4)
    ]
    for writer in writers:
        output, errors = writer.communicate(timeout=HANGS_AFTER)
        assert errors == ""
        assert int(output) > 50
    assert all(name.endswith(".o") for name in os.listdir(cache.folder))
    total = sum(path.stat().st_size for path in cache.folder.iterdir())
    assert total <= 60_000


def test_a_writer_killed_at_any_time_leaves_no_wrong_entry(cache: ObjectCache):
    script = """
import sys
from pathlib import Path
from anyshape.codegen.cache import ObjectCache
cache = ObjectCache(Path(sys.argv[1]))
print("go", flush=True)
while True:
    cache.store("ab" * 32, bytes(2_000_000))
"""
    command = [sys.executable, "-c", script, str(cache.folder)]
    rng = random.Random(0)
    for _ in range(5):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout
            writer.stdout.readline()
            time.sleep(rng.uniform(0, 0.05))
            writer.kill()
        assert cache.load(KEY) in (None, bytes(2_000_000))
