"""Maps: elementwise and indexed ops."""
