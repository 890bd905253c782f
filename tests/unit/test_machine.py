"""machine(): CPUs allowed, caches and vector instructions, on this machine and made-up ones."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.watchdog import HANGS_AFTER

from anyshape.runtime import _native, hardware, machine

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's own files")

V2_MOUNT = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
V1_MOUNT = "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct"
DISTRACTIONS = (
    "22 1 252:0 / / rw,relatime - ext4 /dev/vda rw",
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
)


def make_root(root: Path, *, cgroup: str, mounts: tuple[str, ...], files: dict[str, str]) -> Path:
    """A root directory with /proc/self of a process in `cgroup`, and `files` in /sys/fs/cgroup."""
    tree = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    tree["proc/self/cgroup"] = cgroup
    tree["proc/self/mountinfo"] = "".join(f"{line}\n" for line in (*DISTRACTIONS, *mounts))
    for name, text in tree.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def v2_quota(tmp_path: Path, group: str, files: dict[str, str], mount: str = V2_MOUNT):
    return _native._cgroup_quota(
        make_root(tmp_path, cgroup=f"0::{group}\n", mounts=(mount,), files=files)
    )


def v1_quota(tmp_path: Path, group: str, files: dict[str, str], mount: str = V1_MOUNT):
    cgroup = f"5:cpuset:/elsewhere\n4:cpu,cpuacct:{group}\n1:name=systemd:/init\n0::/\n"
    return _native._cgroup_quota(make_root(tmp_path, cgroup=cgroup, mounts=(mount,), files=files))


# ---- CPUs --------------------------------------------------------------------------------------


@linux
def test_affinity_is_the_schedulers():
    assert machine().affinity_cpus == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("affinity", "quota", "expected"),
    [
        (8, None, 8),
        (8, 0.01, 1),
        (8, 1.0, 1),
        (8, 1.5, 2),
        (8, 7.2, 8),
        (8, 64.0, 8),
        (8, 1e300, 8),
        (1, 2.0, 1),
    ],
)
def test_cpus_is_the_tighter_limit(affinity: int, quota: float | None, expected: int):
    assert _native._allowed_cpus(affinity, quota) == expected


def test_cpus_of_this_machine():
    here = machine()
    assert here.cpus == _native._allowed_cpus(here.affinity_cpus, here.cpu_quota)
    assert here.cpu_quota == _native._cgroup_quota("/")


@linux
def test_affinity_is_read_on_every_call():
    script = """
import os
from anyshape.runtime import machine
allowed = sorted(os.sched_getaffinity(0))
assert machine().affinity_cpus == len(allowed)
for count in range(len(allowed), 0, -1):
    os.sched_setaffinity(0, allowed[-count:])
    assert machine().affinity_cpus == count
    assert 1 <= machine().cpus <= count
