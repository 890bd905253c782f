"""The text form: `printer` writes it, `parser` reads it, `values` does attributes for both."""
