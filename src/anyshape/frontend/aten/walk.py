"""Walks an fx graph and applies the table's entry for each node to the values of its arguments.

Whole programs and the bodies of control flow are walked alike. What the table lacks is called on
the host (see `host_calls`). `check_known` collects all ops that cannot be, before the walk, and
reports them at once with counts and locations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, cast

import torch

from anyshape.base.errors import UnsupportedModelError
from anyshape.base.location import Location
from anyshape.frontend.aten.calls import TABLE, Call, NoEntryError
from anyshape.frontend.aten.complex_tensors import (
    COMPLEX,
    PARTS,
    ComplexTensor,
    has_complex,
    is_complex,
    real_parts,
)
from anyshape.frontend.aten.dtypes import from_torch
from anyshape.frontend.aten.fresh_writes import writes_unseen
from anyshape.frontend.aten.host_calls import (
    Dims,
    effectful_call,
    functionalized_call,
    host_call,
    learn_sizes,
    reads_memory,
    refusal,
)
from anyshape.frontend.aten.torch_paths import TORCH_FOLDER
from anyshape.frontend.aten.written_operands import FUNCTIONALIZED, refused_writes
from anyshape.frontend.builder.arrays import as_array
from anyshape.frontend.builder.convert import asarray
from anyshape.frontend.builder.tensor import Tensor
from anyshape.sym import Dim


def target_name(node: Any) -> str:
    """The name under which the table has the op of a node."""
    target = node.target
    return str(target) if hasattr(target, "overloadpacket") else target.__name__


def check_known(module: Any) -> None:
    """Refuses a graph with ops that neither the table has nor torch runs on the host, naming all of
    them."""
    missing: dict[str, list[str]] = {}
    for node in unknown_calls(module):
        if (why := _refusal(node)) is not None:
            what = f"{_name_for_people(node)}, {why}"
            missing.setdefault(what, []).append(str(location_of(node) or ""))
    if missing:
        fix = "write these parts of the model with other ops, or ask for them to be added"
        raise UnsupportedModelError("the model", missing, fix)


def _refusal(node: Any) -> str | None:
    """Why the op of a node, or the one that a higher-order op is about, cannot be called."""
    if target_name(node) == FUNCTIONALIZED:
        return refused_writes(node) or refusal(node.args[0], on_copies=True)
    return refusal(node.args[1] if target_name(node) == _WITH_EFFECTS else node.target)


def _name_for_people(node: Any) -> str:
    """With the op that a higher-order one is about."""
    inner = [each for each in node.args if hasattr(each, "overloadpacket")]
    return " of ".join((target_name(node), *map(str, inner[:1])))


_WITH_EFFECTS = "with_effects"
TAKES_NUMBERS = frozenset({"aten.item.default", "aten._local_scalar_dense.default"})
"""Ops that take a number out of a tensor."""
_WRITES_NO_ELEMENT = frozenset({"aten.detach_.default"})


def is_token(node: Any) -> bool:
    """Whether an input is nothing but the order of effects."""
    users = list(node.users)
    orders = (target_name(user) == _WITH_EFFECTS and user.args[0] is node for user in users)
    return bool(users) and all(user.op == "call_function" for user in users) and all(orders)


def unknown_calls(module: Any) -> list[Any]:
    """The calls of ops that the table lacks."""
    known = TABLE.keys() | COMPLEX.keys()
    calls = (node for node in _nodes(module) if node.op == "call_function")
    return [node for node in calls if target_name(node) not in known]


def writes(module: Any) -> bool:
    """Whether an op of a graph writes into its operands."""
    return any(_writes(node) for node in _nodes(module) if node.op == "call_function")


def memory_reader(module: Any) -> str | None:
    """The op of a graph, and its line, whose result depends on how inputs lie in memory."""
    calls = (node for node in _nodes(module) if node.op == "call_function")
    found = next((node for node in calls if reads_memory(node)), None)
    return None if found is None else f"{target_name(found)} at {location_of(found)}"


def _writes(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable or target_name(node) in _WRITES_NO_ELEMENT:
        return False
    return target_name(node) not in TABLE or not writes_unseen(node)


def _nodes(module: Any) -> Iterator[Any]:
    """The nodes of a graph and of the bodies inside it."""
    for part in module.modules():
        if isinstance(part, torch.fx.GraphModule):
            yield from part.graph.nodes


class Walker:
    """The values of one graph's nodes, and the line of the model that the walk has reached."""

    def __init__(self, module: Any, dims: Mapping[str, Dim]) -> None:
        """`dims` are torch's symbols in the sizes of inputs."""
        self.module = module
        self.values: dict[Any, Any] = {}
        self.dims: Dims = dict(dims)
        self.location: Location | None = None

    def run(self) -> None:
        """Applies every node that is not an input."""
        for node in self.module.graph.nodes:
            if node.op == "call_function":
                self.location = location_of(node) or self.location
                self.values[node] = self._called(node)
            elif node.op == "get_attr":
                self.values[node] = self._attribute(node.target)

    def _called(self, node: Any) -> Any:
        if target_name(node) == _WITH_EFFECTS:
            return effectful_call(node, self.values, self.dims)
        if target_name(node) == FUNCTIONALIZED:
            return functionalized_call(node, self.values, self.dims)
        name = target_name(node)
        entry = (COMPLEX if name != "getitem" and has_complex(node) else TABLE).get(name)
        if entry is None:
            return host_call(node, self.values, self.dims)
        args, kwargs = self.argument(node.args), self.argument(node.kwargs)
        try:
            value = entry(Call(node), *args, **kwargs)
        except NoEntryError:
            return host_call(node, self.values, self.dims)
        if node.meta.get("unbacked_bindings") or name in TAKES_NUMBERS:
            learn_sizes(node, value, self.dims)
        return value

    def results(self) -> list[Any]:
        """What the graph returns, one by one."""
        (output,) = (node for node in self.module.graph.nodes if node.op == "output")
        returned: Any = self.argument(output.args[0])
        return cast(list[Any], returned) if isinstance(returned, list) else [returned]

    def argument(self, argument: Any) -> Any:
        """The value of an argument of a node."""
        if isinstance(argument, torch.fx.Node):
            return self.values[argument]
        if isinstance(argument, (list, tuple)):
            return [self.argument(item) for item in cast(Sequence[Any], argument)]
        if isinstance(argument, dict):
            items = cast(dict[str, Any], argument).items()
            return {name: self.argument(item) for name, item in items}
        is_ours = isinstance(argument, torch.dtype) and argument not in PARTS
        return from_torch(argument) if is_ours else argument  # entries for complex numbers read it

    def _attribute(self, path: str) -> Any:
        part: Any = self.module
        for name in path.split("."):
            part = getattr(part, name)
        return Body(part, self.dims) if isinstance(part, torch.fx.GraphModule) else constant(part)


