"""Every code block of the docs runs, and prints what the page says that it prints."""

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "index.md", DOCS / "tour.md", *sorted(DOCS.glob("guides/*.md"))]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.M | re.S)


@pytest.mark.filterwarnings("ignore")  # of torch, while it captures
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_print_what_they_show(
    page: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    blocks = BLOCK.findall(page.read_text())
    assert [kind for kind, _ in blocks][:2] == ["python", "text"]
    for kind, text in blocks:
        if kind == "python":
            said = capsys.readouterr().out
            assert said == "", "a block's output is shown"
            exec(compile(text, str(page), "exec", dont_inherit=True), names)
        else:
            assert capsys.readouterr().out == text


def test_no_page_is_left_out_of_the_index() -> None:
    index = (DOCS / "index.md").read_text()
    for page in [*PAGES[1:], *DOCS.glob("reference/*.md"), *DOCS.glob("[!i]*.md")]:
        assert str(page.relative_to(DOCS).with_suffix("")) in index
