"""Generated code that cannot be made or loaded."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.base.errors.common import AnyshapeError, joined


class CompileError(AnyshapeError):
    """Generated code that does not compile: always a defect of the code generator."""

    def __init__(self, kernel: str, problem: str) -> None:
        super().__init__(kernel, problem)
        self.kernel = kernel
        self.problem = problem

    @property
    def fix(self) -> str:
        """What to do about it."""
        return "report it as a defect of anyshape, with the model or the graph"

    def message(self) -> str:
        return joined(
            f"kernel '{self.kernel}' does not compile: {self.problem}", f"fix: {self.fix}"
        )


class UndefinedSymbolError(CompileError):
    """Generated code that calls what it does not define; kernels must be self-contained."""

    def __init__(self, kernel: str, symbols: Sequence[str]) -> None:
        super().__init__(kernel, f"undefined symbols {', '.join(symbols)}")
        self.args = (kernel, tuple(symbols))
        self.symbols = tuple(symbols)

    @property
    def fix(self) -> str:
        return "emit the operation from instructions that the target has, not as a library call"


class MissingRuleError(CompileError):
    """An op that was put into a kernel, though nothing says how it is computed there."""

    def __init__(self, op: str, rule: str) -> None:
        super().__init__(op, f"the op has no {rule}")
        self.args = (op, rule)
        self.op = op
        self.rule = rule

    @property
    def fix(self) -> str:
        return f"write the {self.rule}, or leave '{self.op}' out of kernels"


class NotGeneratedError(AnyshapeError):
    """A text of generated code that does not exist: the kernel is a function of the runtime."""

    def __init__(self, kernel: str, what: str) -> None:
        super().__init__(kernel, what)
        self.kernel = kernel
        self.what = what

    def message(self) -> str:
        return joined(
            f"kernel '{self.kernel}' has no {self.what}: it is a function of the native runtime",
            "fix: skip those with a `kernel.native`; as_text() says what they are given",
        )


class NoListingError(AnyshapeError):
    """A text of generated code that a target does not have."""

    def __init__(self, target: str, form: str, forms: Sequence[str]) -> None:
        super().__init__(target, form, tuple(forms))
        self.target = target
        self.form = form
        self.forms = tuple(forms)

    def message(self) -> str:
        known = f"ask for its {' or '.join(self.forms)}" if self.forms else "its text is as_text()"
        return joined(
            f"kernels of target '{self.target}' have no {self.form}",
            f"fix: {known}, or compile for another target",
        )


class CodeError(AnyshapeError):
    """Object code that cannot be loaded, or that lacks a function."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def message(self) -> str:
        return joined(
            f"cannot use object code: {self.problem}",
            "fix: compile it again, for this machine",
        )
