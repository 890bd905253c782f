"""Level 2 as data: how sizes of inputs become symbols, and symbols every number that a run needs.

`ShapeProgram` is what a target makes code of. It prints itself, and `interpret.py` is its
definition.
"""

from anyshape.level2.program import ShapeProgram, WordProgram, shape_program, word_program

__all__ = ["ShapeProgram", "WordProgram", "shape_program", "word_program"]
