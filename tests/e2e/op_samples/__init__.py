"""torch's own samples of its ops against `ash.compile`: `docs/ops.md` has what comes of each op."""
