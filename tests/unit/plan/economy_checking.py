"""Plans within a memory limit, proved by the runtime's checker from what steps are called with.

What a step reads and writes is taken from the schedule, and where that lies from the words that its
kernel gets. Of each value a step reads what was written last before, in the same part.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.unit.plan.checking import _access, root

from anyshape.execute.native import NativeExecutor
from anyshape.plan.schedule import Schedule
from anyshape.program import AliasStore, OutputStore
from anyshape.runtime import _native
from anyshape.runtime.program import Specialization
from anyshape.sym import Symbol


def economical(executor: NativeExecutor, binding: Mapping[str, int], limit: int) -> Specialization:
    """Level 2 of a program within a limit."""
    symbols = [binding[symbol.name] for symbol in executor.symbols]
    return executor.linked.program.specialize(symbols, limit)


def wrong_with_economy(executor: NativeExecutor, made: Specialization) -> str | None:
    """What is wrong with the memory of runs; None if nothing is."""
    plan = executor.plan
    assert plan is not None
    assert made.economy is not None
    check = _Check(executor, plan, made)
    begins = made.economy.begins
    for part, size in enumerate(part_sizes(executor, made)):
        check.add_part(range(begins[part], begins[part + 1]), size)
    if len(begins) > made.economy.parts + 1:  # steps that see the whole axis
        check.add_part(range(begins[-2], begins[-1]), None)
    return check.wrong()


def part_sizes(executor: NativeExecutor, made: Specialization) -> list[int | None]:
    """Of each part the size of its axis; None where the whole is one."""
    economy = made.economy
    assert economy is not None
    if economy.parts == 1:
        return [None]
    symbol = executor.symbols[economy.symbol]
    step = executor.notes.facts.axis(symbol).multiple_of
    whole = made.symbols[economy.symbol]
    larger = (whole - economy.parts * (economy.size - step)) // step
    assert 0 < larger <= economy.parts
    sizes = [economy.size] * larger + [economy.size - step] * (economy.parts - larger)
    assert sum(sizes) == whole
    return list(sizes)


class _Check:
    def __init__(self, executor: NativeExecutor, plan: Schedule, made: Specialization) -> None:
        self.executor, self.plan, self.made = executor, plan, made
        self.ranges: list[tuple[int, int, int]] = []
        self.accesses: list[_native.AccessTuple] = []
        self.outputs: list[int] = []
        self.inputs: dict[tuple[int, int], int] = {}
        self.numbers = [number for number, *_ in made._native.steps]
        self.addresses = made.addresses

    def add_part(self, runs: range, size: int | None) -> None:
        binding = dict(zip(self.executor.symbols, self.made.symbols, strict=True))
        if size is not None and self.made.economy is not None:
            binding[self.executor.symbols[self.made.economy.symbol]] = size
        symbols = [binding[symbol] for symbol in self.executor.symbols]
        bytes_ = [at.bytes for at in self.executor.linked.program.specialize(symbols).placements]
        latest: dict[int, int] = {}  # of each value the last instance
        for run in runs:
            self._add_run(run, binding, bytes_, latest)

    def _add_run(
        self, run: int, binding: Mapping[Symbol, int], bytes_: list[int], latest: dict[int, int]
    ) -> None:
        plan = self.plan
        reads, writes, pairs, _ = _access(plan, plan.steps[self.numbers[run]], binding)
        given = {each.buffer: each for each in self.addresses[run]}
        before = dict(latest)
        seen: set[int] = set()
        for buffer, each in given.items():
            value = root(plan, buffer)
            seen.add(value)
            own = (each.base_number, each.offset, bytes_[buffer])
            if value in writes and buffer == value:
                latest[value] = self._instance(own)
                if isinstance(_home(plan, value), OutputStore):
                    self.outputs.append(latest[value])
            elif each.base == "input":
                before[value] = self.inputs.setdefault(own[:2], len(self.ranges))
                if before[value] == len(self.ranges):
                    self._instance(own)
            elif bytes_[buffer]:
                assert value in reads, f"run {run} is given buffer {buffer}, which it does not use"
                base, offset, size = self.ranges[before[value]]
                assert base == own[0]
                inside = offset <= own[1] and own[1] + own[2] <= offset + size
                assert inside, "outside of its value"
        self.accesses.append(
            (
                [before[value] for value in reads if value in before and value in seen],
                [latest[value] for value in writes if value in seen],
                [
                    (before[a], latest[b])
                    for a, b in pairs
                    if a in before and b in seen and a in seen
                ],
                [],
            )
        )

    def _instance(self, place: tuple[int, int, int]) -> int:
        self.ranges.append(place)
        return len(self.ranges) - 1

    def wrong(self) -> str | None:
        """Outputs are read by the caller when all is over."""
        end = (self.outputs, [], [], [])
        most = max((at + size for base, at, size in self.ranges if base == 1), default=0)
        assert most <= self.made.memory.arena
        return _native._wrong_with_accesses([*self.accesses, end], self.ranges, self.made.window)


def _home(plan: Schedule, number: int) -> object:
    store = plan.buffers[number].store
    return _home(plan, store.of) if isinstance(store, AliasStore) else store
