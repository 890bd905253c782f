"""The parts of `benchmarks.soak`: one file per question, and the chart that shows an answer."""
