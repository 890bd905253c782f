"""Non-maximum suppression, by functions of the runtime."""
