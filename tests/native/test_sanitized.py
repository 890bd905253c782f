"""Which reports of a sanitizer are about us."""

import pytest
from tests.native.sanitized import problems

LEAKS = """
==1==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 952 byte(s) in 17 object(s) allocated from:
    #0 0x7f in malloc
    #1 0x7f in gc_alloc Modules/gcmodule.c:2283

{more}SUMMARY: AddressSanitizer: 952 byte(s) leaked in 17 allocation(s).
"""
OURS = """Direct leak of 8 byte(s) in 1 object(s) allocated from:
    #0 0x7f in operator new
    #1 0x7f in anyshape::Pool::take src/anyshape/runtime/csrc/core/pool.cpp:70"""


def test_leaks_of_others_are_left_out():
    assert problems(LEAKS.format(more="")) == []
    assert problems(LEAKS.format(more=f"{OURS}\n\n")) == [OURS]


@pytest.mark.parametrize(
    "report",
    [
        "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x6",
        f"==1==ERROR: AddressSanitizer: heap-use-after-free\n{LEAKS}",
        "pool.cpp:9:3: runtime error: signed integer overflow",
        "WARNING: ThreadSanitizer: data race (pid=1)",
    ],
)
def test_everything_else_is_a_problem(report: str):
    assert problems(report) == [report]
