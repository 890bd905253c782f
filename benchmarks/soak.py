"""What a service needs: memory that levels off, results that stay right, latency that stays low.

    python -m benchmarks.soak [--quick] [--only TEXT] [--without ENGINE ...]

    memory      10,000 random shapes, side by side with onnxruntime and OpenVINO
    threads     eight threads on one Executable for ten minutes, every result checked
    latency     four callers of a small model against one
    faults      100,000 calls, of which many end in the middle of loops

The whole takes about twenty minutes, with --quick two. It ends with 1 if a goal was missed.
"""

from __future__ import annotations

import sys

from benchmarks.harness.session import Session
from benchmarks.soaks.faults import faults
from benchmarks.soaks.latency import latency
from benchmarks.soaks.memory import memory
from benchmarks.soaks.threads import threads

PARTS = {
    "memory under random shapes": memory,
    "eight threads": threads,
    "latency under load": latency,
    "calls that end in the middle": faults,
}


def main() -> None:
    with Session("soak", __doc__ or "") as session:
        session.run(PARTS)
    sys.exit(session.missed)


if __name__ == "__main__":
    main()
