"""Applying rules to a whole graph until none fires.

Each round walks every region bottom-up. At each value the rules of its op are tried in order until
none fires there; what a replacement built below its root is seen in the next round. A replacement
whose type is not provably the old one is a defect of the rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from anyshape.base.errors import VerifyError
from anyshape.ir.build import Builder
from anyshape.ir.graph import Graph
from anyshape.ir.node import Node, Value
from anyshape.ir.rewrite.decision import Decision, DecisionLog
from anyshape.ir.rewrite.match import Refusal, may_match
from anyshape.ir.rewrite.rebuild import Rebuilder, rebuild_graph
from anyshape.ir.rewrite.rule import Rule
from anyshape.ir.verify import provably_same

MAX_ROUNDS = 64
"""Rounds, and rewrites in a row at one value, after which rules must be undoing each other."""


@dataclass(frozen=True)
class RuleSet:
    """Rules by the op at the root of their pattern: a node asks only those that could apply."""

    by_op: Mapping[str, tuple[Rule, ...]]

    @staticmethod
    def of(rules: Iterable[Rule]) -> RuleSet:
        grouped: defaultdict[str, list[Rule]] = defaultdict(list)
        for rule in rules:
            grouped[rule.pattern.op].append(rule)
        return RuleSet({op: tuple(found) for op, found in grouped.items()})

    def for_op(self, op: str) -> tuple[Rule, ...]:
        return self.by_op.get(op, ())


def rewrite(graph: Graph, rules: RuleSet, log: DecisionLog | None = None) -> Graph:
    """The graph in which no rule applies any more."""
    rewriter = _Rewriter(rules, DecisionLog() if log is None else log)
    for _ in range(MAX_ROUNDS):
        rewriter.fired = []
        new = rebuild_graph(rewriter, graph)
        if not rewriter.fired and new.body == graph.body:
            return new
        graph = new
    raise _unsettled(f"graph '{graph.name}'", rewriter.fired)


class _Rewriter(Rebuilder):
    """One walk; `fired` are the rules applied in it."""

    def __init__(self, rules: RuleSet, log: DecisionLog) -> None:
        self.rules = rules
        self.log = log
        self.fired: list[Rule] = []

    def replace(self, node: Node, builder: Builder) -> tuple[Value, ...]:
        if not self.rules.for_op(node.op.name):
            return node.results
        return tuple(self._settled(value, builder) for value in node.results)

    def _settled(self, value: Value, builder: Builder) -> Value:
        """Rules applied at one value until none fires."""
        for _ in range(MAX_ROUNDS):
            better = self._step(value, builder)
            if better is None:
                return value
            value = better
        raise _unsettled(str(value.node), self.fired[-MAX_ROUNDS:])

    def _step(self, value: Value, builder: Builder) -> Value | None:
        for rule in self.rules.for_op(value.node.op.name):
            better = self._try(rule, value, builder)
            if better is not None:
                return better
        return None

    def _try(self, rule: Rule, value: Value, builder: Builder) -> Value | None:
        if not may_match(rule.pattern, value):
            return None
        found = rule.match(value, builder)
        if isinstance(found, Refusal):
            return None  # not worth recording: most rules match nowhere
        answer = rule.apply(found, builder)
        if answer == value:
            return None
        place = builder.locations.of(value.node)
        if isinstance(answer, Refusal):
            self.log.record(Decision(rule.name, False, answer.reason, value.node, place))
            return None
        _check_type(rule, value, answer, builder)
        self.fired.append(rule)
        self.log.record(Decision(rule.name, True, rule.law, value.node, place))
        return answer


def _check_type(rule: Rule, old: Value, new: Value, builder: Builder) -> None:
    if not provably_same(builder.scope, [new.type], [old.type]):
        raise VerifyError(f"rule {rule}", f"turns {old.node} into {new.type}")


def _unsettled(where: str, fired: Iterable[Rule]) -> VerifyError:
    names = ", ".join(sorted({rule.name for rule in fired}))
    return VerifyError(where, f"did not settle in {MAX_ROUNDS} rounds; the last rules were {names}")
