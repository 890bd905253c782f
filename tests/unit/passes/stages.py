"""The two halves of level 1's passes: before anything is a kernel, and from there on."""

from anyshape.passes import PASSES

_NAMES = [step.name for step in PASSES]
_MIDDLE = _NAMES.index("growing-axes-first")

FIRST, LAST = PASSES[:_MIDDLE], PASSES[_MIDDLE:]
