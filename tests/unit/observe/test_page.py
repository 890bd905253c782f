"""The explain page: what is in its data, and what a browser makes of it."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.watchdog import HANGS_AFTER

import anyshape as ash
from anyshape.cli.sizes import separately
from anyshape.observe.page import page

WEIGHTS = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
in_a_browser = pytest.mark.skipif(
    BROWSER is None, reason=f"the page is not looked at: there is none of {', '.join(BROWSERS)}"
)
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--virtual-time-budget=4000",
    "--enable-logging=stderr",
]


@ash.jit
def model(x: ash.f32["batch", "seq", 16], y: ash.f32["batch", "kv", 16]):
    h = ash.gelu(x @ WEIGHTS)
    return ash.softmax(h @ y.mT) @ y, h


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    sizes = [{"batch": 1, "seq": 3, "kv": 1}, {"batch": 2, "seq": 40, "kv": 7}]
    ash.compile(model).explain_html(path, sizes)
    return path


class _Scripts(HTMLParser):
    """Texts of scripts by their type, and every address that a tag refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: dict[str, str] = {}
        self.addresses: list[str] = []
        self._type: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._type = (given.get("type") or "code") if tag == "script" else None
        self.addresses += [given[name] or "" for name in ("src", "href") if name in given]

    def handle_data(self, data: str) -> None:
        if self._type is not None:
            self.scripts[self._type] = self.scripts.get(self._type, "") + data


def read(text: str) -> _Scripts:
    found = _Scripts()
    found.feed(text)
    return found


def data_of(path: Path) -> Any:
    return json.loads(read(path.read_text()).scripts["application/json"])


def test_the_data_is_what_the_executable_says(file: Path) -> None:
    data, executable = data_of(file), ash.compile(model)
    assert data["axes"] == [str(axis) for axis in executable.axes]
    assert data["before"]["text"] == executable.source.as_text()
    assert data["after"]["text"] == executable.graph.as_text()
    refused = {(g["rule"], g["why"]) for g in data["decisions"] if not g["taken"]}
    assert refused == {(g.rule, g.why) for g in executable.explain().refused}
    facts = [fact for fact, _ in data["facts"]]
    assert facts == [str(fact) for fact in executable.source.facts.facts]
    for binding in data["bindings"]:
        plan = executable.specialize(**binding["binding"])
        (program,) = binding["programs"]
        assert program["memory"]["arena"] == plan.memory().arena
        ends = [offset + size for _, offset, size, _, _ in program["buffers"]]
        assert max(ends, default=0) <= plan.memory().arena
        tasks = [task[1] for task in binding["tasks"]]
        assert set(tasks) == {s.number for s in plan.steps if s.cost.tasks}
        for step, known in zip(program["steps"], plan.steps, strict=True):
            assert data["kernels"][step["kernel"]]["name"] == known.cost.name


def test_work_is_counted(file: Path) -> None:
    _, wide = data_of(file)["bindings"]
    product, attention = (step["effort"][0] for step in wide["programs"][0]["steps"])
    batch, seq, kv = 2, 40, 7
    assert product == 2 * batch * seq * 16 * 16
    exact = 2 * batch * seq * 16 * (kv + kv)
    assert exact <= attention <= 1.2 * exact  # whole tiles of queries


def test_kernels_have_loops_and_instructions(file: Path) -> None:
    for kernel in data_of(file)["kernels"]:
        assert kernel["text"].startswith("kernel (")
        assert "ret" in kernel["assembly"]


def test_it_is_one_file_whatever_names_say(file: Path) -> None:
    evil = "</script><script src=http://x>"
    data = {**data_of(file), "name": evil}
    found = read(page(data))
    assert json.loads(found.scripts["application/json"])["name"] == evil
    assert found.addresses == []


def test_sizes_that_are_given_again_are_another_binding() -> None:
    found = separately(["batch=1", "seq=2", "batch=3,seq=4"])
    assert [sorted(each.axes) for each in found] == [["batch", "seq"]] * 2


def test_loaded_and_branched_executables_have_pages(tmp_path: Path) -> None:
    executable = ash.compile(model)
    executable.save(tmp_path / "model.ash")
    sizes = [{"batch": 1, "seq": 3, "kv": 1}]
    ash.load(tmp_path / "model.ash").explain_html(tmp_path / "page.html", sizes, assembly=False)
    data = data_of(tmp_path / "page.html")
    assert data["after"]["text"] == executable.graph.as_text()
    assert [step["effort"] for step in data["bindings"][0]["programs"][0]["steps"]].count(None) > 0


