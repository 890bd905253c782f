"""What the generated text looks like: what is in loops, and what was put in front of them."""

from __future__ import annotations

import re

import pytest
from tests.unit.codegen.emit import examples
from tests.unit.codegen.emit.harness import at, buffer, each, kernel, put

from anyshape.base.errors import VerifyError
from anyshape.codegen.llvm.emit import emit_kernel
from anyshape.codegen.llvm.target import NAMED_TARGETS
from anyshape.ir.types import f32
from anyshape.loop import Kernel

AVX512 = NAMED_TARGETS["x86-64-avx512"]


def loop_bodies(made: Kernel) -> list[str]:
    """The blocks that branch back to themselves: innermost loops."""
    text = emit_kernel(made, AVX512)
    blocks = re.split(r"\n(?=[a-z.0-9]+:\n)", text)
    named = [(block.split(":")[0], block) for block in blocks]
    return [block for name, block in named if f'label %"{name}", label' in block]


def test_main_loop_of_a_map():
    """Four vectors from x and b each; the scalar s[t] and all products of indices are outside."""
    main, rest = loop_bodies(examples.five_ops_kernel())
    assert main.count("load <16 x float>") == 8
    assert main.count("store <16 x float>") == 4
    assert rest.count("load <16 x float>") == 2
    for body in (main, rest):
        assert "load float" not in body
        assert "mul i64" not in body
        assert "insertelement" not in body


def test_main_loops_of_guards_have_no_masks():
    """Concat is two loops and pad three; the tails of each are under masks of their own."""
    for made, segments in ((examples.concat_kernel(), 2), (examples.pad_kernel(), 3)):
        bodies = loop_bodies(made)
        assert len(bodies) == 2 * segments
        assert not any("masked" in body or "icmp slt <" in body for body in bodies)


def test_columns_are_vectorised_across():
    """The loop inside, over rows, loads whole vectors and gathers nothing."""
    text = emit_kernel(examples.column_kernel("add", f32), AVX512)
    assert "load <16 x float>" in text
    assert "gather" not in text


def test_accumulators_are_independent():
    main, *_ = loop_bodies(examples.reduce_kernel("add", f32))
    assert len(set(re.findall(r"store <16 x float> \S+ ptr (\S+)", main))) == 4


def test_malformed_kernels_are_refused():
    x, out = buffer("x", f32, ["n1"]), buffer("out", f32, ["n1"])
    with pytest.raises(VerifyError, match="not written"):
        emit_kernel(kernel([x, out], each(put(out, ["j"], at(x, "j")))), AVX512)
