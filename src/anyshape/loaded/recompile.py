"""Graphs and weights of a file, compiled anew: nothing of its code or descriptions is used."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from anyshape.api.compiled_module import CompiledModule
from anyshape.api.graph_calls import donated_names
from anyshape.base.errors import DamagedFileError
from anyshape.execute import BranchedGraphs, CompileKeywords, Executable, compile_branches
from anyshape.execute.compile import compile_graph
from anyshape.ir.graph import Graph
from anyshape.ir.verify import verify
from anyshape.loaded.assemble import case_of
from anyshape.loaded.models import imported_model
from anyshape.loaded.notes import SavedGraphNotes
from anyshape.loaded.programs import FileCode
from anyshape.loaded.ragged_model import LoadedRaggedModel
from anyshape.loaded.read_texts import facts_of
from anyshape.saved.container import SavedFile
from anyshape.saved.records import CasesRecord, ExecutableRecord, ModelRecord, RaggedRecord
from anyshape.saved.targets import targets_of


def recompiled(
    file: SavedFile, chosen: Mapping[str, Any]
) -> Executable | CompiledModule | LoadedRaggedModel:
    """Weights are named by the digests of their contents, so the graph finds what it was saved
    with, or nothing."""
    code = FileCode(file, targets_of(file)[0])
    root = code.root()
    keywords = cast(CompileKeywords, dict(chosen))
    if isinstance(root, RaggedRecord):
        compiled = _compiled(_sources(root.executable, code), keywords)
        return LoadedRaggedModel(root, code, compiled)
    if not isinstance(root, ModelRecord):
        return _compiled(_sources(root, code), keywords)
    with _reading(code):
        model = imported_model(root, code)
    keywords["donate"] = donated_names(model, ())
    return CompiledModule(_compiled(_sources(root.executable, code), keywords), model)


def _compiled(source: Graph | BranchedGraphs, chosen: CompileKeywords) -> Executable:
    if isinstance(source, BranchedGraphs):
        return compile_branches(source, **chosen)
    return compile_graph(source, **chosen)


def _sources(record: ExecutableRecord, code: FileCode) -> Graph | BranchedGraphs:
    saved = record.executor
    with _reading(code):
        if not isinstance(saved, CasesRecord):
            return verify(SavedGraphNotes(record, code).source)
        graphs = [verify(SavedGraphNotes(each, code).source) for each in saved.executables]
        inputs = tuple(SavedGraphNotes(record, code).inputs)
        cases = tuple(map(case_of, saved.cases))
        return BranchedGraphs(tuple(graphs), cases, inputs, facts_of(saved.sizes.facts))


@contextmanager
def _reading(code: FileCode) -> Generator[None]:
    """Around what reads records: those of a file that nobody vouches for may say anything."""
    try:
        yield
    except (DamagedFileError, MemoryError):
        raise
    except Exception as error:
        raise code.damaged(f"its model cannot be read: {error}") from error
