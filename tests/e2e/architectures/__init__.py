"""Architectures of `transformers` in small random configurations: what is tried, and what comes of
it. `docs/models.md` shows the outcomes; `python -m tests.e2e.architectures` writes them."""
