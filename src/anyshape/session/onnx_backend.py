"""anyshape as a backend of ONNX's own interface, which its test suite runs against.

import anyshape.session.onnx_backend as backend
backend.prepare(model).run([x, y])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from onnx.backend.base import Backend, BackendRep, namedtupledict

from anyshape.session.inference_session import InferenceSession
from anyshape.session.options import SessionOptions


class PreparedModel(BackendRep):
    """A compiled model, which runs at any shape."""

    def __init__(self, session: InferenceSession) -> None:
        self.session = session

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """`inputs` are in the order of the model, by name, or one array."""
        names = [each.name for each in self.session.get_inputs()]
        if isinstance(inputs, Mapping):
            feeds = cast(Mapping[str, Any], inputs)
        else:
            several = isinstance(inputs, (list, tuple))
            given = cast(Sequence[Any], inputs) if several else [inputs]
            feeds = dict(zip(names, given, strict=False))
        outputs = [each.name for each in self.session.get_outputs()]
        return namedtupledict("Outputs", outputs)(*self.session.run(None, feeds))


class AnyshapeBackend(Backend):
    """Whole models and single nodes, on the CPU."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """`sess_options` are a session's; other keywords mean nothing here."""
        if not cls.supports_device(device):
            raise ValueError(f"anyshape has no device {device!r}, only CPU")
        options = kwargs.get("sess_options") or SessionOptions()
        return PreparedModel(InferenceSession(model, options))

    @classmethod
    def run_model(
        cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.partition(":")[0] == "CPU"


is_compatible = AnyshapeBackend.is_compatible
prepare = AnyshapeBackend.prepare
run_model = AnyshapeBackend.run_model
supports_device = AnyshapeBackend.supports_device
