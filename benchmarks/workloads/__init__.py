"""What is measured: each model in a file, for all engines."""

from benchmarks.workloads.attention import Attention
from benchmarks.workloads.convolutions import Convolutions, PlacesConv, PlacesConvBytes
from benchmarks.workloads.deepseek import DeepSeek
from benchmarks.workloads.dense import Dense, DenseBytes
from benchmarks.workloads.elementwise import Add, FiveOps
from benchmarks.workloads.encoder import Encoder
from benchmarks.workloads.gpt2 import Gpt2, Gpt2Steps
from benchmarks.workloads.images import Images, SegmentSums
from benchmarks.workloads.minilm import MiniLm
from benchmarks.workloads.mlp import Mlp
from benchmarks.workloads.moe import Moe
from benchmarks.workloads.rows import Rows

__all__ = [
    "Add",
    "Attention",
    "Convolutions",
    "DeepSeek",
    "Dense",
    "DenseBytes",
    "Encoder",
    "FiveOps",
    "Gpt2",
    "Gpt2Steps",
    "Images",
    "MiniLm",
    "Mlp",
    "Moe",
    "PlacesConv",
    "PlacesConvBytes",
    "Rows",
    "SegmentSums",
]
