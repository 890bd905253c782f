"""Viewers: they render what the layers below recorded, and record nothing themselves."""
