"""Random size expressions with a naive meaning of their own.

A tree is built and evaluated without anyshape's canonical form, so that it can judge that form.
Values are drawn deterministically: `settings(derandomize=True)` makes CI repeat itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from anyshape.base.errors import DimError
from anyshape.sym import Dim, Symbol, bcast, maximum, minimum

NAMES = ("a", "b", "c")
STEADY = settings(
    derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


class Undefined(Exception):  # noqa: N818 - an outcome of evaluation, not a defect
    """The expression has no value for these sizes."""


@dataclass(frozen=True)
class Leaf:
    value: int | str

    def dim(self) -> Dim:
        return Dim.of(self.value)

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        return sizes[self.value] if isinstance(self.value, str) else self.value


@dataclass(frozen=True)
class Apply:
    operator: str
    left: Tree
    right: Tree

    def dim(self) -> Dim:
        left, right = self.left.dim(), self.right.dim()
        match self.operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "//":
                return left // right
            case "%":
                return left % right
            case "min":
                return minimum(left, right)
            case "max":
                return maximum(left, right)
            case _:
                return bcast(left, right)

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        left, right = self.left.evaluate(sizes), self.right.evaluate(sizes)
        if self.operator in ("//", "%") and right == 0:
            raise Undefined
        match self.operator:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "//":
                return left // right
            case "%":
                return left % right
            case "min":
                return min(left, right)
            case "max":
                return max(left, right)
            case _:
                return _broadcast(left, right)


Tree = Leaf | Apply


def _broadcast(left: int, right: int) -> int:
    if left != right and 1 not in (left, right):
        raise Undefined
    return right if left == 1 else left


leaves = st.sampled_from(NAMES).map(Leaf) | st.integers(-9, 9).map(Leaf)
small_sizes = st.fixed_dictionaries({name: st.integers(0, 12) for name in NAMES})
any_integers = st.fixed_dictionaries({name: st.integers(-30, 30) for name in NAMES})


def trees(operators: tuple[str, ...], max_leaves: int = 7) -> st.SearchStrategy[Tree]:
    """Expression trees over the given operators."""

    def apply(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.builds(Apply, st.sampled_from(operators), children, children)

    return st.recursive(leaves, apply, max_leaves=max_leaves)


ALL = ("+", "-", "*", "//", "%", "min", "max", "bcast")


def dim_of(tree: Tree) -> Dim | None:
    """The canonical dim, or None when the tree never has a value (division by a constant 0)."""
    try:
        return tree.dim()
    except DimError:
        return None


def binding(sizes: Mapping[str, int]) -> dict[Symbol, int]:
    return {Symbol(name): size for name, size in sizes.items()}
