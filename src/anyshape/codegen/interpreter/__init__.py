"""The interpreter as a target: kernels and shape programs run by their definitions, without
LLVM."""
