"""Worklists, by a function of the runtime."""
