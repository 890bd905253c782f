"""`LoadedModel`: a compiled model of a framework, from a file.

Models that take tensors and give tensors, and nothing else, are called here; those with state,
constants among their arguments, or numbers among their results by a `CompiledModule` that is put
together when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from anyshape.base.pickled import from_saved
from anyshape.loaded.executable import LoadedExecutable
from anyshape.loaded.from_file import FromFile
from anyshape.loaded.programs import FileCode
from anyshape.saved.records import ContainerRecord, ModelRecord, ReturnedRecord

if TYPE_CHECKING:
    from anyshape.api.compiled_module import CompiledModule
    from anyshape.execute import Executable, StepRun

_GIVEN = ("TensorResult", "FixedResult")


class LoadedModel(FromFile):
    """A compiled model from a file, called like the model. See `CompiledModule`.

    Results that the model has in a class of its own are in a dict with the same names here.
    """

    def __init__(self, record: ModelRecord, code: FileCode) -> None:
        super().__init__(self._assembled, record.executable, code)
        self._record = record
        self._loaded = LoadedExecutable(record.executable, code)
        self._model: CompiledModule | None = None
        self._direct = _is_direct(record)

    def _assembled(self) -> Executable:
        return self._loaded.executable

    def profile_calls(self, *, on: bool = True) -> None:
        """See `Executable.profile_calls`."""
        self._loaded.profile_calls(on=on)

    @property
    def module(self) -> CompiledModule:
        """The same with all that a CompiledModule can do."""
        if self._model is None:
            from anyshape.loaded.models import compiled_module  # noqa: PLC0415 - on first use

            self._model = compiled_module(self._record, self.executable, self._code)
        return self._model

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arrays = self._arrays(args, kwargs) if self._direct else None
        if arrays is None:
            return self.module(*args, **kwargs)
        results = self._loaded(*arrays)
        program = self._record.programs[0]
        return rebuilt(program.results, leaves_of(program.returned, results))

    def _arrays(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any] | None:
        """The arguments in the order of the graph; None for any other call than with arrays."""
        signature = self._record.signature
        given = {**dict(zip(signature.positional, args, strict=False)), **kwargs}
        if len(given) != len(args) + len(kwargs) or given.keys() != set(signature.names):
            return None
        arrays = [given[name] for name in signature.names]
        return arrays if all(type(array) is ndarray for array in arrays) else None

    def steps(self, *args: Any, **kwargs: Any) -> Iterator[StepRun]:
        """One call, a step at a time. See `CompiledModule.steps`."""
        return self.module.steps(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return from_saved, (bytes(self._code.file.memory),)


def _is_direct(record: ModelRecord) -> bool:
    signature, (program, *others) = record.signature, record.programs
    leaves = [each.leaf for each in program.sources if each.kind == "UserInput"]
    return (
        not others
        and not (program.state or program.input_updates or program.memory_reader)
        and all(signature.tensors)
        and signature.paths == signature.names
        and leaves == list(range(len(program.sources))) == list(range(len(signature.names)))
        and all(item.kind in _GIVEN and not item.order for item in program.returned)
    )


def leaves_of(returned: Sequence[ReturnedRecord], results: Sequence[Any]) -> Iterator[Any]:
    """What a call gives, in order."""
    for item in returned:
        yield results[item.numbers[0]] if item.numbers else item.value


def rebuilt(record: ContainerRecord, leaves: Iterator[Any]) -> Any:
    """The same in containers."""
    if not record.kind:
        return next(leaves)
    children = [rebuilt(child, leaves) for child in record.children]
    match record.kind:
        case "dict":
            return dict(zip(record.keys, children, strict=True))
        case "list":
            return children
        case "tuple":
            return tuple(children)
        case _:
            return None
