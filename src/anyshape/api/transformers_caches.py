"""Caches of `transformers` that go into a model and come out of it.

torch.export takes apart what is registered with it; transformers has the functions that do so for
its caches, and is asked to register them. Eager mode writes into the cache that it is given. So do
calls of a compiled model: the caller's cache has the new keys and values, and is the one that is
returned. A cache without any token yet has no tensors; it stands for tensors of length 0.

A cache whose layers count tokens in Python numbers (sliding windows) is refused when the model is
compiled, because these numbers would be constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from sys import modules
from typing import Any, cast

import numpy as np

from anyshape.base.errors import InputError
from anyshape.execute.tensors import as_torch
from anyshape.frontend.builder.pytree import Branch, Leaf, Structure
from anyshape.frontend.imported.call_signature import CallSignature
from anyshape.frontend.imported.program import ImportedModel, UserInput
from anyshape.ir.inputs import tensor_inputs
from anyshape.ir.types import TensorType
from anyshape.sym import Symbol

_CACHE = "transformers.cache_utils", "Cache"


def is_cache(kind: type[Any]) -> bool:
    """Whether a class is a cache of transformers, which need not be installed to ask."""
    return any((base.__module__, base.__name__) == _CACHE for base in kind.__mro__)


def _is_cache_object(value: object) -> bool:
    return is_cache(type(value))


def register_caches(module: Any) -> None:
    """Lets torch take caches apart, if there is a model of transformers in `module`."""
    transformers: Any = modules.get("transformers")
    parts: Any = module.modules() if hasattr(module, "modules") else ()
    if transformers is None:
        return
    models = [part for part in parts if isinstance(part, transformers.PreTrainedModel)]
    if models:
        exporter: Any = import_module("transformers.exporters.exporter_dynamo")
        for model in models:
            exporter.register_cache_pytrees_for_model(model)


def cache_axes(axes: Mapping[str, Any] | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """`axes` with those of a cache for each of its tensors, where they are given once for all."""
    caches = {name: value for name, value in given.items() if _is_cache_object(value)}
    _refuse_counting(caches)
    once = {name: entry for name, entry in (axes or {}).items() if name in caches and _once(entry)}
    each = {name: _for_each(entry, caches[name]) for name, entry in once.items()}
    return {**(axes or {}), **each}


def _once(entry: object) -> bool:
    """Whether axes are those of one tensor."""
    items = cast(Sequence[object], entry) if isinstance(entry, (tuple, list)) else ()
    return bool(items) and not any(isinstance(item, (tuple, list)) for item in items)


def _for_each(entry: Sequence[Any], cache: Any) -> list[Any]:
    pytree: Any = import_module("torch.utils._pytree")
    return [
        entry if getattr(leaf, "ndim", None) == len(entry) else None
        for leaf in pytree.tree_leaves(cache)
    ]


def _refuse_counting(caches: Mapping[str, Any]) -> None:
    for name, cache in caches.items():
        for number, layer in enumerate(getattr(cache, "layers", ())):
            if type(getattr(layer, "cumulative_length", None)) is int:
                kind = type(layer).__name__
                problem = f"has a {kind} as layer {number}, which counts its tokens as a number"
                fix = "pass a DynamicCache() that is made without a config: it keeps all tokens"
                raise InputError(name, problem, fix)


def refuse_lost_caches(model: ImportedModel) -> None:
    """Eager mode writes into caches that it is given; one that is not returned would be lost."""
    for name, cache in model.signature.containers.items():
        for program in model.programs:
            kinds = {each.kind for each in _branches(program.result_structure)}
            if isinstance(cache, Branch) and is_cache(cache.kind) and cache.kind not in kinds:
                problem = f"is a {cache.kind.__name__} that the model does not return"
                fix = "return it; for a model of transformers, pass kwargs={..., 'use_cache': True}"
                raise InputError(name, problem, fix)


@dataclass(frozen=True, slots=True)
class _Cache:
    """An argument that was a cache in the example."""

    name: str
    branch: Branch
    types: tuple[TensorType, ...]  # of its tensors, in order


class Caches:
    """The caches among the arguments of a compiled model."""

    def __init__(self, model: ImportedModel) -> None:
        containers = model.signature.containers
        found = {name: each for name, each in containers.items() if _is_cache_branch(each)}
        types = _leaf_types(model)
        self._parameters = model.signature.parameters
        self._caches = [
            _Cache(name, cast(Branch, branch), tuple(_types_of(name, model.signature, types)))
            for name, branch in found.items()
        ]
        self._sizes = dict(_named_sizes(model.signature, types))

    def __bool__(self) -> bool:
        return bool(self._caches)

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """A call's arguments by name, with tensors in caches that have none yet."""
        given = self._parameters.bind(args, kwargs)
        for each in self._caches:
            if _is_cache_object(given.get(each.name)):
                given[each.name] = self._with_tensors(each, given)
        return given

    def returned(self, result: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What a call returns: its caches are those that the caller gave, brought up to date."""
        given = self._parameters.bind(args, kwargs)
        for each in self._caches:
            result = _in_callers_cache(result, given[each.name])
        return result

    def _with_tensors(self, cache: _Cache, given: Mapping[str, Any]) -> Any:
        registered = cache.branch.registered
        value = given[cache.name]
        assert registered is not None, "torch knows caches by registration"
        if type(value) is not cache.branch.kind:
            return value  # refused with the other containers
        _, context = registered.flatten(value)
        if context == registered.context:
            return value
        if value.get_seq_length() == 0 and cache.types:
            tensors = [_no_tokens(type_, self._binding(given)) for type_ in cache.types]
            return registered.unflatten(tensors, registered.context)
        problem = f"{_first_difference(context, registered.context)}, unlike the example's"
        raise InputError(cache.name, problem, "pass a cache of the same class and layers")

    def _binding(self, given: Mapping[str, Any]) -> dict[Symbol, int]:
        """The sizes that the tensors of a call tell directly."""
        shapes = {name: np.shape(given[name]) for name, _ in self._sizes.values() if name in given}
        return {
            symbol: shapes[name][position]
            for symbol, (name, position) in self._sizes.items()
            if position < len(shapes.get(name, ()))
        }


def _is_cache_branch(structure: Structure) -> bool:
    return isinstance(structure, Branch) and is_cache(structure.kind)


def _leaf_types(model: ImportedModel) -> dict[int, TensorType]:
    """The types of the call's tensors, by the number of their leaf."""
    typed = zip(tensor_inputs(model.program.graph), model.program.sources, strict=True)
    return {source.leaf: type_ for (_, type_), source in typed if isinstance(source, UserInput)}


def _types_of(
    name: str, signature: CallSignature, types: Mapping[int, TensorType]
) -> Iterator[TensorType]:
    for leaf, path in enumerate(signature.paths):
        if path.startswith((f"{name}.", f"{name}[")) and leaf in types:
            yield types[leaf]


def _named_sizes(
    signature: CallSignature, types: Mapping[int, TensorType]
) -> Iterator[tuple[Symbol, tuple[str, int]]]:
    """Where arguments that are tensors have an axis as it is."""
    for leaf, type_ in types.items():
        for position, dim in enumerate(type_.shape):
            if dim.symbol is not None and signature.paths[leaf] in signature.names:
                yield dim.symbol, (signature.paths[leaf], position)


def _no_tokens(type_: TensorType, binding: Mapping[Symbol, int]) -> Any:
    """A tensor of a cache without tokens: sizes that no other argument tells are 0."""
    shape = [dim.evaluate({s: binding.get(s, 0) for s in dim.symbols}) for dim in type_.shape]
    return as_torch(np.empty(shape, type_.dtype.numpy))


def _branches(structure: Structure) -> Iterator[Branch]:
    if not isinstance(structure, Leaf):
        yield structure
        for child in structure.children:
            yield from _branches(child)


def _in_callers_cache(result: Any, cache: Any) -> Any:
    """`result` with the caller's cache in the place of a new one of its class."""
    if type(result) is type(cache):
        cache.__dict__.update(result.__dict__)
        return cache
    if isinstance(result, dict):
        entries = cast(dict[Any, Any], result)
        for key, value in entries.items():
            if type(value) is type(cache):
                entries[key] = _in_callers_cache(value, cache)
        return entries
    if type(result) in (tuple, list):
        return type(result)(_in_callers_cache(item, cache) for item in result)
    return result


def _first_difference(found: Any, expected: Any, path: str = "") -> str:
    """`has layers[0].is_initialized = False`, of two descriptions as transformers makes them."""
    if isinstance(found, dict) and isinstance(expected, dict):
        ours, theirs = cast(dict[str, Any], found), cast(dict[str, Any], expected)
        keys = [key for key in (*ours, *theirs) if ours.get(key) != theirs.get(key)]
        step = "" if keys[0] in ("s", "v") else f".{keys[0]}"
        return _first_difference(ours.get(keys[0]), theirs.get(keys[0]), path + step)
    if isinstance(found, list) and isinstance(expected, list):
        items = list(zip(cast(list[Any], found), cast(list[Any], expected), strict=False))
        for number, (one, other) in enumerate(items):
            if one != other:
                return _first_difference(one, other, f"{path}[{number}]")
        return f"has {len(cast(list[Any], found))} {path.strip('.')}"
    return f"has {path.strip('.')} = {found!r}"
