"""A model as it was given: the path of a file, bytes, or a ModelProto."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from anyshape.base.errors import InvalidModelError, ModelFileError
from anyshape.frontend.onnx.external_data import ExternalFiles

Source = str | bytes | os.PathLike[str] | onnx.ModelProto

OPSETS = range(1, onnx.defs.onnx_opset_version() + 1)
"""Versions of the default domain: up to the last that the installed package defines. Entries begin
at versions of their own, most of them by 7."""


@dataclass(frozen=True)
class ModelFile:
    """A model, its name for messages, and the files beside it."""

    proto: Any  # onnx.ModelProto
    name: str
    files: ExternalFiles
    opsets: dict[str, int] = field(default_factory=dict[str, int])  # versions by domain


def read_model(source: Source) -> ModelFile:
    """Reads a model. What is no model is refused; nothing of it is followed yet."""
    if isinstance(source, onnx.ModelProto):
        return _checked(source, source.graph.name or "the model", None)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        return model_of_bytes(_content(path), str(path), path.parent)
    return model_of_bytes(bytes(source))


def model_of_bytes(
    content: bytes, name: str = "the model", folder: Path | None = None
) -> ModelFile:
    """The same of what a file holds; `folder` is where data beside it may be."""
    return _checked(_parsed(content, name), name, folder)


def _checked(proto: Any, name: str, folder: Path | None) -> ModelFile:
    if not proto.HasField("graph"):
        raise InvalidModelError(name, "has no graph", "pass a whole ONNX model")
    return ModelFile(proto, name, ExternalFiles(folder, name), _opsets(proto, name))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(str(path), error.strerror or str(error)) from None


def _parsed(content: bytes, name: str) -> Any:
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(content)
    except (DecodeError, RuntimeError, ValueError):
        problem = "is no ONNX model: its bytes cannot be parsed"
        fix = "pass a whole, undamaged model"
        raise InvalidModelError(name, problem, fix, parsed=False) from None
    return proto


def _opsets(proto: Any, name: str) -> dict[str, int]:
    versions: dict[str, int] = {}
    for each in proto.opset_import:
        domain = "" if each.domain == "ai.onnx" else each.domain
        if versions.setdefault(domain, each.version) != each.version:
            problem = f"imports domain '{domain}' in two versions"
            raise InvalidModelError(name, problem, "export the model again")
    default = versions.get("", OPSETS[0])
    if default not in OPSETS:
        problem = f"is written in opset {default}, and {OPSETS[0]} to {OPSETS[-1]} are known"
        raise InvalidModelError(name, problem, "convert it with onnx.version_converter")
    return versions
