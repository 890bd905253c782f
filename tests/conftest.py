"""What holds for all tests: nothing is measured, so that every choice is the same on every run, and
whoever compiles does so alone, because the CPUs are busy with other tests."""

import os

os.environ["ANYSHAPE_CALIBRATE"] = "0"
os.environ["ANYSHAPE_COMPILE_JOBS"] = "1"
