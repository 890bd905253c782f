"""How `make docs` builds the site: Sphinx with Markdown, searchable, readable without a server."""

project = "anyshape"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_title = "anyshape"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]
