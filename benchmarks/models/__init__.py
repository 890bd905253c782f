"""What is measured: each model in a file, for all engines."""

from benchmarks.models.attention import Attention
from benchmarks.models.dense import Dense
from benchmarks.models.elementwise import Add, FiveOps
from benchmarks.models.encoder import Encoder
from benchmarks.models.mlp import Mlp
from benchmarks.models.rows import Rows

__all__ = ["Add", "Attention", "Dense", "Encoder", "FiveOps", "Mlp", "Rows"]
