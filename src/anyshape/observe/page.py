"""The explain page: one file of HTML that needs nothing else, neither a network nor a server.

What it draws is one blob of JSON; how, is in the files beside this one, put together when a page is
written. `page.html` has the places for them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

FILES: Final = Path(__file__).parent / "page_files"

SCRIPTS: Final = ("base.js", "graph.js", "charts.js", "page.js")
"""In the order they are run: later ones use earlier ones."""


def page(data: Mapping[str, Any]) -> str:
    """The whole file."""
    parts = {
        "TITLE": _escaped(str(data["name"])),
        "STYLE": _read("page.css"),
        "DATA": _inside_script(data),
        "SCRIPT": "\n".join(map(_read, SCRIPTS)),
    }
    text = _read("page.html")
    for name, part in parts.items():
        before, _, after = text.partition(f"<!--{name}-->")
        text = before + part + after
    return text


def write_page(path: str | os.PathLike[str], data: Mapping[str, Any]) -> None:
    Path(path).write_text(page(data), encoding="utf-8")


def _read(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")


def _inside_script(data: Mapping[str, Any]) -> str:
    """No name in a model ends the script that holds it, whatever it is."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
