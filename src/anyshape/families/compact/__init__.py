"""Compaction, by functions of the runtime."""
