"""Random torch modules: captured at one size, compared with eager mode at others."""
