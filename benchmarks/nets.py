"""Convolutional networks at sizes that are a multiple of nothing.

    python -m benchmarks.nets [--quick] [--only TEXT] [--without ENGINE ...]

Two threads, one image or sound at a time. Times are sums of quickest calls over ten sizes (three
with `--quick`), in milliseconds, against the best sum of a peer.
"""

from __future__ import annotations

import math

from benchmarks.harness.engines import EngineName
from benchmarks.harness.model import Binding
from benchmarks.harness.report import Row, Table, at_most, number
from benchmarks.harness.session import Session
from benchmarks.harness.turns import OURS, Effort, Measured, race
from benchmarks.workloads.nets import Net, NetName

THREADS, LIMIT = 2, 0.9
ENGINES: tuple[EngineName, ...] = ("anyshape", "torch", "onnxruntime", "openvino")
IMAGES = (
    (97, 131), (101, 89), (113, 167), (127, 127), (139, 211),
    (151, 103), (163, 179), (181, 149), (193, 223), (229, 157),
)  # fmt: skip
SAMPLES = (1009, 1511, 2003, 3001, 4001, 5003, 7001, 9001, 12007, 16001)
NETS: tuple[NetName, ...] = ("ResNet-18", "MobileNet-V2", "U-Net", "ConvNeXt-tiny", "Conv-TasNet")
FEW_CALLS = Effort(seconds=0.1, settled=1, most=4)


def bindings(net: Net) -> list[Binding]:
    if net.is_sound:
        return [{"batch": 1, "samples": samples} for samples in SAMPLES]
    return [{"batch": 1, "h": height, "w": width} for height, width in IMAGES]


def row(net: Net, measured: list[Measured]) -> Row:
    sums = {name: 1e3 * sum(one.best(name) for one in measured) for name in ENGINES}
    peers = (time for name, time in sums.items() if name != OURS)
    peer = min((time for time in peers if not math.isnan(time)), default=math.nan)
    ratio = sums[OURS] / peer
    cells = tuple(number(time, 1) for time in sums.values())
    return Row(net.name, cells, number(ratio), f"≤ {LIMIT}", at_most(ratio, LIMIT))


def main() -> None:
    with Session("nets", __doc__ or "") as session:
        for name in NETS:
            net, title = Net(name), f"{name}, ms"
            if session.wants(title):
                chosen = bindings(net)[:: 4 if session.quick else 1]
                sizes = ("×".join(map(str, binding.values())) for binding in chosen)
                cases = [
                    race(f"{name} {size}", net, binding, ENGINES, THREADS)
                    for size, binding in zip(sizes, chosen, strict=True)
                ]
                rows = (row(net, session.measure(title, cases, FEW_CALLS)),)
                session.show(Table(title, ENGINES, rows, "÷ best peer"))


if __name__ == "__main__":
    main()
