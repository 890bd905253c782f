"""Fourier transforms, by functions of the runtime."""
