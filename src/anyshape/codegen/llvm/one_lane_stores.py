"""Masked stores of one known lane, made stores of one element.

A mask that is constant with one lane set occurs wherever a constant size leaves one element over.
For AVX-512, LLVM 22 merges such a store with the truncation before it and then writes the element
before it was truncated: four bytes for one of i8, two bytes too many for i16 and bf16, which may
lie outside the buffer. As a plain store of one element it is right, and no worse.

The mask is constant only after optimisation, so this works on optimised text.
"""

from __future__ import annotations

import re

_NARROW_STORE = re.compile(r"llvm\.masked\.store\.v\d+i(?:8|16)\.")

_CALL = re.compile(
    r"^(?P<indent> *)(?:tail )?call void @llvm\.masked\.store\.v\d+(?P<element>i8|i16)\.p0\("
    r"(?P<vector><\d+ x i\d+>) (?P<value>[^,]+), ptr [^,]*?(?P<pointer>[%@][^ ,]+), "
    r"<\d+ x i1> <(?P<mask>i1 (?:true|false)(?:, i1 (?:true|false))*)>\).*$",
    re.MULTILINE,
)


def may_have_one_lane_stores(names: list[str]) -> bool:
    """Whether a module that declares these functions has masked stores of narrow elements."""
    return any(_NARROW_STORE.match(name) for name in names)


def without_one_lane_stores(llvm_text: str) -> str | None:
    """The text with plain stores instead, or None if there is nothing to change."""
    rewriter = _Rewriter()
    changed = _CALL.sub(rewriter, llvm_text)
    return changed if rewriter.count else None


class _Rewriter:
    """One call at a time; new values have names that nothing else has."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, call: re.Match[str]) -> str:
        lanes = [lane.endswith("true") for lane in call["mask"].split(", ")]
        if sum(lanes) != 1:
            return call[0]
        lane, number, indent = lanes.index(True), self.count, call["indent"]
        self.count += 1
        element, bytes_ = call["element"], int(call["element"][1:]) // 8
        lines = [
            f"%one.lane.{number} = extractelement {call['vector']} {call['value']}, i64 {lane}",
            f"%one.place.{number} = getelementptr i8, ptr {call['pointer']}, i64 {lane * bytes_}",
            f"store {element} %one.lane.{number}, ptr %one.place.{number}, align {bytes_}",
        ]
        return "\n".join(indent + line for line in lines)
