"""Random graphs in primitives, optimised in many ways against graphs as they are written."""
