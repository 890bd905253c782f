"""What a compiled program is, as data: filled in by the plan, read by the native runtime.

Frozen values that know no graph, no dims and no machine. `plan/` uses the stores with dims;
`execute/` links a `ProgramDescription`; `runtime/csrc/bind/read_description.cpp` reads that by
attribute into the C++ types of the same names (`csrc/core/program.h`). See docs/design/0003.
"""

from anyshape.program.buffers import (
    AliasStore,
    ArenaStore,
    Buffer,
    ConstantStore,
    InputStore,
    OutputStore,
    Store,
    with_numbers,
)
from anyshape.program.course import (
    WHOLE,
    Branch,
    CallHost,
    Constant,
    CourseDescription,
    CourseRegion,
    CourseStep,
    CutRows,
    Loop,
    LoopOverRows,
    Operand,
    RegionCall,
    RunProgram,
    TakeShape,
    TellSize,
    with_addresses,
)
from anyshape.program.description import Input, Output, ProgramDescription, Split
from anyshape.program.steps import (
    Address,
    Immediate,
    KernelAddress,
    Source,
    Step,
    Variant,
    Word,
)

__all__ = [
    "WHOLE",
    "Address",
    "AliasStore",
    "ArenaStore",
    "Branch",
    "Buffer",
    "CallHost",
    "Constant",
    "ConstantStore",
    "CourseDescription",
    "CourseRegion",
    "CourseStep",
    "CutRows",
    "Immediate",
    "Input",
    "InputStore",
    "KernelAddress",
    "Loop",
    "LoopOverRows",
    "Operand",
    "Output",
    "OutputStore",
    "ProgramDescription",
    "RegionCall",
    "RunProgram",
    "Source",
    "Split",
    "Step",
    "Store",
    "TakeShape",
    "TellSize",
    "Variant",
    "Word",
    "with_addresses",
    "with_numbers",
]
