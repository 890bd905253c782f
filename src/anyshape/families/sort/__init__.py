"""Sorting, by functions of the runtime."""
