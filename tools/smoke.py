"""What a fresh installation of a wheel must be able to do, with nothing but what it requires.

`make wheel` runs it in a clean environment, and so does the workflow that builds wheels.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import anyshape as ash

WEIGHTS = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)


@ash.jit
def layer(x: ash.f32["rows", 8]):
    return ash.softmax(x @ WEIGHTS)


def main() -> None:
    executable = layer.executable
    with tempfile.TemporaryDirectory() as folder:
        saved, page = Path(folder) / "layer.ash", Path(folder) / "layer.html"
        executable.save(saved)
        executable.explain_html(page, [{"rows": 3}])
        assert page.stat().st_size > 10_000
        loaded = ash.load(saved)
        for rows in (0, 1, 7, 130):
            x = np.random.default_rng(rows).standard_normal((rows, 8)).astype(np.float32)
            scores = np.exp(x @ WEIGHTS)
            expected = scores / scores.sum(1, keepdims=True)
            for run in (executable, loaded):
                np.testing.assert_allclose(run(x)[0], expected, rtol=1e-5)
        command = [sys.executable, "-m", "anyshape", "run", str(saved), "--bind", "rows=5"]
        subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL)
    assert "torch" not in sys.modules
    print(f"anyshape in {Path(ash.__file__).parent} works")


if __name__ == "__main__":
    main()
