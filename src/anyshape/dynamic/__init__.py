"""Techniques for axes whose sizes vary, beyond exact specialization: what a graph becomes for them,
as passes and data. Whoever runs the graph is above, in `execute`."""
