"""What `python -m anyshape` does: a file for each command, with its arguments and what it runs."""
