"""sqrt and rsqrt: the machine's own square root, which is rounded correctly."""

from anyshape.codegen.llvm.math.values import Float


def sqrt(x: Float) -> Float:
    """The square root."""
    return x.sqrt()


def rsqrt(x: Float) -> Float:
    """1 / √x. Estimate instructions differ between processors, so they are not used."""
    return 1.0 / x.sqrt()
