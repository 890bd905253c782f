"""Random programs whose oracle is NumPy: `python -m tests.fuzz.against_numpy`."""
