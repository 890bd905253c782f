"""`OrtValue` and `IOBinding`: inputs and outputs that are bound before a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.session.errors import InvalidArgument
from anyshape.session.infos import SessionInfos, tensor_type, tensor_type_code


class OrtValue:
    """An array in memory of the CPU."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @staticmethod
    def ortvalue_from_numpy(
        numpy_obj: Any, /, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        _refuse_device(device_type)
        return OrtValue(np.asarray(numpy_obj))

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int],
        element_type: Any,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        _refuse_device(device_type)
        return OrtValue(np.zeros(tuple(shape), element_type))

    def numpy(self) -> Any:
        return self._array

    def shape(self) -> list[int]:
        return list(self._array.shape)

    def data_type(self) -> str:
        return tensor_type(self._array)

    def element_type(self) -> int:
        """The number that ONNX gives to the type of elements."""
        return tensor_type_code(self._array)

    def tensor_size_in_bytes(self) -> int:
        return self._array.nbytes

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._array, list)

    def device_name(self) -> str:
        return "cpu"

    def data_ptr(self) -> int:
        return self._array.ctypes.data

    def has_value(self) -> bool:
        return True

    def is_tensor(self) -> bool:
        return not self.is_tensor_sequence()

    def update_inplace(self, array: Any) -> None:
        """Other elements of the same type and shape."""
        given = np.asarray(array)
        if given.shape != self._array.shape or given.dtype != self._array.dtype:
            wanted = f"{self._array.dtype}{list(self._array.shape)}"
            raise InvalidArgument(f"an update of {given.dtype}{list(given.shape)} to {wanted}")
        self._array[...] = given


class IOBinding:
    """The inputs of a call, and where its outputs go."""

    def __init__(self, infos: SessionInfos) -> None:
        self._infos = infos
        self.inputs: dict[str, Any] = {}
        self.outputs: dict[str, Any] = {}  # the array that a result is written into, or None
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        array = np.asarray(arr_on_cpu)
        self._infos.check(name, array)
        self.inputs[name] = array

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """A new array for each call. Memory by its address is not taken: bind an `OrtValue`."""
        _refuse_device(device_type)
        if buffer_ptr is not None:
            raise InvalidArgument("an output at an address; fix: bind_ortvalue_output(name, value)")
        self._bind(name, None)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._bind(name, ortvalue.numpy())

    def _bind(self, name: str, array: Any) -> None:
        if name not in self._infos.output_numbers:
            raise InvalidArgument(f"Invalid output name:{name}")
        self.outputs[name] = array

    def take(self, results: Sequence[Any]) -> None:
        """The results of a call, in the order in which outputs were bound."""
        values: list[OrtValue] = []
        for (name, place), result in zip(self.outputs.items(), results, strict=True):
            if place is not None:
                if place.shape != result.shape or place.dtype != result.dtype:
                    found = f"{result.dtype}{list(result.shape)}"
                    raise InvalidArgument(f"output {name} is {found}, and what is bound is not")
                place[...] = result
            values.append(OrtValue(result if place is None else place))
        self._results = values

    def get_outputs(self) -> list[OrtValue]:
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        return [value.numpy() for value in self._results]

    def clear_binding_inputs(self) -> None:
        self.inputs.clear()

    def clear_binding_outputs(self) -> None:
        self.outputs.clear()

    def synchronize_inputs(self) -> None:
        """Everything is in memory of the CPU already."""

    def synchronize_outputs(self) -> None:
        """Everything is in memory of the CPU already."""


def _refuse_device(device_type: str) -> None:
    if device_type != "cpu":
        raise InvalidArgument(f"device {device_type!r}; fix: use 'cpu'")
