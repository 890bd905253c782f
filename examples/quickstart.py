"""The smallest use of anyshape: annotate axes by name, call at any shape."""

import numpy as np

import anyshape as ash


@ash.jit
def attention(
    q: ash.f32["batch", "seq", 64], k: ash.f32["batch", "kv", 64], v: ash.f32["batch", "kv", 64]
):
    return ash.softmax(q @ k.mT / 8, axis=-1) @ v


q = np.random.rand(2, 5, 64).astype(np.float32)
kv = np.random.rand(2, 9, 64).astype(np.float32)
print(attention(q, kv, kv).shape)  # (2, 5, 64): compiled at this call, for all shapes
print(attention(q[:, :3], kv, kv).shape)  # (2, 3, 64): no compile, arithmetic only
print(attention.graph.as_text())  # axes, facts and nodes; ash.ir.parse reads it back
print(attention.executable.explain(batch=2, seq=5, kv=9))  # what was fused, what was not, and why
