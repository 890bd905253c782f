"""The compliance suite: every case of every op, on every evaluator."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from tests.compliance.case import Case, Sizes, type_of_text
from tests.compliance.cases import CASES
from tests.compliance.evaluators import (
    EVALUATORS,
    INTERPRETED,
    LESSER,
    ON_THE_HOST,
    Evaluator,
    compiled,
)
from tests.compliance.inputs import (
    candidate_sizes,
    contiguous,
    elements,
    input_shapes,
    is_legal,
    layouts,
    legal_sizes,
    operands,
    values,
)
from tests.compliance.tolerance import assert_close, same_bits

from anyshape.base.errors import ShapeError, UnsupportedError
from anyshape.execute import compile_graph
from anyshape.ir import Builder, Graph, Node, Value, lookup, parse, verify
from anyshape.ir.opdef import PARAM, ParamAttrs
from anyshape.ir.types import TensorType
from anyshape.ir.verify import provably_same
from anyshape.ops.torch_call import op_name
from anyshape.passes.native_forms import called_back
from anyshape.sym import FactScope

COMPOUNDS = [case for case in CASES if lookup(case.op).is_compound]
FIRST_OF_OP = list({case.op: case for case in reversed(COMPOUNDS)}.values())

LIMITED = [case for case in CASES if case.given or case.facts]
"""Cases with requirements: only these have sizes that are illegal."""


def for_each(cases: Sequence[Case]) -> pytest.MarkDecorator:
    """The scope makes pytest run all tests of a case in a row: `evaluators` keeps few programs."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.id, scope="module")


every_case = for_each(CASES)
every_evaluator = pytest.mark.parametrize("evaluator", EVALUATORS, ids=lambda e: e.name)


@every_case
def test_strict_refuses_what_runs_on_the_host(case: Case) -> None:
    optimized = compiled(case.graph()).graph
    found = Counter(op_name(node) for node in called_back(optimized.body))
    assert bool(found) == (case.op in ON_THE_HOST)
    if found:
        with pytest.raises(UnsupportedError, match="no native form of") as caught:
            compile_graph(case.graph(), strict=True)
        assert caught.value.ops == found


@every_case
def test_types_and_facts_are_inferred(case: Case) -> None:
    graph = case.graph()
    assert tuple(str(value.type) for value in graph.results) == case.types
    implied = [str(fact.predicate) for fact in graph.facts.facts]
    declared = [str(fact.predicate) for fact in case.declared.facts]
    assert sorted(implied) == sorted([*declared, *case.facts])


@every_case
def test_text_reads_back_to_the_identical_graph(case: Case) -> None:
    graph = case.graph()
    again = parse(graph.as_text(), graph.weights)
    assert again == graph
    assert all(one is other for one, other in zip(again.nodes(), graph.nodes(), strict=True))
    assert again.as_text() == graph.as_text()


@every_case
def test_the_verifier_accepts(case: Case) -> None:
    graph = case.graph()
    assert verify(graph) is graph


@every_evaluator
@every_case
def test_values(case: Case, evaluator: Evaluator) -> None:
    graph = case.graph()
    bindings = legal_sizes(case, graph)
    dynamic = any(type_.symbols for type_ in graph.body.params)
    assert len(bindings) >= (2 if dynamic else 1), "too few sizes to evaluate at"
    for sizes, layout in zip(bindings, layouts(), strict=False):
        if elements(graph, sizes) <= evaluator.most_elements:
            check_values(case, graph, evaluator, sizes, operands(case, graph, sizes, layout))


ONE_OF = 8
"""Of the cases of an op, one in so many runs on each lesser instruction set."""


def sampled() -> Iterator[tuple[Case, Evaluator]]:
    """For each op and instruction set at least one case, for each set other ones."""
    numbers = {op: itertools.count() for op in {case.op for case in CASES}}
    for case in CASES:
        number = next(numbers[case.op])
        for turn, evaluator in enumerate(LESSER):
            if (number + turn) % ONE_OF == 0 or number == 0:
                yield case, evaluator


SAMPLED = {f"{case.id}-{evaluator.name}": (case, evaluator) for case, evaluator in sampled()}


@pytest.mark.parametrize(("case", "evaluator"), SAMPLED.values(), ids=SAMPLED)
def test_values_on_lesser_instruction_sets(case: Case, evaluator: Evaluator) -> None:
    """What differs between them is how kernels are written; `ANYSHAPE_ISA=sse2` runs all cases."""
    test_values(case, evaluator)


ONE_INTERPRETED_OF = 12

INTERPRETED_CASES = {
    case.id: case
    for case in (*{case.op: case for case in CASES}.values(), *CASES[::ONE_INTERPRETED_OF])
}
"""For each op the last of its cases, which is none of the plain ones; and one in so many of all."""


