"""Graphs that torch.compile hands to its backend. Needs torch."""

from anyshape.frontend.dynamo.importer import import_fx_graph

__all__ = ["import_fx_graph"]
