"""`compile`: level 1, once; what it returns runs at any shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from sys import modules
from typing import TYPE_CHECKING, Any, Unpack, overload

from anyshape.api.compile_errors import check_kinds, no_model
from anyshape.api.compile_model import compile_model
from anyshape.api.compiled_module import CompiledModule
from anyshape.api.graph_calls import channels_last_names, donated_names, refuse_updates
from anyshape.api.host_ops import report_host_ops
from anyshape.api.jit import Jitted
from anyshape.api.ragged_module import MASK, RaggedModule, ragged_module
from anyshape.base.errors import OptionError
from anyshape.base.location import caller_location
from anyshape.base.options import Options, check_switch
from anyshape.execute import CompileKeywords, CompileOptions, Executable, compile_graph
from anyshape.execute.compile import checked_options
from anyshape.frontend.capturing import capturing
from anyshape.frontend.imported.where import stated
from anyshape.ir.graph import Graph
from anyshape.observe.progress import ProgressLine

if TYPE_CHECKING:
    import torch


BRANCHES = 8
"""How many programs a model that branches on sizes may become."""


@overload
def compile(
    source: Graph | Jitted[..., Any],
    *,
    options: Options | None = None,
    **chosen: Unpack[CompileKeywords],
) -> Executable: ...


@overload
def compile(
    source: str | bytes | PathLike[str],
    *,
    axes: Mapping[str, Any] | None = None,
    where: str | Sequence[str] = (),
    options: Options | None = None,
    **chosen: Unpack[CompileKeywords],
) -> CompiledModule: ...


@overload
def compile(
    source: torch.nn.Module | torch.export.ExportedProgram | Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    names: Mapping[str, str] | None = None,
    where: str | Sequence[str] = (),
    consume: bool = False,
    branches: int = BRANCHES,
    ragged: None = None,
    options: Options | None = None,
    **chosen: Unpack[CompileKeywords],
) -> CompiledModule: ...


@overload
def compile(
    source: torch.nn.Module | torch.export.ExportedProgram | Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    names: Mapping[str, str] | None = None,
    where: str | Sequence[str] = (),
    ragged: str,
    mask: str = MASK,
    options: Options | None = None,
    **chosen: Unpack[CompileKeywords],
) -> RaggedModule: ...


def compile(
    source: Any,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    axes: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    names: Mapping[str, str] | None = None,
    where: str | Sequence[str] = (),
    consume: bool = False,
    branches: int = BRANCHES,
    ragged: str | None = None,
    mask: str = MASK,
    options: Options | None = None,
    **chosen: Unpack[CompileKeywords],
) -> Executable | CompiledModule | RaggedModule:
    """An Executable for a graph or a jitted function, a CompiledModule for a PyTorch or ONNX model.

    A graph, or a jitted function at the defaults of its static parameters, takes the arrays of
    `graph.inputs` in order and returns a tuple of arrays.

    A `torch.nn.Module`, or a function of tensors, is captured at an example call, `args` and
    `kwargs`; the CompiledModule is called like it, and holds an Executable:

        model = ash.compile(bert, kwargs={"input_ids": ids}, axes={"input_ids": ("batch", "seq")})
        model(input_ids=other_ids)

    An ONNX model, as a path, bytes or a ModelProto, has names of its own for sizes and needs no
    example; `axes` renames them. It takes its inputs in order or by name, and gives a tuple.

    - `axes`: for each input a name, an expression over names, an `Axis` or None per position.
    - `dynamic_shapes`: the same in torch.export's own form, instead of `axes`.
    - `names`: axis names for torch's symbols, `{"s43": "batch"}`, where an exported program (an
      ExportedProgram, which needs no example) has symbols that nobody named.
    - `where`: what holds between axes, `"kv == seq"`, or a list. Calls are checked for it, and the
      program needs to do nothing for other sizes.
    - `branches`: where the model's code branches on sizes (`if x.shape[0] > 4:`), it is captured
      for each case that its axes allow, up to so many programs, and a call takes that of its
      sizes. With 1 there is only that of the example: other sizes are refused.
    - `ragged`: the name of the axis along which an encoder's sequences are padded. What is returned
      takes sequences of any lengths, packed end to end, and computes nothing for padding; `mask` is
      the input that tells tokens from padding, which it does not take. A model of which that cannot
      be shown to leave every token's results what they are is refused (`RaggedModelError`).
    - `consume`: the model gives its weights up, so that they are in memory once. It cannot be used
      afterwards; if compiling fails, it is as it was.

    For all of them:

    - `executor`: "native" runs generated code; "stepwise" runs the same kernels one at a time;
      "reference" evaluates the graph with NumPy, which is what the others are held to.
    - `threads`: the most that one call may use; 0 means the CPUs allowed to the process.
    - `strict`: an op without a native form is an error that names it. Without it, such an op of a
      torch model is computed by torch's own kernel, and one `HostOpsWarning` names them all.
    - `check_indices`: an index of a torch model that is out of range ends the call with an
      `IndexRangeError`, and an integer that is divided by 0 with a `ZeroDivisorError`. False
      leaves this out: an index is then taken as the nearest one, and an update outside is dropped.
      What the model itself asserts of its data is checked in any case (`ModelAssertionError`).
    - `deterministic`: a binding gives the same bits whatever the number of threads. Without it
      they are the same for one number of threads, whoever else runs.
    - `wait_for_team`: a call that finds the threads busy waits for them, in the order of arrival,
      instead of running on its own thread alone.
    - `memory_limit`: the bytes that one call may take for temporaries, results and copies of
      inputs, as a number or as "1 GB"; one that needs more is run in less memory, bit for bit the
      same, in parts or with values computed again; or refused before it takes any.
    - `result_cache`: so many bytes of results are kept, and a call with the same inputs, bit by
      bit, gets copies of them; or a `ResultCache`, which several Executables may share. Results
      that depend on anything else are refused: new random keys, state of a module.
    - `donate`: inputs that every call gives up, by name; of a torch model, arguments with all
      tensors in them. A result of the same type may be written over one, and is then that array;
      a result that continues one, `concat([past, new], axis)`, is written behind it, where there
      is room, and the past is not copied: pass each call the present of the one before. A donated
      array must not be used after the call. Only memory is saved, never a result changed: where an
      array cannot be written (read-only, with gaps, overlapping another input), it is copied.
    - `channels_last`: inputs that calls have in memory with channels last, as torch's memory format
      of that name; tensors of the example that lie so are, without being named. Convolutions read
      them where they are. Calls that have them in another order are right, too, and copy.
    - `without`: passes that are left out, by the names that `explain()` has for them, to see what
      one is worth or where an error comes from. Results stay what they are, but for rounding.
    - `likely`: sizes that calls are expected to have, by axis, the most frequent first; they take
      the place of those that axes declare. `executable.observed()` gives those of its calls.
    - `hot`: sizes that many calls have had get code of their own, in which they are constants;
      `ash.Hot(after=200, count=8, bytes="256 MiB")` says when, and how much. It is compiled in the
      background, by one thread of the lowest priority, and no call waits for it. Results are the
      same but for rounding. It pays up to 2 %, and is off unless asked for.
    - `options`: where compiled kernels are kept, and the like.
    """

    choices = CompileOptions.of(**chosen)
    check_kinds(source, args=args, kwargs=kwargs, axes=axes, names=names)
    check_switch("consume", consume)
    _check_branches(branches)
    facts = stated(where, caller_location())
    if ragged is not None and (not _is_of_torch(source) or isinstance(source, (Graph, Jitted))):
        raise OptionError("ragged", ragged, "left out: only a padded torch model becomes ragged")

    if isinstance(source, (Graph, Jitted)):
        if consume:
            raise OptionError("consume", "True", "left out: a graph's weights are held once anyway")
        _refuse_capture(
            "a graph and a jitted function have axes already",
            args=args,
            kwargs=kwargs,
            axes=axes,
            dynamic_shapes=dynamic_shapes,
            names=names,
            where=where,
        )
        if branches != BRANCHES:
            raise OptionError("branches", str(branches), "left out: a graph has no branches")
        graph = source if isinstance(source, Graph) else source.graph
        return compile_graph(graph, options, **chosen)
    if _is_of_onnx(source):
        from anyshape.api.onnx_compile import compile_onnx  # noqa: PLC0415  onnx is optional

        _refuse_capture(
            "an ONNX model needs no example",
            args=args,
            kwargs=kwargs,
            dynamic_shapes=dynamic_shapes,
            names=names,
        )
        return compile_onnx(source, axes or {}, facts, options, chosen)
    if _is_of_torch(source):
        with ProgressLine.of(_name(source), checked_options(options)) as progress:
            progress.say("capture")
            with capturing():
                from anyshape.api.consume import giving_up  # noqa: PLC0415  torch is optional
                from anyshape.api.torch_compile import captured_model, module_of  # noqa: PLC0415

                source = module_of(source)
                call = args, kwargs or {}, axes, dynamic_shapes, names or {}
                model = captured_model(
                    source, *call, where=facts, consume=consume, branches=branches
                )
            if ragged is not None:
                progress.erase()
                return ragged_module(model, ragged, mask, options, chosen)
            graphs = [program.graph for program in model.programs]
            progress.erase()
            report_host_ops(*graphs, strict=choices.strict, stacklevel=2)
            donate = donated_names(model, choices.donate)
            if choices.result_cache is not None:
                refuse_updates(model)
                donate = ()  # an input that the model writes into is written after the call
            with giving_up(source, model) if consume else nullcontext():
                lying = channels_last_names(model, choices.channels_last, args, kwargs or {})
                keywords: CompileKeywords = {**chosen, "donate": donate, "channels_last": lying}
                executable = compile_model(model, options, keywords, progress)
            return CompiledModule(executable, model)
    raise no_model(source)


def _check_branches(branches: object) -> None:
    if isinstance(branches, bool) or not isinstance(branches, int) or branches < 1:
        raise OptionError("branches", repr(branches), "a number of programs, at least 1")


def _refuse_capture(why: str, **given: object) -> None:
    """What says how a torch model is captured says nothing about others."""
    for name, value in given.items():
        if value is not None and value != ():
            raise OptionError(name, str(value), f"left out: {why}")


def _name(source: Any) -> str:
    """Of a function, or of a model's class."""
    return getattr(source, "__name__", type(source).__name__)


def _is_of_onnx(source: object) -> bool:
    """A path, bytes, or a ModelProto."""
    onnx: Any = modules.get("onnx")  # its class is there before any model is
    is_proto = onnx is not None and isinstance(source, onnx.ModelProto)
    return is_proto or isinstance(source, (str, bytes, PathLike))


def _is_of_torch(source: object) -> bool:
    """A module, a program, or a function: what else is called computes with torch's tensors."""
    torch: Any = modules.get("torch")  # a model's class is there before any model is
    if torch is None or isinstance(source, type):
        return False
    return callable(source) or isinstance(source, torch.export.ExportedProgram)
