"""Imports an ExportedProgram: its inputs by the program's signature, then its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

from anyshape.base.errors import AxisNameConflictError
from anyshape.frontend.aten.complex_tensors import PARTS, ComplexTensor, is_complex
from anyshape.frontend.aten.dtypes import from_torch
from anyshape.frontend.aten.symbols import dim_of_size
from anyshape.frontend.aten.walk import (
    Walker,
    check_known,
    constant,
    location_of,
    memory_reader,
)
from anyshape.frontend.builder.arrays import as_array
from anyshape.frontend.builder.checks import graph_with_checks
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.tensor import Tensor
from anyshape.frontend.builder.tracer import Tracer
from anyshape.frontend.imported import where
from anyshape.frontend.imported.axes import NamedDims
from anyshape.frontend.imported.program import (
    ComplexInput,
    ComplexResult,
    FixedResult,
    FloatResult,
    ImportedProgram,
    Returned,
    SizeResult,
    Source,
    StateInput,
    TensorResult,
    TruthResult,
    UserInput,
)
from anyshape.frontend.torch_export.claims import differing_claims
from anyshape.frontend.torch_export.containers import structure_of
from anyshape.frontend.torch_export.guard_facts import GuardFacts
from anyshape.frontend.torch_export.guards import Guard, shape_environment
from anyshape.frontend.torch_export.naming import Naming
from anyshape.frontend.torch_export.shared_tensors import SharedTensors
from anyshape.ir.build import Builder
from anyshape.ir.literal import TensorLiteral, WeightRef
from anyshape.ir.types import Array, TensorType
from anyshape.ops.source import ConstantAttrs
from anyshape.sym import Dim, Equal, FactScope, Origin


def import_exported(
    program: Any,
    name: str,
    naming: Naming,
    guards: Sequence[Guard],
    tensors: SharedTensors | None = None,
    *,
    one_of_several: bool = False,
) -> ImportedProgram:
    """The graph of a functional ExportedProgram, with these names for its sizes. What the model's
    code chose by is a case, `one_of_several`, or the only one."""
    check_known(program.graph_module)
    tensors = tensors or SharedTensors()
    try:
        return _Importer(program, name, naming, tensors, one_of_several).imported(guards)
    except AxisNameConflictError as error:
        error.in_axes = True
        raise


class _Importer:
    def __init__(
        self,
        program: Any,
        name: str,
        naming: Naming,
        tensors: SharedTensors,
        one_of_several: bool,
    ) -> None:
        self.program = program
        self.tensors = tensors
        self.one_of_several = one_of_several
        self.signature = program.graph_signature
        self.name = name
        self.naming = naming
        scope = FactScope()
        for axis in naming.named.axes:
            scope.declare(axis)
        dims = naming.dims.values()
        named = (axis.symbol for axis in naming.named.axes)
        where.check_known(naming.named.where, {*named, *(s for dim in dims for s in dim.symbols)})
        for fact in naming.named.where:
            scope.assume_fact(fact)
        self.builder = Builder(scope, tensors.weights)
        self.walker = Walker(program.graph_module, naming.dims)
        self.tracer = Tracer(name, self.builder, Tensor, locate=lambda: self.walker.location)
        self.inputs: list[str] = []
        self.sources: list[Source] = []
        self.state: dict[str, Array] = {}
        self.constants: dict[str, TensorLiteral | WeightRef] = {}
        self.results: list[Tensor] = []

    def imported(self, guards: Sequence[Guard]) -> ImportedProgram:
        with self.tracer.active():
            self._inputs()
            self._fixed_sizes()
            self._guards([guard for guard in guards if guard.location is not None])
            self.walker.run()
            self._guards([guard for guard in guards if guard.location is None])
            self._claims(guards)
            returned, state_updates, input_updates = self._outputs()
        return ImportedProgram(
            graph_with_checks(self.tracer, self.name, self.inputs, self.results),
            tuple(self.sources),
            tuple(returned),
            self.state,
            state_updates,
            input_updates,
            structure_of(self.program.call_spec.out_spec),
            self.constants,
            memory_reader(self.program.graph_module),
        )

    # --- inputs -------------------------------------------------------------------------------

    def _inputs(self) -> None:
        nodes = (node for node in self.program.graph.nodes if node.op == "placeholder")
        leaf = 0
        for node, spec in zip(nodes, self.signature.input_specs, strict=True):
            if spec.kind is InputKind.TOKEN:
                self.walker.values[node] = None
            elif spec.kind is InputKind.USER_INPUT:
                self.walker.values[node] = self._user_input(node, spec, leaf)
                leaf += 1
            else:
                self.walker.values[node] = self._state_or_constant(node, spec)

    def _user_input(self, node: Any, spec: Any, leaf: int) -> Any:
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return getattr(spec.arg, "value", None)
        named = self.naming.dims_of(leaf)
        if not is_complex(value):
            return self._param(node.name, value, UserInput(leaf), named)
        return ComplexTensor(self._param(node.name, value, ComplexInput(leaf), named))

    def _param(self, name: str, value: Any, source: Source, named: NamedDims) -> Tensor:
        self.inputs.append(name)
        self.sources.append(source)
        shape = tuple(self._dim(size, named.get(i)) for i, size in enumerate(value.shape))
        if is_complex(value):
            return self.tracer.param(TensorType(PARTS[value.dtype], (*shape, Dim.of(2))))
        return self.tracer.param(TensorType(from_torch(value.dtype), shape))

    def _dim(self, size: Any, given: Dim | None) -> Dim:
        return dim_of_size(size, self.naming.dims) if given is None else given

    def _state_or_constant(self, node: Any, spec: Any) -> Any:
        """A parameter, a buffer, or a tensor that the model's code made."""
        known, made = self.program.state_dict, self.program.constants
        value = known[spec.target] if spec.target in known else made[spec.target]
        if is_complex(value):
            return constant(value.clone())
        if spec.target in self.signature.buffers_to_mutate.values():
            self.tensors.state.add(spec.target)
        if spec.target in self.tensors.state:
            self.state[spec.target] = as_array(value).copy()
            return self._param(node.name, value, StateInput(spec.target), {})
        weight = self.builder.constant(self.tensors.constant(value))
        self.constants[spec.target] = weight.node.attrs_as(ConstantAttrs).value
        return self.tracer.tensor(weight)

    # --- conditions ---------------------------------------------------------------------------

    def _fixed_sizes(self) -> None:
        """The sizes that this case is captured for."""
        for axis in self.naming.fixed:
            self.walker.location = axis.location
            same = Equal(Dim.of(axis.symbol), Dim.of(axis.size))
            self.tracer.require(same, "the model was captured for this size", Origin.MODEL)
        self.walker.location = None

    def _guards(self, guards: Sequence[Guard]) -> None:
        """What the model's code asked of sizes, and the answer that was captured."""
        naming, several = self.naming, self.one_of_several
        facts = GuardFacts(self.tracer, naming.dims, self._sizes(), naming.declared, several)
        for guard in guards:
            self.walker.location = guard.location
            facts.require(guard)
        self.walker.location = None

    def _sizes(self) -> dict[str, int]:
        """The example's, by torch's symbols."""
        known: Any = getattr(shape_environment(self.program), "backed_var_to_val", {})
        return {symbol.name: int(size) for symbol, size in known.items()}

    def _claims(self, guards: Sequence[Guard]) -> None:
        """Sizes that torch took for the program's are ours."""
        for claim in differing_claims(self.walker.values, self.naming.dims, guards):
            self.walker.location = location_of(claim.node)
            why = "the model's code was captured for sizes that are the same"
            same = Equal(self.tracer.dim(claim.ours), claim.theirs)
            self.tracer.require(same, why, Origin.FRONTEND)
        self.walker.location = None

    # --- results ------------------------------------------------------------------------------

    def _outputs(self) -> tuple[list[Returned], dict[str, int], dict[int, int]]:
        returned: list[Returned] = []
        state: dict[str, int] = {}
        inputs: dict[int, int] = {}
        results, specs = self.walker.results(), self.signature.output_specs
        for value, known, spec in zip(results, self._declared(), specs, strict=True):
            match spec.kind:
                case OutputKind.TOKEN:
                    pass
                case OutputKind.USER_OUTPUT:
                    returned.append(self._returned(value, known))
                case OutputKind.BUFFER_MUTATION:
                    state[spec.target] = self._result(value)
                case OutputKind.USER_INPUT_MUTATION:
                    inputs[self._leaf(spec.target)] = self._result(value)
                case kind:
                    raise self.tracer.refuse(f"a result of kind {kind}", "export for inference")
        return returned, state, inputs

    def _declared(self) -> list[Any]:
        """What torch says that each result is."""
        (output,) = (node for node in self.program.graph.nodes if node.op == "output")
        return [getattr(item, "meta", {}).get("val") for item in output.args[0]]

    def _returned(self, value: Any, known: Any) -> Returned:
        if isinstance(value, Tensor) and isinstance(known, (float, torch.SymFloat)):
            return FloatResult(self._result(value))
        if isinstance(value, Tensor) and isinstance(known, (bool, torch.SymBool)):
            return TruthResult(self._result(value))
        if isinstance(value, Tensor):
            return TensorResult(self._result(value))
        if isinstance(value, ComplexTensor):
            return ComplexResult(self._result(value.parts))
        if isinstance(value, Dim):
            return SizeResult(self._result(asarray(value)))
        return FixedResult(value)

    def _result(self, value: Tensor) -> int:
        self.results.append(value)
        return len(self.results) - 1

    def _leaf(self, name: str) -> int:
        """The number of a user input among the leaves of the call."""
        return list(self.signature.user_inputs).index(name)
