"""Vector math: exp, log, tanh and their kin as inline LLVM IR, with a tested bound on their error.

`emit(builder, name, *args)` appends straight-line code for scalars and vectors of f32 or f64: no
call leaves the object, and no lane takes a branch (huge arguments of sin and cos apart, see
`reduction.py`). Results for NaN, infinities, zeros and subnormals are NumPy's.

Where the target has no fused multiply-add it is computed with the same rounding (`software.py`), so
results are the same on every instruction set. The floating-point environment must be the default
one: rounding to nearest, subnormals kept.

Words:
  - *format*: f32 or f64;
  - *reduced*: an argument brought into the small interval where a polynomial was fitted;
  - *Double*: a number as the sum of two floats;
  - *edge*: an argument to which the formula does not apply, such as log(0).

`tools/fit_math.py` computes the coefficients; `benchmarks/vector_math.py` measures error and time.
"""

from anyshape.codegen.llvm.math.table import FUNCTIONS, arity, emit

__all__ = ["FUNCTIONS", "arity", "emit"]
