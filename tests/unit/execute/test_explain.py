"""`explain`: what was done, what was refused, and why, in fields and in words."""

import numpy as np

import anyshape as ash
from anyshape.execute import Executable
from anyshape.observe.explain import GROUPS_SHOWN

WEIGHTS = np.ones((16, 16), np.float32)


@ash.jit
def model(x: ash.f32["batch", 16]):
    h = ash.exp(x @ WEIGHTS)
    noise = ash.random.uniform(ash.random.new_key(), h.shape)
    return ash.softmax(h), h + noise


def compiled() -> Executable:
    return ash.compile(model)


def test_fields_hold_what_was_recorded() -> None:
    executable = compiled()
    explanation = executable.explain()
    assert (explanation.graph, explanation.executor) == ("model", "native")
    assert explanation.passes == executable.reports
    assert explanation.host_ops == (("entropy", 1),)
    assert dict(explanation.held)["code"] == executable.memory().code
    kernels = explanation.kernels
    assert 1 <= kernels.distinct <= kernels.steps
    assert kernels.from_memory + kernels.from_disk + kernels.compiled > kernels.distinct
    assert explanation.specialization is None


def test_equal_code_is_found_in_memory() -> None:
    first = compiled()
    again = compiled().explain().kernels
    assert (again.from_disk, again.compiled) == (0, 0)
    assert again.from_memory == sum(
        (k.from_memory + k.from_disk + k.compiled) for k in [first.explain().kernels]
    )


def test_decisions_are_grouped_with_reasons_and_places() -> None:
    explanation = compiled().explain()
    groups = [*explanation.applied, *explanation.refused]
    counted = sum(group.count for group in groups)
    of_passes = {d for report in explanation.passes for d in report.decisions}
    assert counted == len(of_passes | set(explanation.planned))
    (exp,) = [g for g in groups if (g.rule, g.op) == ("fuse", "exp")]
    assert not exp.taken
    assert exp.why == "its users are not in one kernel"
    assert [place.rpartition("/")[2] for place in exp.places] == ["test_explain.py:14"]
    assert "fuse refused for 1 exp: its users are not in one kernel (" in str(explanation)


def test_the_text_lists_the_largest_groups_and_counts_the_others() -> None:
    @ash.jit
    def varied(x: ash.f32["n", 8]):
        parts = [x.reshape(2, -1)[:, : n + 1].T.reshape(-1) for n in range(GROUPS_SHOWN)]
        return ash.concat([*parts, ash.exp(x).reshape(-1), ash.exp(x).sum(axis=1)])

    explanation = ash.compile(varied).explain()
    assert len(explanation.refused) > GROUPS_SHOWN
    section = str(explanation).split("\n\nrefused\n")[1].split("\n\n")[0].splitlines()
    assert len(section) == GROUPS_SHOWN + 1
    left = len(explanation.refused) - GROUPS_SHOWN
    assert section[-1].startswith(f"  and {left} group")
    assert section[-1].endswith(" more, in `.refused`")
    named = {report.name for report in explanation.passes} | {"parts"}  # which the plan asks for
    own = [line.split()[0] in named for line in section[:-1]]
    assert own == sorted(own, reverse=True)  # rules come last
    assert any(own)


def test_the_text_has_all_sections_in_order() -> None:
    text = str(compiled().explain(batch=3))
    titles = [part.splitlines()[0] for part in text.split("\n\n")]
    assert titles[0].startswith("model: native executor, ")
    assert titles[1:] == [
        "passes", "done", "refused", "kernels", "on the host", "held between calls", "axes",
        "at this binding",
    ]  # fmt: skip
    assert "on the host\n  entropy: 1\n" in text
    assert "at batch=3: " in text


def test_what_has_nothing_to_say_says_so() -> None:
    text = str(ash.compile(model, executor="reference").explain())
    assert text.startswith("model: reference executor, 1 thread\n\nkernels\n  0 steps, ")
    assert "on the host\n  nothing" in text
