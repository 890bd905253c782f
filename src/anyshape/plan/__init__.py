"""From fused graphs to schedules: buffers, steps, waits, and the integer code of level 2."""
