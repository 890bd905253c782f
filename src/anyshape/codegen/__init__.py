"""Code generation: loop programs become native kernels."""
