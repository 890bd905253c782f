"""A compile worker: `python -m anyshape.codegen.llvm.worker`, started by `workers`.

It reads sources from its standard input until that ends, as it does when the parent goes away.
"""

from __future__ import annotations

import os
from typing import IO

from anyshape.base.errors import CompileError
from anyshape.base.garbage import young_garbage
from anyshape.codegen.llvm.compile import Tuning
from anyshape.codegen.llvm.emitting import Source, compile_source
from anyshape.codegen.llvm.target import LlvmTarget
from anyshape.codegen.llvm.wire import (
    decode_settings,
    decode_source,
    encode_result,
    receive,
    send,
)


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer every request."""
    try:
        target, tuning = decode_settings(receive(requests))
        while True:
            source = decode_source(receive(requests))
            send(answers, encode_result(_compile(source, target, tuning)))
    except (EOFError, BrokenPipeError):
        return


def _compile(source: Source, target: LlvmTarget, tuning: Tuning) -> bytes | CompileError:
    try:
        return compile_source(source, target, tuning)
    except CompileError as error:
        return error


def main() -> None:
    """Serve on the standard streams; whatever else prints does so on the standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with os.fdopen(0, "rb") as requests, answers, young_garbage():
        serve(requests, answers)


if __name__ == "__main__":
    main()
