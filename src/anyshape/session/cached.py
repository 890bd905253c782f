"""A compiled model as an entry of the cache, and back.

An entry is the file of a saved executable whose manifest also has a `SessionRecord`: the key that
it was stored under, what a session tells about the model, and the data beside the model with a hash
of each file, which a session compares before it uses the entry.
"""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from anyshape.base.errors import AnyshapeError, DamagedFileError, NotSavableError
from anyshape.base.fork_lock import call_lock
from anyshape.base.options import Options, options_from_environment
from anyshape.loaded import LoadedExecutable, loaded
from anyshape.runtime.options import run_options
from anyshape.saved.codec import RecordError, decoded, encoded
from anyshape.saved.container import SavedFile
from anyshape.session.cache import SessionCache, session_cache
from anyshape.session.infos import ModelMetadata, NodeArg, SessionInfos
from anyshape.session.key import entry_key, sources_changed
from anyshape.session.model import SessionModel
from anyshape.session.options import SessionOptions
from anyshape.session.program import OnnxProgram, Programs, SplitNames

_LOG = logging.getLogger(__name__)


class ArgRecord(NamedTuple):
    """An input or an output: see `NodeArg`."""

    name: str
    type: str
    shape: tuple[int | str | None, ...]


class MetadataRecord(NamedTuple):
    """See `ModelMetadata`."""

    custom: tuple[tuple[str, str], ...]
    description: str
    domain: str
    graph_description: str
    graph_name: str
    producer_name: str
    version: int


class DataFile(NamedTuple):
    """A file beside the model, and the hash of its content."""

    location: str
    sha256: str


class SplitRecord(NamedTuple):
    """See `SplitNames`."""

    model: str
    names: tuple[str, ...]
    problem: str


class SessionRecord(NamedTuple):
    """What an entry has beside the program. `takes`, `gives` and `lengths` are the program's."""

    key: str
    inputs: tuple[ArgRecord, ...]
    outputs: tuple[ArgRecord, ...]
    overridable: tuple[ArgRecord, ...]
    metadata: MetadataRecord
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    lengths: tuple[int | None, ...]
    files: tuple[DataFile, ...]
    split: SplitRecord | None


def cache_entry(model: SessionModel, wanted: SessionOptions) -> CacheEntry | None:
    """The place of a model in the cache; None if it has none."""
    options = options_from_environment()
    cache = session_cache(options)
    native = wanted.keywords().get("executor") == "native"
    if cache is None or not model.digest or not wanted.cached or not native:
        return None
    return CacheEntry(cache, entry_key(model, wanted, options), model, wanted, options)