def constant(tensor: Any) -> Tensor | ComplexTensor:
    """A tensor that is part of the program."""
    if is_complex(tensor):
        return ComplexTensor(asarray(as_array(real_parts(tensor))))
    return asarray(as_array(tensor))


class Body:
    """A branch or a loop's body: a graph that is walked where it is called."""

    def __init__(self, module: Any, dims: Mapping[str, Dim]) -> None:
        self.module = module
        self.dims = dims

    def __call__(self, *arguments: Any) -> tuple[Any, ...]:
        walker = Walker(self.module, self.dims)
        inputs = (node for node in self.module.graph.nodes if node.op == "placeholder")
        walker.values.update(zip(inputs, arguments, strict=True))
        walker.run()
        return tuple(walker.results())


_GENERATED = (TORCH_FOLDER, "<eval_with_key>")
"""Files of torch's own, and code that it makes of graphs."""
_FRAME = re.compile(r'File "(?!torch/fx/passes/)(.+?)", line (\d+)')
"""Of what torch adds after tracing, it gives a line of its own, in a file without a folder."""


def location_of(node: Any) -> Location | None:
    """The line of the model that made a node: the innermost one that torch recorded outside of its
    own files, or in these, which define its layers. What torch makes of graphs has none."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if not frame[0].startswith(_GENERATED)]
    own = own or [frame for frame in frames if frame[0].startswith(TORCH_FOLDER)]
    return Location(own[-1][0], int(own[-1][1])) if own else None


def nearest_location(node: Any) -> Location | None:
    """The line of a node, or of the last one before it that has a line."""
    before = takewhile(lambda each: each.op != "root", _backwards(node))
    return next(filter(None, map(location_of, before)), None)


def _backwards(node: Any) -> Iterator[Any]:
    while True:
        yield node
        node = node.prev
