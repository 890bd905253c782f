"""`explain`: what was done to a graph, what was refused, and why, as fields and as text.

Everything here was recorded while compiling: passes leave decisions, the plan leaves steps. This
module counts, groups and prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from anyshape.ir.rewrite import Decision
from anyshape.observe.table import amount, byte_text, table
from anyshape.ops.torch_call import op_name
from anyshape.passes import PassReport

PLACES_SHOWN = 3
"""How many places a group of equal decisions names."""

GROUPS_SHOWN = 8
"""How many groups a section of the text lists, the largest first; fields have them all."""


_SHOWN_BY = (
    "  shown by `executable.kernels`: each has as_text(), and if it is compiled llvm(), assembly()"
)


@dataclass(frozen=True, slots=True)
class KernelSummary:
    """Steps of the schedule, distinct kernels among them, and where their code came from.

    Shape programs are code too, so there is at least one piece more than there are kernels.
    """

    steps: int = 0
    distinct: int = 0
    text_bytes: int = 0  # of the loop nests, printed
    code_bytes: int = 0
    from_memory: int = 0
    from_disk: int = 0
    compiled: int = 0

    def __str__(self) -> str:
        return (
            f"{amount(self.steps, 'step')}, {amount(self.distinct, 'distinct kernel')}, "
            f"{byte_text(self.text_bytes)} of text, {byte_text(self.code_bytes)} of code "
            f"({self.from_memory} in memory before, {self.from_disk} from disk, "
            f"{self.compiled} compiled)"
        )


@dataclass(frozen=True, slots=True)
class Group:
    """Decisions of one pass about one op for one reason."""

    rule: str
    taken: bool
    op: str
    why: str
    count: int
    places: tuple[str, ...]  # where in the user's program, each once

    def __str__(self) -> str:
        verb = "applied to" if self.taken else "refused for"
        shown = ", ".join(self.places[:PLACES_SHOWN])
        more = ", ..." if len(self.places) > PLACES_SHOWN else ""
        where = f" ({shown}{more})" if shown else ""
        return f"{self.rule} {verb} {self.count} {self.op}: {self.why}{where}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an Executable is as it is. `str()` is the text for people."""

    graph: str
    executor: str
    threads: int
    passes: tuple[PassReport, ...]
    kernels: KernelSummary
    host_ops: tuple[tuple[str, int], ...]  # ops without a native form, and how often they occur
    held: tuple[tuple[str, int], ...]  # what occupies memory between calls, in bytes
    specialization: str | None = None  # the plan at a binding, if one was given
    planned: tuple[Decision, ...] = ()  # decisions about memory, after the passes
    target: str = ""  # what runs its kernels, if it has any
    branches: tuple[str, ...] = ()  # the cases that have programs of their own, and those refused
    groups: tuple[Group, ...] = ()  # decisions of a saved executable, which has no others
    strategies: tuple[str, ...] = ()  # how axes vary, and what else could be done
    affinity: tuple[int, ...] = ()  # the CPUs that were chosen for threads

    @property
    def applied(self) -> tuple[Group, ...]:
        """What was done."""
        made = _groups(d for d in self._decisions if d.taken)
        return (*made, *(group for group in self.groups if group.taken))

    @property
    def refused(self) -> tuple[Group, ...]:
        """What was considered and not done."""
        made = _groups(d for d in self._decisions if not d.taken)
        return (*made, *(group for group in self.groups if not group.taken))

    @property
    def _decisions(self) -> Iterator[Decision]:
        for report in self.passes:
            yield from report.decisions
        yield from self.planned

    @property
    def _how(self) -> str:
        parts = f"{self.executor} executor", self.where, self.target
        return ", ".join(filter(None, parts))

    @property
    def where(self) -> str:
        """Threads, and the CPUs that were chosen for them."""
        cpus = ", ".join(map(str, self.affinity[: self.threads]))
        threads = amount(self.threads, "thread")
        return f"{threads} on CPUs {cpus}" if cpus and self.threads > 1 else threads

    def __str__(self) -> str:
        sections = (
            ("", [f"{self.graph}: {self._how}"]),
            ("branches on sizes", [f"  {line}" for line in self.branches]),
            ("passes", _pass_table(self.passes)),
            ("done", self._listed(self.applied, "applied")),
            ("refused", self._listed(self.refused, "refused")),
            ("kernels", [f"  {self.kernels}", *[_SHOWN_BY] * (self.kernels.steps > 0)]),
            ("on the host", [f"  {op}: {count}" for op, count in self.host_ops] or ["  nothing"]),
            ("held between calls", [f"  {_words(what)}: {byte_text(n)}" for what, n in self.held]),
            ("axes", [f"  {line}" for line in self.strategies]),
            ("at this binding", _indented(self.specialization)),
        )
        return "\n\n".join("\n".join(_section(*part)) for part in sections if part[1])

    def _listed(self, groups: tuple[Group, ...], field: str) -> list[str]:
        """What plan and passes decide comes before rules, most of which only find that nothing is
        to do."""
        ranks = {report.name: 1 for report in self.passes} | {d.rule: 0 for d in self.planned}
        ordered = sorted(groups, key=lambda group: (ranks.get(group.rule, 2), -group.count))
        lines = [f"  {group}" for group in ordered[:GROUPS_SHOWN]]
        left = len(ordered) - len(lines)
        return [*lines, f"  and {amount(left, 'group')} more, in `.{field}`"] if left else lines


def _words(name: str) -> str:
    return name.replace("_", " ")


def _section(title: str, lines: list[str]) -> list[str]:
    return [title, *lines] if title else lines


def _pass_table(reports: Iterable[PassReport]) -> list[str]:
    head = ("pass", "nodes", "after", "applied", "refused")
    rows = [
        (r.name, str(r.nodes_before), str(r.nodes_after), str(len(r.taken)), str(len(r.refused)))
        for r in reports
    ]
    return table(head, rows) if rows else []


def _indented(text: str | None) -> list[str]:
    return [f"  {line}" for line in text.splitlines()] if text else []


def _groups(decisions: Iterable[Decision]) -> Iterator[Group]:
    """Equal reasons for equal ops, in the order they first occur.

    A pass that runs twice may come to the same decision about the same node twice.
    """
    grouped: dict[tuple[str, bool, str, str], list[Decision]] = {}
    for decision in dict.fromkeys(decisions):
        key = (decision.rule, decision.taken, op_name(decision.node), decision.why)
        grouped.setdefault(key, []).append(decision)
    for (rule, taken, op, why), found in grouped.items():
        places = dict.fromkeys(str(d.location) for d in found if d.location is not None)
        yield Group(rule, taken, op, why, len(found), tuple(places))