class CacheEntry:
    """The entry that belongs to a model and the options of a session."""

    def __init__(
        self,
        cache: SessionCache,
        key: str,
        model: SessionModel,
        wanted: SessionOptions,
        options: Options,
    ) -> None:
        self._cache = cache
        self._key = key
        self._model = model
        self._wanted = wanted
        self._options = options

    # --- reading ------------------------------------------------------------------------------

    def loaded(self, *, stacklevel: int) -> tuple[SessionInfos, Programs] | None:
        """What was kept, if it is there, whole, and about the data that is there now."""
        file = self._cache.load(self._key)
        if file is None:
            return None
        try:
            record = self._record(file)
            if not self._same_data(record):
                return None
            program = self._program(file, record)
        except AnyshapeError as error:
            self._cache.discard(self._key, error)
            return None
        self._model.forget_bytes()
        split = None if record.split is None else SplitNames(*record.split)
        if split is not None:
            warnings.warn(split.warning(), stacklevel=stacklevel)
        return _infos(record), LoadedPrograms(program, self._model, self._wanted, split)

    def _record(self, file: SavedFile) -> SessionRecord:
        try:
            record = decoded(SessionRecord, file.manifest.get("session"))
        except RecordError as error:
            raise DamagedFileError(file.name, f"is damaged: {error}") from None
        if record.key != self._key:
            raise DamagedFileError(file.name, "is damaged: it was stored under another name")
        return record

    def _same_data(self, record: SessionRecord) -> bool:
        if not record.files:
            return True
        from anyshape.frontend.onnx.external_data import ExternalFiles  # noqa: PLC0415 - of onnx

        files = ExternalFiles(self._model.folder, self._model.name)
        try:
            return all(files.sha256(each.location) == each.sha256 for each in record.files)
        except AnyshapeError:  # reading the model will say what is wrong
            return False

    def _program(self, file: SavedFile, record: SessionRecord) -> OnnxProgram:
        executable = loaded(file, running=run_options(self._options))
        if not isinstance(executable, LoadedExecutable):
            raise DamagedFileError(file.name, "is damaged: it is no executable")
        executable.get_ready()
        return OnnxProgram(executable, record.takes, record.gives, record.lengths)

    # --- writing ------------------------------------------------------------------------------

    def keep(self, infos: SessionInfos, program: OnnxProgram, split: SplitNames | None) -> None:
        """Stores what was compiled. Nothing is kept of what no file can hold, nor of what may have
        been compiled by sources that changed meanwhile."""
        if sources_changed():
            return
        files = self._model.file.files
        record = SessionRecord(
            self._key,
            tuple(map(_arg_record, infos.inputs)),
            tuple(map(_arg_record, infos.outputs)),
            tuple(map(_arg_record, infos.overridable)),
            _metadata_record(infos.metadata),
            program.inputs,
            program.outputs,
            program.lengths,
            tuple(DataFile(location, files.sha256(location)) for location in files.read),
            None if split is None else SplitRecord(split.model, split.names, split.problem),
        )
        assert not isinstance(program.executable, LoadedExecutable), "compiled just now"
        try:
            about = {"session": encoded(record, SessionRecord)}
            self._cache.store(self._key, program.executable.saved(more=about))
        except NotSavableError as error:
            _LOG.info("a compiled model is not kept: %s", error)


class LoadedPrograms:
    """One program from the cache. Those of overridden initializers are compiled."""

    def __init__(
        self,
        program: OnnxProgram,
        model: SessionModel,
        options: SessionOptions,
        split: SplitNames | None,
    ) -> None:
        self.static: tuple[str, ...] = ()
        self.made = 1
        self._program = program
        self._model = model
        self._options = copy.deepcopy(options)
        self._apart = frozenset(split.names if split is not None else ())
        self._overriding: dict[frozenset[str], Programs] = {}
        self._one_by_one = call_lock()

    def program(self, feeds: Mapping[str, Any]) -> OnnxProgram:
        return self._program

    def overriding(self, names: frozenset[str]) -> Programs:
        if not names:
            return self
        from anyshape.session.programs import OnnxPrograms  # noqa: PLC0415 - compiles

        with self._one_by_one:
            if names not in self._overriding:
                made = OnnxPrograms.of(self._model, self._options, names, self._apart)
                self._overriding[names] = made
            return self._overriding[names]


# --- what a session tells -------------------------------------------------------------------------


def _arg_record(arg: NodeArg) -> ArgRecord:
    return ArgRecord(arg.name, arg.type, tuple(arg.shape))


def _metadata_record(metadata: ModelMetadata) -> MetadataRecord:
    return MetadataRecord(
        tuple(metadata.custom_metadata_map.items()),
        metadata.description,
        metadata.domain,
        metadata.graph_description,
        metadata.graph_name,
        metadata.producer_name,
        metadata.version,
    )


def _infos(record: SessionRecord) -> SessionInfos:
    metadata = ModelMetadata(dict(record.metadata.custom), *record.metadata[1:])
    parts = (record.inputs, record.outputs, record.overridable)
    return SessionInfos(*(list(map(_arg, each)) for each in parts), metadata=metadata)


def _arg(record: ArgRecord) -> NodeArg:
    return NodeArg(record.name, record.type, list(record.shape))
