"""When scratch may be kept from one task to the next: what the verifier asks of a `Prepare`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anyshape.base.errors import VerifyError
from anyshape.loop.ir import Bind, Copy, For, Multiply, Number, Prepare, Statement, Store
from anyshape.loop.kernel import Kernel
from anyshape.loop.rewrite import accesses, plain_dims
from anyshape.sym import Symbol


def check_preparation(kernel: Kernel, prepare: Prepare) -> None:
    """Raises VerifyError if what it prepares could differ between tasks of the same keys."""
    what = f"preparation for {', '.join(map(str, prepare.keys))}"
    if prepare not in kernel.body:
        raise VerifyError(what, "is inside a loop")
    others = [statement for statement in kernel.body if statement is not prepare]
    scratch = {buffer.name for buffer in kernel.scratch}
    for name in sorted(set(_written(prepare.body))):
        if name not in scratch or name in _written(others):
            raise VerifyError(what, f"writes '{name}', which is no scratch of its own")
    free = _symbols(prepare.body) - _own(prepare.body) - _decided(kernel, prepare)
    for symbol in sorted(free, key=str):
        raise VerifyError(what, f"uses '{symbol}', which its keys do not decide")


def _statements(body: Sequence[Statement]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        if isinstance(statement, For | Prepare):
            yield from _statements(statement.body)


def _written(body: Sequence[Statement]) -> Iterator[str]:
    for statement in _statements(body):
        match statement:
            case Store(buffer) | Copy(buffer) | Multiply(buffer):
                yield buffer.name
            case _:
                pass


def _symbols(body: Sequence[Statement]) -> set[Symbol]:
    places = (dim for _, index in accesses(body) for dim in index)
    return {symbol for dim in (*places, *plain_dims(body)) for symbol in dim.symbols}


def _own(body: Sequence[Statement]) -> set[Symbol]:
    """Indices that the statements define themselves."""
    inside = list(_statements(body))
    loops = {statement.index for statement in inside if isinstance(statement, For)}
    return loops | {statement.symbol for statement in inside if isinstance(statement, Bind)}


def _decided(kernel: Kernel, prepare: Prepare) -> set[Symbol]:
    """Sizes, keys, and what is computed from nothing else."""
    known = {*kernel.sizes, *prepare.keys}
    for statement in kernel.body:
        match statement:
            case Bind(symbol, Number(dim), extent) if dim.symbols | extent.symbols <= known:
                known.add(symbol)
            case _:
                pass
    return known
