"""Ground floor: typed errors, source locations and options. Imports nothing of anyshape."""
