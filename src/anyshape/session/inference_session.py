"""`InferenceSession`: an ONNX model behind onnxruntime's interface.

The model is compiled when the session is made, and runs at any shape. Names of sizes are axes; a
name that the model itself contradicts is split, with a warning, unless options ask for strictness.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from anyshape.base.not_pickled import NotPickled
from anyshape.base.options import options_from_environment
from anyshape.frontend.builder.arrays import as_array, is_array
from anyshape.runtime.options import prepare_team
from anyshape.session.cached import cache_entry
from anyshape.session.errors import (
    Fail,
    InvalidArgument,
    while_loading,
    while_running,
)
from anyshape.session.infos import ModelMetadata, NodeArg, SessionInfos
from anyshape.session.model import SessionModel
from anyshape.session.options import RunOptions, SessionOptions, warn_of
from anyshape.session.profile import SessionProfile
from anyshape.session.program import Programs
from anyshape.session.values import IOBinding, OrtValue

if TYPE_CHECKING:
    from anyshape.execute import Executable
    from anyshape.loaded import LoadedExecutable

PROVIDERS = ["CPUExecutionProvider"]
Callback = Callable[[Any, Any, str], None]


class InferenceSession(NotPickled):
    """A compiled ONNX model. It may be called from many threads."""

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str] | Any,
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        """`providers` other than the CPU's, and further keywords, change nothing."""
        self._options = sess_options or SessionOptions()
        others = [str(each) for each in providers or () if each not in PROVIDERS]
        warn_of([*self._options.without_meaning(), *others, *kwargs], stacklevel=2)
        self._profile = None
        if self._options.enable_profiling:
            self._profile = SessionProfile(self._options.profile_file_prefix)
            weakref.finalize(self, self._profile.end)
        with while_loading():
            with self._profiled("model_loading"):
                model = SessionModel(path_or_bytes)
            with self._profiled("session_initialization"):
                self._infos, self._programs = self._loaded(model) or self._compiled(model)
        if self._options.executor == "native":
            prepare_team(options_from_environment(), self._options.intra_op_num_threads)
        self._background: ThreadPoolExecutor | None = None

    def _loaded(self, model: SessionModel) -> tuple[SessionInfos, Programs] | None:
        """From the cache, if the model was compiled before. Steps of such a program cannot be
        timed one by one, so a profile needs one that was compiled here."""
        self._entry = None if self._profile is not None else cache_entry(model, self._options)
        return None if self._entry is None else self._entry.loaded(stacklevel=4)

    def _compiled(self, model: SessionModel) -> tuple[SessionInfos, Programs]:
        from anyshape.session.programs import OnnxPrograms  # noqa: PLC0415  onnx is optional

        infos = SessionInfos.of(model.file, self._options.free_sizes(model.file))
        programs = OnnxPrograms.of(model, self._options)
        if self._entry is not None and programs.only is not None:
            self._entry.keep(infos, programs.only, programs.split)
        return infos, programs

    # --- calls --------------------------------------------------------------------------------

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """The outputs of these names, or all in the order of the model, as NumPy arrays."""
        wanted = self._wanted(output_names)
        feeds = self._checked(input_feed)
        if run_options is not None and run_options.terminate:
            raise Fail("Exiting due to terminate flag being set to true.")
        with while_loading():
            overridden = self._infos.overridable_names.intersection(feeds)
            program = self._programs.overriding(overridden).program(feeds)
        with while_running(), self._profiled("model_run"):
            results = self._results(program.executable, program.arguments(feeds), run_options)
        outputs = program.outcome(results)
        return outputs if wanted is None else [outputs[number] for number in wanted]

    def _results(
        self,
        executable: Executable | LoadedExecutable,
        arrays: tuple[Any, ...],
        run_options: RunOptions | None,
    ) -> Sequence[Any]:
        if self._profile is not None and self._profile.is_open:
            return self._profile.run(executable, arrays)
        if run_options is None:
            return executable(*arrays)
        return executable.run(arrays, cancellation=run_options.cancellation)

    def _profiled(self, name: str) -> AbstractContextManager[None]:
        return nullcontext() if self._profile is None else self._profile.event("Session", name)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callback,
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Calls `callback(results, user_data, error)` when it is done; the text of an error is
        empty if there is none."""

        def call() -> None:
            results, problem = [], ""
            try:
                results = self.run(output_names, input_feed, run_options)
            except Exception as error:  # the callback is told of any, also of one without a text
                problem = str(error) or type(error).__name__
            callback(results, user_data, problem)

        if self._background is None:
            self._background = ThreadPoolExecutor(1, "anyshape-session")
        self._background.submit(call)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        feeds = {name: value.numpy() for name, value in input_dict_ort_values.items()}
        results = self.run(output_names, feeds, run_options)
        return [OrtValue(result) for result in results]

    def io_binding(self) -> IOBinding:
        return IOBinding(self._infos)

    def run_with_iobinding(
        self, iobinding: IOBinding, run_options: RunOptions | None = None
    ) -> None:
        """Results are written into bound outputs, or kept for `get_outputs`."""
        names = list(iobinding.outputs)
        if not names:
            raise InvalidArgument("At least one output should be requested.")
        iobinding.take(self.run(names, iobinding.inputs, run_options))

    def _wanted(self, output_names: Sequence[str] | None) -> list[int] | None:
        known = self._infos.output_numbers
        if not output_names:
            return None
        for name in output_names:
            if name not in known:
                raise InvalidArgument(f"Invalid output name:{name}")
        return [known[name] for name in output_names]

    def _checked(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        """The inputs as arrays of the types and ranks that the model declares."""
        required = [each.name for each in self._infos.inputs if not each.is_optional]
        if missing := [name for name in required if name not in feeds]:
            given = f"are missing from input feed ({list(feeds)})."
            raise ValueError(f"Required inputs ({missing}) {given}")
        found: dict[str, Any] = {}
        for name, value in feeds.items():
            if self._infos.is_tensor(name):
                array = _array(value)
                self._infos.check(name, array)
                found[name] = array
            else:
                found[name] = self._infos.checked_elements(name, _held(value))
        return found

    # --- about the model ----------------------------------------------------------------------

    def get_inputs(self) -> list[NodeArg]:
        return list(self._infos.inputs)

    def get_outputs(self) -> list[NodeArg]:
        return list(self._infos.outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Initializers that are inputs too. Calls that give some have a program of their own, in
        which these are no constants."""
        return list(self._infos.overridable)

    def end_profiling(self) -> str:
        """The path of the file with what was recorded; nothing is recorded afterwards. Empty
        without `enable_profiling`, or if it had ended."""
        return "" if self._profile is None else self._profile.end()

    def get_profiling_start_time_ns(self) -> int:
        return 0 if self._profile is None else self._profile.start_ns

    def get_modelmeta(self) -> ModelMetadata:
        return self._infos.metadata

    def get_providers(self) -> list[str]:
        return list(PROVIDERS)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {name: {} for name in PROVIDERS}

    def get_session_options(self) -> SessionOptions:
        return self._options


def _array(value: Any) -> Any:
    with while_running():
        return as_array(value) if is_array(value) else np.asarray(value)


def _held(value: Any) -> Any:
    """A sequence is a list, a tensor in an optional a tuple of it."""
    if value is None:
        return None
    if not isinstance(value, list):
        return (_array(value),)
    return [_array(each) for each in cast(list[Any], value)]


def get_available_providers() -> list[str]:
    return list(PROVIDERS)


def get_device() -> str:
    return "CPU"


def set_default_logger_severity(severity: int) -> None:
    """Nothing is logged here."""
