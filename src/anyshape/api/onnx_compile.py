"""`compile` of an ONNX model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anyshape.api.compile_model import compile_model
from anyshape.api.compiled_module import CompiledModule
from anyshape.api.graph_calls import donated_names
from anyshape.base.errors import ShapeError, UnsupportedModelError
from anyshape.base.options import Options
from anyshape.execute import CompileKeywords
from anyshape.frontend.onnx.importer import Naming, StaticInputNamesError, import_model
from anyshape.frontend.onnx.model_file import read_model
from anyshape.frontend.onnx.size_names import in_words_of_names
from anyshape.sym import Fact


def compile_onnx(
    source: Any,
    axes: Mapping[str, Any],
    where: tuple[Fact, ...],
    options: Options | None,
    chosen: CompileKeywords,
) -> CompiledModule:
    """One program. A model whose structure depends on what an input holds is refused."""
    file = read_model(source)
    try:
        model = import_model(file, Naming(axes=axes, where=where)).model
    except StaticInputNamesError as error:
        what = "ranks that the values of inputs decide"
        fix = "make these inputs constants of the model, or use anyshape.InferenceSession"
        raise UnsupportedModelError(file.name, {what: list(error.names)}, fix) from None
    except ShapeError as error:
        raise in_words_of_names(error, file) from None
    keywords: CompileKeywords = {**chosen, "donate": donated_names(model, chosen.get("donate", ()))}
    return CompiledModule(compile_model(model, options, keywords), model)
