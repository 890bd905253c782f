"""Memory is asked for before it is touched: what the system says, and calls that it refuses."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anyshape as ash
from anyshape.base.errors import InsufficientMemoryError, OutOfMemoryError, WeightMemoryError
from anyshape.execute import EXECUTORS, link
from anyshape.execute.target import executable_isas
from anyshape.runtime import _native
from anyshape.runtime.machine import lacking_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's own files")

MIB = 1 << 20
UNLIMITED = 2**63 - 1
V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate"
V1_MOUNT = "33 31 0:30 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory"


def available(root: Path, files: dict[str, object], cgroup: str = "", mount: str = "") -> int:
    """What is available where /proc and /sys have `files`."""
    tree = {"proc/self/cgroup": f"{cgroup}\n", "proc/self/mountinfo": f"{mount}\n", **files}
    for name, text in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    return _native._available_memory(root)


def meminfo(available: int, swap: int = 0) -> dict[str, object]:
    lines = f"MemTotal: 99999999 kB\nMemFree: 5 kB\nMemAvailable:   {available // 1024} kB"
    return {"proc/meminfo": f"{lines}\nSwapTotal: 7 kB\nSwapFree: {swap // 1024} kB"}


def v2(root: Path, groups: dict[str, dict[str, object]], swap: int = 0) -> int:
    files = {f"sys/fs/cgroup/{g}/{n}": v for g, named in groups.items() for n, v in named.items()}
    return available(root, meminfo(64 * MIB, swap) | files, "0::/a/b", V2_MOUNT)


def v1(root: Path, groups: dict[str, dict[str, object]], swap: int = 0) -> int:
    files = {
        f"sys/fs/cgroup/memory/{g}/memory.{n}": value
        for g, named in groups.items()
        for n, value in named.items()
    }
    cgroup = "5:cpu:/else\n4:memory:/a/b\n0::/"
    return available(root, meminfo(64 * MIB, swap) | files, cgroup, V1_MOUNT)


# --- what the system says -----------------------------------------------------------------------


def test_a_system_that_says_nothing_has_no_limit(tmp_path: Path):
    assert available(tmp_path, {}) == UNLIMITED


def test_the_machine(tmp_path: Path):
    assert available(tmp_path, meminfo(5 * MIB)) == 5 * MIB
    assert available(tmp_path, meminfo(5 * MIB, swap=3 * MIB)) == 8 * MIB


def test_the_tightest_group_counts(tmp_path: Path):
    def group(most: object, used: int) -> dict[str, object]:
        return {"memory.max": most, "memory.current": used}

    groups = {"": group("max", 0), "a": group(20 * MIB, 16 * MIB), "a/b": group(10 * MIB, MIB)}
    assert v2(tmp_path, groups) == 4 * MIB
    assert v2(tmp_path, groups | {"a": group(20 * MIB, 2 * MIB)}) == 9 * MIB
    assert v2(tmp_path, groups | {"a": group(1 * MIB, 2 * MIB)}) == 0
    unlimited = {"a": group("max", 2 * MIB), "a/b": group("max", MIB)}
    assert v2(tmp_path, unlimited) == 64 * MIB


def test_pages_of_files_and_swap_can_be_given_up(tmp_path: Path):
    group: dict[str, object] = {"memory.max": 10 * MIB, "memory.current": 10 * MIB}
    group["memory.stat"] = f"anon 5\nfile 77\ninactive_file {MIB}\nactive_file {2 * MIB}\nslab 9"
    assert v2(tmp_path, {"a": group}) == 3 * MIB
    assert v2(tmp_path, {"a": group}, swap=MIB) == 4 * MIB
    group |= {"memory.swap.max": 5 * MIB, "memory.swap.current": 5 * MIB}
    assert v2(tmp_path, {"a": group}, swap=MIB) == 3 * MIB


def test_groups_of_the_first_version(tmp_path: Path):
    none = 9223372036854771712
    top: dict[str, object] = {"limit_in_bytes": none, "usage_in_bytes": 3 * MIB}
    own: dict[str, object] = {"limit_in_bytes": 8 * MIB, "usage_in_bytes": 3 * MIB}
    assert v1(tmp_path, {"": top}) == 64 * MIB
    assert v1(tmp_path, {"": top, "a/b": own}) == 5 * MIB
    own["stat"] = f"inactive_file 1\ntotal_inactive_file {MIB}\ntotal_active_file {MIB}"
    assert v1(tmp_path, {"": top, "a/b": own}) == 7 * MIB
    assert v1(tmp_path, {"": top, "a/b": own}, swap=2 * MIB) == 9 * MIB
    own |= {"memsw.limit_in_bytes": 9 * MIB, "memsw.usage_in_bytes": 3 * MIB}
    assert v1(tmp_path, {"": top, "a/b": own}, swap=2 * MIB) == 8 * MIB


def test_this_machine_has_some():
    assert 0 < _native._available_memory("/") < UNLIMITED


# --- calls --------------------------------------------------------------------------------------

CALLS = """
import sys
import numpy as np
import anyshape as ash
from anyshape.base.errors import InsufficientMemoryError

