"""anyshape compiles a model once, with named symbolic axes, and runs it at any shape."""
