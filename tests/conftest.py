"""What holds for all tests: nothing is measured, so that every choice is the same on every run."""

import os

os.environ["ANYSHAPE_CALIBRATE"] = "0"