@ash.jit
def outer(x: ash.f32["n"], y: ash.f32["m"]):
    return ash.tanh(x[:, None] * y[None, :])

@ash.jit
def total(x: ash.f32["n"], y: ash.f32["m"]):
    return (x[:, None] * y[None, :]) @ y

def refused(act):
    try:
        act()
    except InsufficientMemoryError as error:
        assert error.needed >= 2**42 > error.limit, str(error)
        assert error.binding == {"n": 2**20, "m": 2**20} and set(error.halved) == {"n", "m"}
        assert "with n=524288 it would need" in str(error), str(error)
    else:
        raise AssertionError("granted")

x = np.ones(2**20, np.float32)
for function in (outer, total):
    executable = ash.compile(function, executor=sys.argv[1])
    refused(lambda: executable(x, x))
    refused(lambda: executable.run((x, x), deadline=100))
    refused(lambda: executable.reserve(n=2**20, m=2**20))
    refused(lambda: list(executable.steps(x, x)))
    executable.pre_specialize([{"n": 2**20, "m": 2**20}])  # arithmetic
    small = np.arange(3, dtype=np.float32)
    assert executable(small, small)[0].shape == ((3, 3) if function is outer else (3,))
    executable.trim()
"""


def in_process(script: str, *arguments: str) -> None:
    """A process that is killed, or leaves an assertion broken, fails the test."""
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("executor", ["native", "stepwise"])
def test_a_call_that_wants_terabytes_is_refused(executor: str):
    in_process(CALLS, executor)


def test_reference_and_host_nodes_raise_typed_errors():
    @ash.jit
    def pairs(x: ash.f32["n"]):
        return ash.nonzero(x[:, None] + x[None, :])

    for executor in EXECUTORS:
        with pytest.raises(OutOfMemoryError):
            ash.compile(pairs, executor=executor)(np.zeros(2**22, np.float32))


LIMITED = """
import resource
import numpy as np
import anyshape as ash
from anyshape.base.errors import InsufficientMemoryError

@ash.jit
def outer(x: ash.f32["n"], y: ash.f32["m"]):
    return ash.tanh(x[:, None] * y[None, :])

executable = ash.compile(outer, threads=1)
x = np.ones(2**14, np.float32)
executable(x[:8], x[:8])
with open("/proc/self/statm") as file:
    used = [4096 * int(word) for word in file.read().split()]
resource.setrlimit(resource.RLIMIT_AS, (used[0] + 2**28, -1))
try:
    executable(x, x)
except InsufficientMemoryError as error:
    assert error.needed == 2**30 and error.limit <= 2**28, str(error)
    assert set(error.halved) == {"n", "m"}
else:
    raise AssertionError("granted")
assert executable(x[:2048], x[:2048])[0].shape == (2048, 2048)
"""


def test_limits_of_the_process_are_told_in_the_same_words():
    in_process(LIMITED)


def test_what_is_held_is_not_asked_for_again():
    """A reserve that leaves less than half of the memory does not refuse the call it is for."""
    reserve = """