print("restricted to", machine().cpus)
"""
    run = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER,
        check=False,
    )
    assert run.stdout == "restricted to 1\n", run.stderr


# ---- cgroup v2 ---------------------------------------------------------------------------------


def test_v2_quota(tmp_path: Path):
    assert v2_quota(tmp_path, "/job", {"job/cpu.max": "150000 100000\n"}) == 1.5


def test_v2_max_is_unlimited(tmp_path: Path):
    assert v2_quota(tmp_path, "/job", {"job/cpu.max": "max 100000\n"}) is None


@pytest.mark.parametrize(
    ("outer", "middle", "inner", "expected"),
    [
        ("max 100000", "max 100000", "300000 100000", 3.0),
        ("max 100000", "25000 50000", "300000 100000", 0.5),
        ("200000 100000", "max 100000", "300000 100000", 2.0),
        ("400000 100000", "max 100000", "max 100000", 4.0),
    ],
)
def test_v2_ancestors_limit_too(
    tmp_path: Path, outer: str, middle: str, inner: str, expected: float
):
    files = {"a/cpu.max": outer, "a/b/cpu.max": middle, "a/b/c/cpu.max": inner}
    assert v2_quota(tmp_path, "/a/b/c", files) == expected


def test_v2_limits_of_other_groups_do_not_count(tmp_path: Path):
    files = {"job/cpu.max": "200000 100000", "other/cpu.max": "1000 100000"}
    assert v2_quota(tmp_path, "/job", {**files, "job/child/cpu.max": "1000 100000"}) == 2.0


def test_v2_own_namespace_sees_its_group_as_the_root(tmp_path: Path):
    assert v2_quota(tmp_path, "/", {"cpu.max": "700000 200000"}) == 3.5


def test_v2_mount_that_shows_only_our_container(tmp_path: Path):
    mount = V2_MOUNT.replace(" / /sys", " /docker/abc /sys")
    files = {"cpu.max": "300000 100000", "app/cpu.max": "200000 100000"}
    assert v2_quota(tmp_path, "/docker/abc/app", files, mount) == 2.0
    assert v2_quota(tmp_path, "/docker/abc", files, mount) == 3.0


def test_v2_group_outside_the_mount_still_has_the_mounts_limit(tmp_path: Path):
    files = {"cpu.max": "300000 100000", "sibling/cpu.max": "100000 100000"}
    assert v2_quota(tmp_path, "/../sibling", files) == 3.0


def test_v2_group_names_may_hold_colons(tmp_path: Path):
    assert v2_quota(tmp_path, "/a:b/c", {"a:b/c/cpu.max": "100000 50000"}) == 2.0


# ---- cgroup v1 ---------------------------------------------------------------------------------


def v1_files(group: str, quota: int, period: int = 100_000) -> dict[str, str]:
    folder = f"cpu,cpuacct{group}"
    return {
        f"{folder}/cpu.cfs_quota_us": f"{quota}\n",
        f"{folder}/cpu.cfs_period_us": f"{period}\n",
    }


def test_v1_quota(tmp_path: Path):
    assert v1_quota(tmp_path, "/job", v1_files("/job", 50_000)) == 0.5


def test_v1_minus_one_is_unlimited(tmp_path: Path):
    assert v1_quota(tmp_path, "/job", v1_files("/job", -1)) is None


def test_v1_ancestors_limit_too(tmp_path: Path):
    files = v1_files("", -1) | v1_files("/a", 200_000) | v1_files("/a/b", 800_000)
    assert v1_quota(tmp_path, "/a/b", files) == 2.0


def test_v1_mount_that_shows_only_our_container(tmp_path: Path):
    mount = V1_MOUNT.replace(" / /sys", " /docker/abc /sys")
    assert v1_quota(tmp_path, "/docker/abc", v1_files("", 150_000), mount) == 1.5


def test_hybrid_takes_the_tighter_of_both_hierarchies(tmp_path: Path):
    cgroup = "4:cpu,cpuacct:/job\n0::/job\n"
    unified = V2_MOUNT.replace("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
    files = v1_files("/job", 300_000) | {"unified/job/cpu.max": "200000 100000"}
    root = make_root(tmp_path, cgroup=cgroup, mounts=(unified, V1_MOUNT), files=files)
    assert _native._cgroup_quota(root) == 2.0


# ---- files that say nothing --------------------------------------------------------------------


def test_no_proc_at_all(tmp_path: Path):
    assert _native._cgroup_quota(str(tmp_path)) is None


def test_group_without_limit_files(tmp_path: Path):
    assert v2_quota(tmp_path, "/job", {}) is None
    assert v1_quota(tmp_path, "/job", {"cpu,cpuacct/job/cpu.cfs_quota_us": "50000"}) is None


@pytest.mark.parametrize("text", ["", "garbage", "100000", "100000 0", "-5 100000", "0 100000"])
def test_malformed_limit_is_no_limit(tmp_path: Path, text: str):
    assert v2_quota(tmp_path, "/job", {"job/cpu.max": text}) is None


@pytest.mark.parametrize("text", ["", "\n", "0\n", "0:", "no colons here\n", ":::\n"])
def test_malformed_cgroup_list(tmp_path: Path, text: str):
    files = {"job/cpu.max": "100000 100000"}
    root = make_root(tmp_path, cgroup=text, mounts=(V2_MOUNT, "short line", "-"), files=files)
    assert _native._cgroup_quota(root) is None


# ---- caches ------------------------------------------------------------------------------------


def make_caches(root: Path, *caches: tuple[int, str, str]) -> Path:
    for index, (level, kind, size) in enumerate(caches):
        folder = root / f"sys/devices/system/cpu/cpu0/cache/index{index}"
        folder.mkdir(parents=True)
        entries = {"level": str(level), "type": kind, "size": size, "coherency_line_size": "64"}
        for name, text in entries.items():
            (folder / name).write_text(f"{text}\n")
    return root


def test_cache_sizes_from_sysfs(tmp_path: Path):
    root = make_caches(
        tmp_path,
        (1, "Instruction", "32K"),
        (1, "Data", "48K"),
        (2, "Unified", "2048K"),
        (3, "Unified", "32M"),
    )
    assert _native._cache_sizes(root) == (48 << 10, 2 << 20, 32 << 20, 64)


def test_unknown_cache_sizes_are_zero(tmp_path: Path):
    assert _native._cache_sizes(tmp_path) == (0, 0, 0, 0)
    assert _native._cache_sizes(make_caches(tmp_path, (1, "Data", "what"))) == (0, 0, 0, 64)


def test_known_cache_sizes_grow_with_the_level():
    here = machine()
    sizes = (here.l1d_bytes, here.l2_bytes, here.l3_bytes)
    assert all(size >= 0 for size in sizes)
    known = [size for size in sizes if size > 0]
    assert known == sorted(known)
    assert all(size >= 4096 for size in known)
    line = here.cache_line_bytes
    assert line == 0 or (line >= 16 and line & (line - 1) == 0)


@linux
def test_cache_sizes_are_the_kernels():
    here = machine()
    from_sysfs = _native._cache_sizes("/")
    ours = (here.l1d_bytes, here.l2_bytes, here.l3_bytes, here.cache_line_bytes)
    assert all(theirs in (0, mine) for theirs, mine in zip(from_sysfs, ours, strict=True))


# ---- vector instructions -----------------------------------------------------------------------


@linux
def test_isa_agrees_with_the_kernel():
    if os.uname().machine != "x86_64":
        assert machine().vector_isa == ("neon" if os.uname().machine == "aarch64" else "scalar")
        return
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    flags = set(next(line for line in lines if line.startswith("flags")).split())
    if flags >= {"avx512f", "avx512bw", "avx512dq", "avx512vl"}:
        expected = "avx512"
    else:
        expected = "avx2" if flags >= {"avx2", "fma"} else "sse2"
    assert machine().vector_isa == expected


# ---- the value ---------------------------------------------------------------------------------


def test_machine_is_a_frozen_value():
    here = machine()
    assert here == machine()
    with pytest.raises(AttributeError):
        here.cpus = 99  # type: ignore[misc]


def test_what_stays_as_it_is_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers ask for caches and instructions with every graph; CPUs are counted anew."""
    known, reads = hardware(), []
    read = _native.machine
    monkeypatch.setattr(_native, "machine", lambda: reads.append(1) or read())
    assert hardware() is known
    assert not reads
    now = machine()
    assert len(reads) == 1
    assert (known.vector_isa, known.l2_bytes) == (now.vector_isa, now.l2_bytes)