@pytest.mark.parametrize("case", INTERPRETED_CASES.values(), ids=INTERPRETED_CASES)
def test_values_on_the_interpreter_target(case: Case) -> None:
    """Plan, level 2 and runtime without LLVM; `ANYSHAPE_TARGET=interpreter` runs all cases."""
    test_values(case, INTERPRETED)


def test_cases_without_requirements_have_no_illegal_sizes() -> None:
    """So those are no cases of the test below."""
    for case in (case for case in CASES if case not in LIMITED):
        assert not case.requirements
        assert not case.declared.axes


@every_evaluator
@for_each(LIMITED)
def test_illegal_sizes_are_refused(case: Case, evaluator: Evaluator) -> None:
    graph = case.graph()
    illegal = [sizes for sizes in candidate_sizes(case, graph) if not is_legal(case, sizes)]
    rng = np.random.default_rng(case.seed)
    dtypes = [type_.dtype for type_ in graph.body.params if isinstance(type_, TensorType)]
    for sizes in illegal[:4]:
        pairs = zip(input_shapes(graph, sizes), dtypes, strict=True)
        with pytest.raises(ShapeError):
            evaluator.run(graph, [values(rng, shape, dtype) for shape, dtype in pairs])


@pytest.mark.parametrize("case", COMPOUNDS, ids=lambda case: case.id)
def test_decompositions_mean_the_same(case: Case) -> None:
    """The symbolic decomposition has the type of the op, and computes what is expected.

    That is a question of meaning, so the interpreter answers it; what a decomposition consists of
    has cases of its own on every evaluator. One case of each op is also compiled.
    """
    evaluators = EVALUATORS if case in FIRST_OF_OP else EVALUATORS[:1]
    for evaluator in evaluators:
        check_decomposition(case, evaluator)


def check_decomposition(case: Case, evaluator: Evaluator) -> None:
    graph = case.graph()
    (node,) = [node for node in graph.nodes() if node.op.name == case.op]
    expanded = decomposed(graph, node)
    scope = FactScope.of(expanded.facts)
    assert provably_same(scope, expanded.body.result_types, node.types)
    verify(expanded)
    for sizes, layout in zip(legal_sizes(case, graph), layouts(), strict=False):
        if elements(graph, sizes) <= evaluator.most_elements:
            check_values(case, expanded, evaluator, sizes, operands(case, graph, sizes, layout))


def decomposed(graph: Graph, node: Node) -> Graph:
    """A graph of the same inputs that holds the decomposition in place of the op."""
    builder = Builder.at_entry(graph.facts)
    params = [builder.param(type_) for type_ in graph.body.params]
    operands_of_op = [params[graph_params(graph).index(value)] for value in node.operands]
    assert node.op.decompose is not None
    result = node.op.decompose(builder, operands_of_op, node.attrs)
    return builder.graph(graph.name, graph.inputs, [result])


def graph_params(graph: Graph) -> list[Value]:
    nodes = [Node.make(PARAM, (), ParamAttrs(i), (t,)) for i, t in enumerate(graph.body.params)]
    return [node.result() for node in nodes]


# --- values ---------------------------------------------------------------------------------------


def check_values(
    case: Case, graph: Graph, evaluator: Evaluator, sizes: Sizes, arrays: Sequence[Any]
) -> None:
    before = [contiguous(array) for array in arrays]
    if case.check is not None:
        case.check(lambda: evaluator.run(graph, arrays))
        return
    found = evaluator.run(graph, arrays)
    wanted = expectation(case, arrays[: len(case.inputs)])
    types = [type_ for text in case.types if isinstance(type_ := type_of_text(text), TensorType)]
    assert len(found) == len(wanted) == len(types)
    for index, (result, want, type_) in enumerate(zip(found, wanted, types, strict=True)):
        what = f"result {index} of {case.id} at {sizes}"
        assert isinstance(result, np.ndarray), what
        assert result.dtype == type_.dtype.numpy, what
        assert_shape(result, want, type_, sizes, what)
        assert_close(result, want, type_.dtype, case.tolerance, what)
    assert all(map(same_bits, arrays, before)), "an evaluator must not write to its inputs"


def assert_shape(result: Any, want: Any, type_: TensorType, sizes: Sizes, what: str) -> None:
    assert result.shape == want.shape, what
    for dim, size in zip(type_.shape, result.shape, strict=True):
        if dim.symbols <= sizes.keys():  # late axes have no size beforehand
            assert dim.evaluate(sizes) == size, what


def expectation(case: Case, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The independent results; for ops that round, from operands widened to f64."""
    assert case.expect is not None
    plain = [contiguous(array) for array in arrays]
    if not case.tolerance.exact:
        plain = [x.astype(np.float64) if x.dtype.kind in "fV" else x for x in plain]
    with np.errstate(all="ignore"):
        results = case.expect(*plain)
    return tuple(map(np.asarray, results if isinstance(results, tuple) else (results,)))