import numpy as np
import anyshape as ash
from anyshape.runtime import _native

@ash.jit
def double(x: ash.f32["n"]):
    return x + x

executable = ash.compile(double)
executable.reserve(n=2**26)
x = np.ones(2**26, np.float32)
for _ in range(3):
    assert executable(x)[0][-1] == 2
    executable.run((x,), out=[np.empty_like(x)])
"""
    in_process(reserve)


@ash.jit
def doubled(x: ash.f32["n"]):
    return x + x


def test_what_does_not_exist_is_refused_by_the_name_of_its_axis():
    executable = ash.compile(doubled)
    with pytest.raises(InsufficientMemoryError, match=r"at n=4398046511104 .*\n.*\nfix: .* n, or"):
        executable.reserve(n=1 << 42)
    assert executable(np.ones(3, np.float32))[0].tolist() == [2, 2, 2]


def test_the_whole_message():
    error = InsufficientMemoryError(
        "outer", {"n": 8, "m": 6}, {"arena": 0, "results": 2000, "copies": 0}, 999, {"n": 1000}
    )
    assert str(error) == (
        "graph 'outer' at n=8, m=6 needs 2,000 bytes (results 2,000), the system has 999\n"
        "  with n=4 it would need 1,000\n"
        "fix: pass a smaller n, or call trim() on Executables that are idle"
    )
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert isinstance(error, OutOfMemoryError)
    assert isinstance(error, MemoryError)


# --- weights ------------------------------------------------------------------------------------

WEIGHT = np.ones((64, 48), np.float32)


@ash.jit
def multiplied(x: ash.f32["n", 64]):
    return x @ WEIGHT


@ash.jit
def added(x: ash.f32["n", 64]):
    return x + WEIGHT.T[:1]


def test_weights_are_asked_for_before_they_are_packed(monkeypatch: pytest.MonkeyPatch):
    asked: list[int] = []

    def lacking(bytes: int) -> int | None:
        asked.append(bytes)
        return 999

    monkeypatch.setattr(link, "lacking_memory", lacking)
    monkeypatch.setattr(link, "pack", lambda *_: pytest.fail("taken"))
    with pytest.raises(WeightMemoryError) as caught:
        ash.compile(multiplied, options=ash.Options(isa=executable_isas()[0]))
    (size,) = asked
    assert size >= WEIGHT.nbytes
    assert (caught.value.needed, caught.value.limit) == (size, 999)
    text = str(caught.value)
    assert text.startswith(f"graph 'multiplied' needs {size:,} bytes for @")
    assert "f32[64, 48] in panels, the system has 999\nfix: call trim()" in text
    assert str(pickle.loads(pickle.dumps(caught.value))) == text
    assert isinstance(caught.value, InsufficientMemoryError)


def test_weights_that_stay_as_they_are_are_not_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(link, "lacking_memory", lambda _: 0)
    x = np.zeros((2, 64), np.float32)
    assert ash.compile(added)(x)[0].tolist() == np.ones((2, 64)).tolist()


def test_what_the_system_lacks():
    assert lacking_memory(1) is None
    left = lacking_memory(1 << 60)
    assert left is not None
    assert 0 < left < 1 << 60


PACKED = """
import resource
import numpy as np
import anyshape as ash
from anyshape.base.errors import OutOfMemoryError

weight = np.ones((2**13, 2**13), np.float32)

@ash.jit
def multiplied(x: ash.f32["n", 2**13]):
    return x @ weight

multiplied.graph
with open("/proc/self/statm") as file:
    used = [4096 * int(word) for word in file.read().split()]
resource.setrlimit(resource.RLIMIT_AS, (used[0] + 2**27, -1))
try:
    ash.compile(multiplied, threads=1)
except OutOfMemoryError as error:
    assert "fix: " in str(error)
else:
    raise AssertionError("granted")
"""


def test_weights_that_the_system_itself_refuses():
    in_process(PACKED)
