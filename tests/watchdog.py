"""How long tests wait for what must come. No test waits so long unless something hangs, so these
limits say nothing about speed: a machine may be as busy as it likes.
"""

HANGS_AFTER = 600
"""Seconds."""

PROCESS_HANGS_AFTER = 2 * HANGS_AFTER
"""Of a process that watches others by the limit above."""
