"""A padded model that was compiled without its padding: called with sequences of any lengths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Final

from anyshape.api.record_model import ragged_record
from anyshape.base.errors import RaggedModelError
from anyshape.base.options import Options
from anyshape.base.pickled import from_saved
from anyshape.dynamic.ragged_rewrite import RaggedGraph, ragged_graph
from anyshape.execute import CompileKeywords, Executable, compile_graph
from anyshape.execute.ragged_calls import RaggedCalls
from anyshape.execute.record_file import saved_parts
from anyshape.frontend.builder.pytree import unflatten
from anyshape.frontend.imported.program import FixedResult, ImportedModel, TensorResult, UserInput
from anyshape.holders.passed_on import PassedOn
from anyshape.saved.container import Bytes, write_file

MASK: Final = "attention_mask"
"""How models call the input that tells tokens from padding."""


class RaggedModule(PassedOn):
    """A model that computes nothing for padding. See `compile`, `ragged`.

    It takes the model's tensors by name, but for the mask: a `Ragged`, or a list of arrays, one for
    each sequence. Results that have a row for each sequence are arrays; those that have one for
    each token are `Ragged`, in the containers of the model.
    """

    def __init__(self, executable: Executable, made: RaggedGraph, model: ImportedModel) -> None:
        self._executable = executable
        self._calls = RaggedCalls(made.graph.inputs[:-1], made.packed, made.of_tokens)
        self._program = model.program

    @property
    def executable(self) -> Executable:
        """What runs the packed graph. It takes the graph's arrays in order, offsets last."""
        return self._executable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = self._calls.results(self._executable, args, kwargs)
        return unflatten(self._program.result_structure, self._returned(leaves))

    def _returned(self, results: Sequence[Any]) -> list[Any]:
        return [
            results[each.result] if isinstance(each, TensorResult) else each.value
            for each in self._program.returned
            if isinstance(each, TensorResult | FixedResult)
        ]

    def save(self, path: str | PathLike[str], *, targets: Iterable[str] = ()) -> None:
        """Writes a file that `anyshape.load` runs without compiling. See `Executable.save`."""
        write_file(path, self.saved(targets))

    def saved(self, targets: Iterable[str] = ()) -> list[Bytes]:
        """The parts of that file."""
        return saved_parts(
            self.executable,
            targets,
            lambda record, _: ragged_record(self._program, record, self._calls),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as that file."""
        return from_saved, (b"".join(self.saved()),)


def ragged_module(
    model: ImportedModel, seq: str, mask: str, options: Options | None, chosen: CompileKeywords
) -> RaggedModule:
    """The captured model, rewritten and compiled."""
    program = model.program
    plain = all(isinstance(source, UserInput) for source in program.sources)
    kept = all(
        isinstance(each, FixedResult) or (isinstance(each, TensorResult) and not each.order)
        for each in program.returned
    )
    if model.others or model.refused or not plain or not kept or program.input_updates:
        problem = "it branches on sizes, has state, or takes or gives what is no plain tensor"
        raise RaggedModelError(program.graph.name, problem, "compile it without ragged=")
    made = ragged_graph(program.graph, seq, mask)
    return RaggedModule(compile_graph(made.graph, options, **chosen), made, model)