# --- in a browser ---------------------------------------------------------------------------------

WALK = """
<pre id="report"></pre><script>
const report = {}, errors = [];
addEventListener("error", (event) => errors.push(event.message));
const press = (element, key) =>
  element.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const nav = document.querySelector("nav");
nav.firstChild.focus();
for (const name of Object.keys(VIEWS)) {
  const shown = document.querySelector("section:not([hidden])");
  report[document.activeElement.textContent] = [shown.id, shown.textContent.length,
    shown.querySelectorAll("rect").length, shown.querySelectorAll("circle").length];
  press(document.activeElement, "ArrowRight");
}
open_("Graph");
graphView.boxes[0].focus();
press(document.activeElement, "ArrowDown");
report.down = graphView.chosen;
graphView.search.value = "gelu";
graphView.mark();
report.hits = graphView.hits.length;
const before = graphView.view.scale;
press(document.activeElement, "+");
report.zoomed = graphView.view.scale > before;
open_("Bindings");
document.querySelector("#view-Bindings a.link").click();
report.kernel = document.querySelector("#view-Kernels pre").textContent.slice(0, 7);
document.getElementById("theme").click();
report.theme = document.documentElement.dataset.theme;
report.unreachable = [...document.querySelectorAll("[onclick], a, button, input, select, summary")]
  .filter((each) => each.tabIndex < 0 && each.getAttribute("role") !== "tab")
  .map((each) => each.outerHTML);
report.errors = errors;
document.getElementById("report").textContent = JSON.stringify(report);
</script>
"""


@in_a_browser
def test_a_browser_shows_every_view_to_keys_alone(file: Path, tmp_path: Path) -> None:
    walked = tmp_path / "walked.html"
    walked.write_text(file.read_text().replace("</body>", WALK + "</body>"))
    command = [str(BROWSER), *QUIET, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [*command, walked.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    report = json.loads(re.search(r'<pre id="report">(.*?)</pre>', done.stdout).group(1))
    assert report["errors"] == []
    assert report["unreachable"] == []
    assert "Uncaught" not in done.stderr
    views = ["Overview", "Graph", "Decisions", "Bindings", "Compare", "Roofline", "Kernels"]
    for name in views:
        panel, length, _, _ = report[name]
        assert panel == f"view-{name}"
        assert length > 20
    bindings = data_of(file)["bindings"]
    drawn = (len(each["tasks"]) + len(each["programs"][0]["buffers"]) for each in bindings)
    assert report["Bindings"][2] == sum(drawn)
    assert report["Roofline"][3] == sum(len(each["programs"][0]["steps"]) for each in bindings)
    assert report["down"] > 0
    assert report["hits"] >= 1
    assert (report["zoomed"], report["kernel"], report["theme"]) == (True, "kernel ", "dark")


def picture(page: Path, folder: Path, view: str, flags: Sequence[str]) -> Any:
    """A screenshot as an array of colours."""
    path = folder / f"{view}.png"
    command = [str(BROWSER), *QUIET, *flags, f"--user-data-dir={folder / 'profile'}"]
    command += ["--window-size=1200,900", "--hide-scrollbars", f"--screenshot={path}"]
    done = subprocess.run(
        [*command, f"{page.as_uri()}#{view}"],
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER,
        check=True,
    )
    assert "Uncaught" not in done.stderr
    assert "CONSOLE" not in done.stderr, "nothing is said on the console"
    return np.asarray(Image.open(path).convert("RGB"))


@in_a_browser
@pytest.mark.parametrize("view", ["Overview", "Graph", "Bindings", "Roofline"])
def test_it_is_drawn_in_light_and_in_dark(file: Path, tmp_path: Path, view: str) -> None:
    light = picture(file, tmp_path, view, ())
    dark = picture(file, tmp_path, view, ["--blink-settings=preferredColorScheme=0"])
    assert light.shape == dark.shape == (900, 1200, 3)
    assert np.median(light) > 230
    assert np.median(dark) < 60
    for each in (light, dark):
        background = each[-1, -1]
        assert (each != background).any(-1).mean() > 0.02, "something is drawn"
        assert len(np.unique(each[::3, ::3].reshape(-1, 3), axis=0)) > 20, "in colours"
