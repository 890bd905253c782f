"""A transformer encoder in BERT's form: attention and feed-forward, each followed by add and norm.

One layer is the transformer block of the tables. The feed-forward part is four times as wide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.model import Array, Binding, Shape, WrittenModel

# ruff: noqa: PLC0415 - an engine's library is imported by its own process only

PROJECTIONS = ("q", "k", "v", "o")
EXPANSION = 4


@dataclass(frozen=True)
class Encoder(WrittenModel):
    """`naive` attention is written as papers have it, with all scores in memory, as in ONNX."""

    layers: int
    width: int
    heads: int
    naive: bool = False

    @property
    def signature(self) -> Mapping[str, Shape]:
        return {"x": ("batch", "seq", self.width)}

    @property
    def result(self) -> Shape:
        return ("batch", "seq", self.width)

    @property
    def head_width(self) -> int:
        return self.width // self.heads

    @property
    def weight_shapes(self) -> Mapping[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {}
        d, wide = self.width, EXPANSION * self.width
        for n in range(self.layers):
            shapes |= {f"{name}{n}": (d, d) for name in PROJECTIONS}
            shapes |= {f"up{n}": (d, wide), f"down{n}": (wide, d), f"up_bias{n}": (wide,)}
            vectors = [f"{name}_bias" for name in (*PROJECTIONS, "down")]
            vectors += ["scale", "shift", "scale_out", "shift_out"]
            shapes |= {f"{name}{n}": (d,) for name in vectors}
        return shapes

    def anyshape(self, weights: Mapping[str, Array], *inputs: Any) -> Any:
        import anyshape as ash

        (x,) = inputs
        batch, seq, _ = x.shape

        for n in range(self.layers):

            def linear(x: Any, name: str, activation: Any = "none", n: int = n) -> Any:
                return ash.dense(x, weights[f"{name}{n}"], weights[f"{name}_bias{n}"], activation)

            def heads(x: Any) -> Any:
                return x.reshape(batch, seq, self.heads, self.head_width).transpose((0, 2, 1, 3))

            q, k, v = (heads(linear(x, name)) for name in "qkv")
            if self.naive:
                scores = q @ k.transpose((0, 1, 3, 2)) / self.head_width**0.5
                context = ash.softmax(scores, axis=-1) @ v
            else:
                context = ash.attention(q, k, v)
            merged = context.transpose((0, 2, 1, 3)).reshape(batch, seq, self.width)
            x = x + linear(merged, "o")
            x = ash.layer_norm(x, weights[f"scale{n}"], weights[f"shift{n}"])
            x = x + linear(linear(x, "up", "gelu"), "down")
            x = ash.layer_norm(x, weights[f"scale_out{n}"], weights[f"shift_out{n}"])
        return x

    def torch(self, weights: Mapping[str, Any], *inputs: Any) -> Any:
        from torch.nn import functional as nn

        (x,) = inputs
        for n in range(self.layers):

            def linear(x: Any, name: str, n: int = n) -> Any:
                return nn.linear(x, weights[f"{name}{n}"], weights[f"{name}_bias{n}"])

            def heads(x: Any) -> Any:
                return x.unflatten(-1, (self.heads, self.head_width)).transpose(1, 2)

            q, k, v = (heads(linear(x, name)) for name in "qkv")
            if self.naive:
                context = nn.softmax(q @ k.transpose(-2, -1) / self.head_width**0.5, dim=-1) @ v
            else:
                context = nn.scaled_dot_product_attention(q, k, v)
            merged = context.transpose(1, 2).flatten(2)
            x, width = x + linear(merged, "o"), (self.width,)
            x = nn.layer_norm(x, width, weights[f"scale{n}"], weights[f"shift{n}"])
            x = x + linear(nn.gelu(linear(x, "up")), "down")
            x = nn.layer_norm(x, width, weights[f"scale_out{n}"], weights[f"shift_out{n}"])
        return x

    def onnx(self) -> Sequence[str]:
        last = self.layers - 1
        lines = [
            f"to_heads = Constant <value_ints = [0, 0, {self.heads}, {self.head_width}]> ()",
            f"to_rows = Constant <value_ints = [0, 0, {self.width}]> ()",
            f"root = Constant <value_float = {self.head_width**0.5}> ()",
        ]
        for n in range(self.layers):
            lines += self._onnx_layer(n, "x" if n == 0 else f"x{n}", "y" if n == last else "")
        return lines

    def _onnx_layer(self, n: int, x: str, out: str) -> list[str]:
        norm = "LayerNormalization <axis = -1, epsilon = 1e-5>"

        def linear(result: str, operand: str, name: str) -> list[str]:
            product = f"{result}_p{n} = MatMul({operand}, {name}{n})"
            return [product, f"{result}{n} = Add({result}_p{n}, {name}_bias{n})"]

        lines: list[str] = []
        for name, order in (("q", "0, 2, 1, 3"), ("k", "0, 2, 3, 1"), ("v", "0, 2, 1, 3")):
            lines += linear(f"{name}_rows", x, name)
            lines += [
                f"{name}_split{n} = Reshape({name}_rows{n}, to_heads)",
                f"{name}_heads{n} = Transpose <perm = [{order}]> ({name}_split{n})",
            ]
        lines += [
            f"raw{n} = MatMul(q_heads{n}, k_heads{n})",
            f"scores{n} = Div(raw{n}, root)",
            f"p{n} = Softmax <axis = -1> (scores{n})",
            f"context{n} = MatMul(p{n}, v_heads{n})",
            f"context_rows{n} = Transpose <perm = [0, 2, 1, 3]> (context{n})",
            f"merged{n} = Reshape(context_rows{n}, to_rows)",
            *linear("attended", f"merged{n}", "o"),
            f"sum{n} = Add(attended{n}, {x})",
            f"normed{n} = {norm} (sum{n}, scale{n}, shift{n})",
            *linear("wide", f"normed{n}", "up"),
            f"activated{n} = Gelu(wide{n})",
            *linear("narrow", f"activated{n}", "down"),
            f"sum_out{n} = Add(narrow{n}, normed{n})",
            f"{out or f'x{n + 1}'} = {norm} (sum_out{n}, scale_out{n}, shift_out{n})",
        ]
        return lines

    def flops(self, binding: Binding) -> int:
        rows = binding["batch"] * binding["seq"]
        products = 2 * rows * (4 + 2 * EXPANSION) * self.width**2
        attention = 4 * rows * binding["seq"] * self.width
        return self.layers * (products + attention)
