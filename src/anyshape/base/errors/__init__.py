"""Every error anyshape raises on purpose.

A small hierarchy; each class carries the facts of the matter as fields, so that a program can act
on them, and composes its own message: what was found, what was expected, how that was derived, and
last a line `fix:` with something to paste or do. Values that belong to higher layers (dims,
predicates, ops) arrive here as text, so this package depends on nothing.
"""

from __future__ import annotations

from anyshape.base.errors.calls import (
    CancelledError,
    CapabilityError,
    DeadlineError,
    DTypeError,
    ForkedCallError,
    IndexRangeError,
    InputError,
    InsufficientMemoryError,
    MemoryLimitError,
    OptionError,
    OutOfMemoryError,
    OutputError,
    ResultCacheError,
    WeightMemoryError,
    ZeroDivisorError,
)
from anyshape.base.errors.code import (
    CodeError,
    CompileError,
    MissingRuleError,
    NoListingError,
    NotGeneratedError,
    UndefinedSymbolError,
)
from anyshape.base.errors.common import (
    AnyshapeError,
)
from anyshape.base.errors.graphs import (
    AttributeValueError,
    EvaluationError,
    OperandError,
    TextError,
    UnknownOpError,
    VerifyError,
    WeightError,
)
from anyshape.base.errors.models import (
    ConsumedError,
    ForkedCaptureError,
    TraceError,
    UnsupportedError,
    UnsupportedModelError,
)
from anyshape.base.errors.shapes import (
    AxisConflictError,
    AxisMultipleError,
    AxisNameConflictError,
    AxisRangeError,
    DimMismatchError,
    RankMismatchError,
    SizeSource,
    UnsolvableSizeError,
)
from anyshape.base.errors.sizes import (
    AxisDeclarationError,
    BindingNamesError,
    DimError,
    DimTooLargeError,
    DimTypeError,
    FactConflictError,
    FactViolationError,
    RequirementError,
    ShapeError,
    UnboundAxisError,
    UnprovableError,
)

__all__ = [
    "AnyshapeError",
    "AttributeValueError",
    "AxisConflictError",
    "AxisDeclarationError",
    "AxisMultipleError",
    "AxisNameConflictError",
    "AxisRangeError",
    "BindingNamesError",
    "CancelledError",
    "CapabilityError",
    "CodeError",
    "CompileError",
    "ConsumedError",
    "DTypeError",
    "DeadlineError",
    "DimError",
    "DimMismatchError",
    "DimTooLargeError",
    "DimTypeError",
    "EvaluationError",
    "FactConflictError",
    "FactViolationError",
    "ForkedCallError",
    "ForkedCaptureError",
    "IndexRangeError",
    "InputError",
    "InsufficientMemoryError",
    "MemoryLimitError",
    "MissingRuleError",
    "NoListingError",
    "NotGeneratedError",
    "OperandError",
    "OptionError",
    "OutOfMemoryError",
    "OutputError",
    "RankMismatchError",
    "RequirementError",
    "ResultCacheError",
    "ShapeError",
    "SizeSource",
    "TextError",
    "TraceError",
    "UnboundAxisError",
    "UndefinedSymbolError",
    "UnknownOpError",
    "UnprovableError",
    "UnsolvableSizeError",
    "UnsupportedError",
    "UnsupportedModelError",
    "VerifyError",
    "WeightError",
    "WeightMemoryError",
    "ZeroDivisorError",
]
