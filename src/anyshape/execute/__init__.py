"""Executables: compiled graphs that run at any shape."""

from anyshape.execute.executable import Executable, compile_graph

__all__ = ["Executable", "compile_graph"]
