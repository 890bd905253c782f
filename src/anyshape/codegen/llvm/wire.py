"""How a process talks to its compile workers: frames on pipes, each a length and that many bytes.

The parent sends one frame of settings, then one per source; the worker answers each source with a
frame whose first byte says whether object code or a description of the error follows. Sources are
pickled: both ends are the same program, and nobody else has the pipe.
"""

from __future__ import annotations

import json
import pickle
import struct
from dataclasses import asdict
from typing import IO

from anyshape.base.errors import CompileError, UndefinedSymbolError
from anyshape.codegen.llvm.compile import Tuning
from anyshape.codegen.llvm.emitting import Source
from anyshape.codegen.llvm.target import LlvmTarget

_LENGTH = struct.Struct("<Q")
_OBJECT, _ERROR = b"o", b"e"


def send(stream: IO[bytes], payload: bytes) -> None:
    """Write one frame."""
    stream.write(_LENGTH.pack(len(payload)) + payload)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes:
    """Read one frame; EOFError if the other side has gone."""
    (length,) = _LENGTH.unpack(_read_exactly(stream, _LENGTH.size))
    return _read_exactly(stream, length)


def _read_exactly(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content


def encode_settings(target: LlvmTarget, tuning: Tuning) -> bytes:
    """The first frame: what everything of this worker is compiled for."""
    return json.dumps({"target": asdict(target), "tuning": asdict(tuning)}).encode()


def decode_settings(payload: bytes) -> tuple[LlvmTarget, Tuning]:
    """The inverse."""
    settings = json.loads(payload)
    return LlvmTarget(**settings["target"]), Tuning(**settings["tuning"])


def encode_source(source: Source) -> bytes:
    """A request."""
    return pickle.dumps(source)


def decode_source(payload: bytes) -> Source:
    """The inverse."""
    return pickle.loads(payload)


def encode_result(result: bytes | CompileError) -> bytes:
    """The answer to one source."""
    if isinstance(result, bytes):
        return _OBJECT + result
    symbols = result.symbols if isinstance(result, UndefinedSymbolError) else ()
    fields = {"kernel": result.kernel, "problem": result.problem, "symbols": symbols}
    return _ERROR + json.dumps(fields).encode()


def decode_result(payload: bytes) -> bytes:
    """The object code in an answer; raises the error in it."""
    if payload[:1] == _OBJECT:
        return payload[1:]
    fields = json.loads(payload[1:])
    if fields["symbols"]:
        raise UndefinedSymbolError(fields["kernel"], fields["symbols"])
    raise CompileError(fields["kernel"], fields["problem"])
