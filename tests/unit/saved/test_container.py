"""The file of a saved executable: what is written is read, and anything else is refused."""

import hashlib
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from tests.errors.messages import message_of

from anyshape.base.errors import DamagedFileError, ForeignFileError, SavedFormatError
from anyshape.saved.container import FORMAT, Blobs, SavedFile, fold, packed, write_file

FIX = "fix: copy the file again, or save the executable again"


def a_file() -> bytes:
    blobs = Blobs()
    assert blobs.add(b"code") == 0
    assert blobs.add_array(np.arange(5000, dtype=np.float32)) == 1
    assert blobs.add(b"code") == 0, "the same content is there once"
    assert blobs.add_array(np.zeros((0, 3), np.float32)) == 2
    return b"".join(packed({"root": [1, "two"]}, blobs))


def opened(content: bytes) -> SavedFile:
    return SavedFile("model.ash", memoryview(content))


def with_manifest(content: bytes, manifest: bytes) -> bytes:
    """The same header around another manifest, whose hash is right."""
    head = struct.pack("<8sII", content[:8], FORMAT, 0)
    total = 64 + len(manifest)
    digest = hashlib.sha256(manifest).digest()
    return head + struct.pack("<QQ", len(manifest), total) + digest + manifest


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.ash"
    write_file(path, [a_file()])
    file = SavedFile.open(path)
    file.check_all()
    assert file.manifest["root"] == [1, "two"]
    assert bytes(file.checked(0)) == b"code"
    numbers = np.frombuffer(file.checked(1), np.float32)
    np.testing.assert_array_equal(numbers, np.arange(5000))
    assert numbers.ctypes.data % 64 == 0, "kernels read whole cache lines"
    assert len(file.checked(2)) == 0
    assert list(tmp_path.iterdir()) == [path], "nothing partial is left"


def test_every_changed_byte_is_found() -> None:
    content = a_file()
    for place in {*range(0, len(content), 7), *range(64)}:
        changed = bytearray(content)
        changed[place] ^= 0x10
        try:
            file = opened(bytes(changed))
            file.check_all()
        except (DamagedFileError, ForeignFileError, SavedFormatError):
            continue
        in_reserve = 12 <= place < 16
        assert in_reserve or content[place] == 0, f"byte {place} is no padding"


def test_every_length_but_its_own_is_refused() -> None:
    content = a_file()
    for length in (0, 1, 8, 63, 64, 100, len(content) - 64, len(content) - 1):
        with pytest.raises((DamagedFileError, ForeignFileError)):
            opened(content[:length])
    with pytest.raises(DamagedFileError):
        opened(content + b"\0")


def test_sums_tell_changes_apart() -> None:
    content = np.random.default_rng(0).bytes(30_011)
    sums = {fold(content), fold(content[:-1]), fold(content + b"\0")}
    for place in (0, 8191, 8192, 24_576, 30_010):
        changed = bytearray(content)
        changed[place] ^= 1
        sums.add(fold(bytes(changed)))
    swapped = content[8192:16384] + content[:8192] + content[16384:]
    assert len({*sums, fold(swapped)}) == 9


def test_messages() -> None:
    content = a_file()
    assert message_of(ForeignFileError, lambda: opened(b"PK\3\4 some archive")) == (
        "model.ash is no saved executable\n"
        "fix: pass a file that executable.save(...) or `anyshape compile` has written"
    )
    assert message_of(DamagedFileError, lambda: opened(content[:40])) == (
        f"model.ash is cut off after 40 bytes\n{FIX}"
    )
    assert message_of(DamagedFileError, lambda: opened(content[:-64])) == (
        f"model.ash has {len(content) - 64} bytes, and {len(content)} were written\n{FIX}"
    )
    other = content[:8] + struct.pack("<I", 99) + content[12:]
    assert message_of(SavedFormatError, lambda: opened(other)) == (
        "model.ash has format 99, this version reads 2\n"
        "fix: save the executable again, with this version of anyshape"
    )
    flipped = bytearray(content)
    flipped[70] ^= 1
    assert message_of(DamagedFileError, lambda: opened(bytes(flipped))) == (
        f"model.ash is damaged: its manifest is not what was saved\n{FIX}"
    )
    flipped = bytearray(content)
    flipped[-64] ^= 1  # in the floats
    assert message_of(DamagedFileError, opened(bytes(flipped)).check_all) == (
        f"model.ash is damaged: blob 1 is not what was saved\n{FIX}"
    )


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        (b"{", "its manifest is no JSON"),
        (b"[" * 100_000, "its manifest is no JSON"),
        (b"[]", "its manifest is no table"),
        (b'{"blobs": [[0, 1000000, "sha256:"]]}', "[0, 1000000, 'sha256:'] is no blob of it"),
        (b'{"blobs": [[-64, 8, "sha256:"]]}', "[-64, 8, 'sha256:'] is no blob of it"),
        (b'{"root": 1}', "None is no blob of it"),
    ],
)
def test_manifests_that_lie(manifest: bytes, problem: str) -> None:
    content = with_manifest(a_file(), manifest)
    message = message_of(DamagedFileError, lambda: opened(content))
    assert message == f"model.ash is damaged: {problem}\n{FIX}"


def test_an_unknown_sum_is_no_sum() -> None:
    manifest = json.dumps({"blobs": [[0, 0, "crc:0"]]}).encode()
    with pytest.raises(DamagedFileError):
        opened(with_manifest(a_file(), manifest)).check_all()
